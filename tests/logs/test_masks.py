"""A party that is killed and started again uses no piece of a keystream and no nonce for two plaintexts.

Whole runs of every kind are recorded, including all restarts of all parties: which module draws each piece of
each keystream, from which arguments, and what is sealed under each nonce. A piece that is used again must be
exactly the same piece, drawn by the same code from the same arguments. Different pieces do not overlap.
"""

import sys
import threading
from functools import wraps
from hashlib import sha256
from itertools import pairwise as neighbours
from itertools import product

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from simulator.kills import HALVES, KILLS, kill_at_halves
from support.restarting import KINDS, Restarting, assert_same
from support.sweeps import sweep

from secfc.crypto import channel, keystream
from secfc.crypto.randomness import MaskSource
from secfc.drivers.in_process import run_in_process
from secfc.field.primes import primes_of
from secfc.protocol.client import Client
from secfc.protocol.job.cases import Union as UnionRows
from secfc.protocol.server import Server
from secfc.psu.field_sharing import Sharing
from secfc.sharing.codewords import Codewords
from secfc.sharing.proof import with_covers

pytestmark = pytest.mark.usefixtures("clock")

_DRAWING = ("secfc.crypto.", "secfc.kernels.", "secfc.protocol.parties.party")
"""Modules whose functions draw for others."""

_OUTSIDE = ("Party.together.<locals>.advance", "Client.receive", "Server.receive")
"""What calls a half, or a role."""


def bytes_of(value):
    """All content of an argument that masks may hide."""
    match value:
        case np.ndarray():
            return repr(value.tolist()).encode() if value.dtype == object else value.tobytes()
        case bytes() | bytearray() | memoryview():
            return bytes(value)
        case slice() | int() | str():
            return repr(value).encode()
        case tuple() | list():
            return b"|".join(map(bytes_of, value))
    return b""


def purpose_and_digest():
    """The module that draws, the half of the operation in which it does, and a digest of what it is given.

    That includes what its callers in the half, or in the role, are given.
    """
    frame, name, half, held = sys._getframe(1), "", "", []
    while frame is not None and frame.f_code.co_qualname not in _OUTSIDE:
        module, code = frame.f_globals.get("__name__", ""), frame.f_code
        # Closures are given buffers that are not filled yet.
        if module.startswith("secfc.") and not module.startswith(_DRAWING) and "<" not in code.co_qualname:
            name = name or module.removeprefix("secfc.")
            given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            held += [bytes_of(frame.f_locals[one]) for one in given if one in frame.f_locals]
        half, frame = code.co_qualname, frame.f_back
    return name, half, sha256(b"|".join(held)).digest()


class Uses:
    """What each piece of a keystream, and each nonce, was used for."""

    def __init__(self, monkeypatch):
        self.pieces, self.sealed = {}, {}
        self.again = 0
        self._at_work = threading.local()
        self._patch = monkeypatch
        self._parties()
        self._sources()
        self._pairs()
        self._seals()

    @property
    def purposes(self):
        return {use[0] for pieces in self.pieces.values() for _, use in pieces.values()}

    def check(self):
        """No two pieces of a keystream overlap."""
        for pieces in self.pieces.values():
            ends = sorted((start, start + count) for start, (count, _) in pieces.items())
            assert all(end <= start for (_, end), (start, _) in neighbours(ends))

    def _parties(self):
        """Note whose code runs: both ends of a pair use one keystream, each for its own answer."""

        def noted(owner, name):
            real = getattr(owner, name)

            @wraps(real)
            def note(one, *given):
                self._at_work.party = getattr(one, "number", 0)
                try:
                    return real(one, *given)
                finally:
                    self._at_work.party = None

            self._patch.setattr(owner, name, note)

        for owner, name in product((Client, Server), ("start", "receive", "unreadable", "absent")):
            if hasattr(owner, name):
                noted(owner, name)

    def _piece(self, stream, start, count, data=b""):
        if not count:
            return
        name, half, digest = purpose_and_digest()
        # A dealer derives its own masks from a key that it uses as dealer and as bearer.
        place = stream, getattr(self._at_work, "party", None), half
        use, pieces = (name, sha256(digest + bytes(data)).digest()), self.pieces.setdefault(place, {})
        if start in pieces:
            assert pieces[start] == (count, use), name
            self.again += 1
        pieces[start] = count, use

    def _sources(self):
        made, drawn = MaskSource.__init__, MaskSource._next
        streams, misfits, records = {}, Sharing.misfits, self

        def make(source, key=None):
            made(source, key)
            # Weights of a check hide nothing.
            checking = getattr(records._at_work, "checks", False)
            assert checking or key is not None, "of the log"
            streams[source] = key

        def draw(source, count):
            if streams[source] is not None:
                self._piece(streams[source], source.position, count)
            return drawn(source, count)

        @wraps(misfits)
        def check(*given, **named):
            records._at_work.checks = True
            try:
                return misfits(*given, **named)
            finally:
                records._at_work.checks = False

        self._patch.setattr(MaskSource, "__init__", make)
        self._patch.setattr(MaskSource, "_next", draw)
        self._patch.setattr(Sharing, "misfits", check)

    def _pairs(self):
        records = self

        class Stream:
            def __init__(self, algorithm, mode):
                self._real, self._key, self._position = Cipher(algorithm, mode), algorithm.key, 0

            def encryptor(self):
                self._stream = self._real.encryptor()
                return self

            def update_into(self, data, out):
                records._piece(self._key, self._position, len(data), data)
                self._position += len(data)
                return self._stream.update_into(data, out)

        self._patch.setattr(keystream, "Cipher", Stream)

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


