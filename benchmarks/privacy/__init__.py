"""Attacks on secfc by its own parties, as programs: who learns how much, measured (docs/threat-model.md).

Every attack takes what its adversary holds after a real run and nothing else; the rows themselves only
serve to say how well it did.
"""
