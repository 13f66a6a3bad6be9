"""Measurements, attacks, simulated faults and published experiments: `python -m benchmarks --help`.

- `costs`: what a run costs compared with plaintext.
- `privacy`: attacks by the protocol's own parties.
- `faults`: a simulated network that loses and changes messages, clients that lie, and a search with both.
- `peers`: MPyC, SPU and CrypTen on the same data.
- `reproduce`: tables and figures of papers.
- `record` stores results in `results/`; `report` makes RESULTS.md from them.

The wheel does not contain it, and the package secfc does not import it.
"""