ALWAYS = {"protocol.parties.dealing", "protocol.program.stepping", "sharing.proof"}
CODED = ALWAYS | {"protocol.server"}
COMPARED = ALWAYS | {
    "comparing.batch",
    "operations.checking.check",
    "protocol.parties.coins",
    "operations.beginning.in_range",
    "operations.masked",
    "operations.signs",
    "protocol.parties.random_sharings",
}
UNION = {
    "operations.beginning.added",
    "operations.beginning.united_dealing",
    "psu.field_sharing",
    "psu.proving",
    "psu.stages",
}
CHECKS = {"sharing.codewords", "operations.checking.coins"}
"""Draw weights of checks, which hide nothing. How many answers are checked depends on when they come."""


def purposes_of(job):
    """Modules that draw in a run of a job."""
    purposes = COMPARED if job.comparers else CODED
    if job.comparers and job.k > 1:
        purposes = purposes | {"operations.weighed"}
    if job.comparers and (job.method.init == "k-means++" or job.method.resamples):
        purposes = purposes | {"operations.multiplied"}
    if job.opened.noise is not None:
        purposes = purposes | {"operations.ending.noise"}
    if job.hides_start:
        purposes = purposes | {"operations.predicting.given"}
    if isinstance(job.rows, UnionRows):
        purposes = purposes | UNION
    return purposes


FEW_CALLS = ("coded", "separation", "labels", "centres")
"""About 50, in an order that depends on threads. A kill at every 11th might hit no site that has sealed."""

CASES = [(kind, step) for kind, step in product(KINDS, (2, 5, 11)) if step < 11 or kind not in FEW_CALLS]

QUICK = (
    ("coded", 5),
    ("noise", 11),
    ("opened inertia", 11),
    ("prediction", 11),
    ("several k, opened", 11),
    ("spreads of hidden sets", 11),
    ("union, labels", 11),
    ("weights", 11),
)
"""Each operation that only some runs have. The slow tests kill parties of all kinds, and more often."""


@pytest.mark.parametrize(("kind", "step"), sweep(CASES, keep=QUICK))
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
    assert uses.purposes - CHECKS == purposes_of(setup.job)
    assert uses.again > 10


@pytest.mark.some(1)
@pytest.mark.parametrize("first", range(len(KILLS)))
def test_killed_between_resamples_and_between_cells_and_openings_they_do_neither(
    setup_of, tmp_path, monkeypatch, first
):
    setup = setup_of(**KINDS["resamples, described"])
    expected = run_in_process(setup)
    uses, run = Uses(monkeypatch), Restarting(setup, tmp_path)
    reached = kill_at_halves(monkeypatch, run, KILLS[first:] + KILLS[:first])
    run.run()
    assert reached == list(HALVES)
    assert not run.plan
    assert_same(run.outcome(), expected)
    uses.check()
    assert uses.purposes - CHECKS == purposes_of(setup.job)
    assert uses.again > 10


class TestTheRecords:
    def share(self, value, position=0):
        code, masks = Codewords(n=3, t=1, ell=1, primes=primes_of(2)), MaskSource(bytes(32))
        masks.position = position
        return with_covers(code, np.full((2, 1, 6), float(value)), masks)

    def test_show_a_mask_used_for_other_rows(self, uses):
        self.share(0)
        self.share(0)
        assert uses.again
        with pytest.raises(AssertionError, match=r"^sharing\.proof"):
            self.share(1)

    def test_show_pieces_that_overlap(self, uses):
        self.share(0)
        self.share(0, position=5)
        with pytest.raises(AssertionError):
            uses.check()

    def test_show_a_nonce_used_for_other_bytes(self, uses):
        def seal(payload):
            made = channel.Channels(secrets={2: bytes(32)}, transcript=bytes(32), me=1)
            made[2].seal(b"share", part=0, payload=payload)

        seal(b"one")
        seal(b"one")
        with pytest.raises(AssertionError):
            seal(b"two")
