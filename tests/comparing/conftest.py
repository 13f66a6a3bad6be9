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

        def add(self, words, out):
            super().add(words, out)
            found["bits"].append(words.reshape(-1) ^ out.reshape(-1))

    class NotedResidues(ResidueStream):
        def fill(self, out):
            super().fill(out)
            found["residues"].append(unpack(out.copy()))

    monkeypatch.setattr(keys_module, "BitStream", NotedBits)
    monkeypatch.setattr(matches, "ResidueStream", NotedResidues)
    return found
