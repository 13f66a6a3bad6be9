"""Fixtures that count what is drawn from keystreams."""

import pytest

from secfc.comparing import dealer_keys as keys_module
from secfc.comparing import matches
from secfc.crypto.keystream import BitStream, ResidueStream
from secfc.field.packing import unpack


@pytest.fixture
def drawn(monkeypatch):
    """Everything that is drawn from streams of bits and of residues."""
    found = {"bits": [], "residues": []}

    class NotedBits(BitStream):
        def fill(self, out):
            super().fill(out)
            found["bits"].append(out.copy().reshape(-1))

        def add(self, words):
            before = words.copy()
            super().add(words)
            found["bits"].append((before ^ words).reshape(-1))

    class NotedResidues(ResidueStream):
        def fill(self, out, primes):
            super().fill(out, primes)
            found["residues"] += [unpack(plane.reshape(-1).copy()) for plane in out]

    monkeypatch.setattr(keys_module, "BitStream", NotedBits)
    monkeypatch.setattr(matches, "ResidueStream", NotedResidues)
    return found


@pytest.fixture
def masking_bytes(monkeypatch):
    """A function for the end of a trio: bytes of keystream that evaluators drew to mask what they send."""
    drawn, purposes, derive = {}, {}, keys_module.Keys.key

    class Noted(BitStream):
        def __init__(self, key):
            super().__init__(key)
            self.key = key

        def fill(self, out):
            super().fill(out)
            drawn[self.key] = drawn.get(self.key, 0) + out.nbytes

        def add(self, words):
            super().add(words)
            drawn[self.key] = drawn.get(self.key, 0) + words.nbytes

    class NotedResidues(ResidueStream):
        def __init__(self, key, kernels):
            super().__init__(key, kernels)
            self.key = key

        def fill(self, out, primes):
            super().fill(out, primes)
            drawn[self.key] = drawn.get(self.key, 0) + out.nbytes

    def key(self, purpose, index):
        found = derive(self, purpose, index)
        purposes[found] = purpose.split()[-1]
        return found

    monkeypatch.setattr(keys_module.Keys, "key", key)
    monkeypatch.setattr(keys_module, "BitStream", Noted)
    monkeypatch.setattr(matches, "ResidueStream", NotedResidues)
    # The dealer draws each mask too.
    return lambda: sum(size for one, size in drawn.items() if purposes[one] in ("wires", "masks")) // 2
