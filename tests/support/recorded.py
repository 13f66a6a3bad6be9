"""What tests record of a run: keys, keystreams and noise."""

from secfc.crypto import keystream
from secfc.crypto.keystream import Keys
from secfc.operations.ending.noise import Noise


def recorded_keys(monkeypatch):
    """Lists of the keys that parties derive, and of the keys of keystreams, from now on."""
    made, streams, derive, real = [], [], Keys.key, keystream.keystream

    def key(self, purpose, index):
        made.append(derive(self, purpose, index))
        return made[-1]

    def stream(key):
        streams.append(key)
        return real(key)

    monkeypatch.setattr(Keys, "key", key)
    monkeypatch.setattr(keystream, "keystream", stream)
    return made, streams


def recorded_noise(monkeypatch):
    """The noise of each client in units of quantised rows, (k, d), by the source of its masks."""
    kept, real = {}, Noise.draw

    def draw(noise, job, masks):
        kept[masks] = real(noise, job, masks)
        return kept[masks]

    monkeypatch.setattr(Noise, "draw", draw)
    return kept
