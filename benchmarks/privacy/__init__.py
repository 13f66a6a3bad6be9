"""Attacks on secfc by its own parties, as programs that measure who learns how much (docs/threat-model.md).

Every attack uses only the data that its adversary holds after a real run. The rows themselves are used only
to measure its success.
"""
