"""What is drawn of keystreams."""

import pytest

from secfc.comparing import keys as keys_module
from secfc.comparing import matches
from secfc.field.packing import unpack
from secfc.keystream import BitStream, ResidueStream


@pytest.fixture
def drawn(monkeypatch):
    """All that is drawn of bits and of residues."""
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
    """Bytes that evaluators have drawn of masks of what they send, once a trio has ended."""
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
    # Each mask is drawn by the dealer too.
    return lambda: sum(size for one, size in drawn.items() if purposes[one] in ("wires", "masks")) // 2
