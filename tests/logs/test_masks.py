"""A party that is killed and started again uses no piece of a source of masks and no nonce twice.

Whole runs of every kind are recorded, including all restarts of all parties: each piece that is drawn of each
source, and what is sealed under each nonce. A piece that is drawn again must be exactly the same piece, and
what is sealed again exactly the same bytes, which depend on all masks. Different pieces do not overlap.
"""

import threading
from hashlib import sha256
from itertools import pairwise as neighbours
from itertools import product

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from simulator.kills import KILLS
from support.restarting import KINDS, Restarting, assert_same
from support.sweeps import sweep

from secfc.crypto import channel
from secfc.crypto.randomness import MaskSource
from secfc.drivers.in_process import run_in_process
from secfc.field.primes import primes_of
from secfc.kernels import choose
from secfc.lagrange.sharer import Sharer
from secfc.protocol.job.making import make_job

pytestmark = pytest.mark.usefixtures("clock")


class Uses:
    """Pieces that were drawn of each source, and what each nonce was used for."""

    def __init__(self, monkeypatch):
        self.pieces, self.sealed, self.again = {}, {}, 0
        self._at_work = threading.local()
        self._patch = monkeypatch
        self._sources()
        self._seals()

    def check(self):
        """No two pieces of a source overlap."""
        for pieces in self.pieces.values():
            ends = sorted((start, start + count) for start, count in pieces.items())
            assert all(end <= start for (_, end), (start, _) in neighbours(ends))

    def _sources(self):
        made, drawn, passed = MaskSource.__init__, MaskSource._next, MaskSource.go_on_from
        streams = {}

        def make(source, key=None):
            made(source, key)
            assert key is not None, "of the log"
            streams[source] = key

        def draw(source, count):
            if count and not getattr(self._at_work, "passes", False):
                pieces, start = self.pieces.setdefault(streams[source], {}), source.position
                self.again += start in pieces
                assert pieces.setdefault(start, count) == count
            return drawn(source, count)

        def go_on(source, position):
            self._at_work.passes = True
            try:
                passed(source, position)
            finally:
                self._at_work.passes = False

        self._patch.setattr(MaskSource, "__init__", make)
        self._patch.setattr(MaskSource, "_next", draw)
        self._patch.setattr(MaskSource, "go_on_from", go_on)

    def _seals(self):
        records = self

        class Recorded:
            def __init__(self, key):
                self._key, self._real = key, AESGCM(key)

            def _note(self, nonce, data):
                place, plaintext = (self._key, bytes(nonce)), sha256(data).digest()
                records.again += place in records.sealed
                assert records.sealed.setdefault(place, plaintext) == plaintext

            def encrypt(self, nonce, data, *rest):
                self._note(nonce, data)
                return self._real.encrypt(nonce, data, *rest)

            def encrypt_into(self, nonce, data, *rest):
                self._note(nonce, data)
                return self._real.encrypt_into(nonce, data, *rest)

            def decrypt(self, *given):
                return self._real.decrypt(*given)

            def decrypt_into(self, *given):
                return self._real.decrypt_into(*given)

        sealed_parts = channel._sealed

        def sealed(key, nonce, associated, parts, size):
            Recorded(key)._note(nonce, b"".join(parts))
            return sealed_parts(key, nonce, associated, parts, size)

        self._patch.setattr(channel, "AESGCM", Recorded)
        self._patch.setattr(channel, "_sealed", sealed)


@pytest.fixture
def uses(monkeypatch):
    return Uses(monkeypatch)


ALIKE = ("separation", "labels", "centres", "segments", "scored starts")
"""They hide the same as other kinds do. test_resume.py runs them without kills, the slow tests with kills."""


FEW_CALLS = ("coded", "separation", "labels", "centres")
"""About 50, in an order that depends on threads. A kill at every 11th might hit no site that has sealed."""

CASES = [(kind, step) for kind, step in product(KINDS, (2, 5, 11)) if step < 11 or kind not in FEW_CALLS]


def _is_kept(case):
    kind, step = case
    return step == (5 if kind in FEW_CALLS else 11) and kind not in ALIKE


@pytest.mark.some(1)
@pytest.mark.parametrize(("kind", "step"), sweep(CASES, keep=_is_kept))
def test_killed_around_calls_parties_hide_nothing_else_under_the_same(
    setup_of, tmp_path, monkeypatch, kind, step
):
    setup = setup_of(**KINDS[kind])
    expected = run_in_process(setup)
    uses = Uses(monkeypatch)
    plan = {at: KILLS[at // step % len(KILLS)] for at in range(1, 400, step)}
    run = Restarting(setup, tmp_path, plan)
    assert run.run() > 1
    assert_same(run.outcome(), expected, noise=setup.job.opened.noise is not None)
    uses.check()
    assert uses.again > 10


class TestTheRecords:
    def test_show_pieces_that_overlap(self, uses):
        job = make_job(n=3, k=1, t=1, ell=1, d=2, bound=4.0, disclosure="coded")
        for position in (0, 5):
            masks = MaskSource(bytes(32))
            masks.go_on_from(position)
            sharer = Sharer(job=job, primes=primes_of(2), masks=masks, kernels=choose(1))
            sharer.share(np.zeros((3, 2)))
        with pytest.raises(AssertionError):
            uses.check()

    def test_show_a_nonce_used_for_other_bytes(self, uses):
        def seal(payload):
            made = channel.Channels(secrets={2: bytes(32)}, transcript=bytes(32), me=1)
            made[2].seal(b"step", part=0, payload=payload)

        seal(b"one")
        seal(b"one")
        with pytest.raises(AssertionError):
            seal(b"two")
