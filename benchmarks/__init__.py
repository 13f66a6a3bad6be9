"""Measurements, attacks and published experiments: `python -m benchmarks --help`.

- `costs`: what a run costs compared with plaintext.
- `privacy`: attacks by the protocol's own parties.
- `peers`: MPyC, SPU and CrypTen on the same data.
- `reproduce`: tables and figures of papers.
- `record` stores results in `results/`; `report` makes RESULTS.md from them.

The wheel does not contain it, and the package secfc does not import it.
"""
