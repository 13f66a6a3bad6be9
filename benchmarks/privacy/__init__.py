"""Attacks on secfc by its own parties, as programs that measure what each party learns
(docs/threat-model.md).

Every attack uses only what its adversary has after a real run. The rows themselves only serve to measure its
success.
"""
