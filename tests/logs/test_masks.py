"""A party that is killed and started again uses no piece of a keystream and no nonce for two plaintexts.

Whole runs of every kind are recorded, including all restarts of all parties: what each piece of each
keystream hides, and what is sealed under each nonce. A piece that is used again must be exactly the same
piece, for exactly the same bytes. Different pieces do not overlap. A draw for none of the purposes below
fails.
"""

import threading
from contextlib import contextmanager
from functools import wraps
from hashlib import sha256
from itertools import pairwise as neighbours
from itertools import product

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from simulator.kills import KILLS
from support.restarting import KINDS, Restarting, assert_same
from support.sweeps import sweep

from secfc.comparing.masking import BearerMasks, MaskDealer
from secfc.comparing.role import Role
from secfc.crypto import channel, keystream
from secfc.crypto.randomness import MaskSource
from secfc.drivers.in_process import run_in_process
from secfc.field.primes import primes_of
from secfc.kernels import choose
from secfc.lagrange.sharer import Sharer
from secfc.operations.draw import DrawDealer, DrawEvaluator
from secfc.operations.ending.noise import Noise
from secfc.operations.inertia import InertiaDealer, InertiaEvaluator
from secfc.operations.plus_plus_steps import LeastDealer, LeastEvaluator, NearerDealer, NearerEvaluator
from secfc.protocol import range_round
from secfc.protocol.answers.consistency import ConsistencyCheck
from secfc.protocol.job.making import make_job
from secfc.protocol.label_round import LabelRound
from secfc.protocol.labels import ClientLabels
from secfc.protocol.trio_round import TrioRound
from secfc.psu.field_sharing import Sharing
from secfc.psu.stages import SeriesInput
from secfc.psu.tokens import Tokens
from secfc.sharing import client_shares as sharing
from secfc.sharing import dealing
from secfc.sharing.share_checks import ShareChecks

pytestmark = pytest.mark.usefixtures("clock")

PUBLIC, PASSED = "public coefficients", "passed over"


def bytes_of(value):
    """All content of an argument that masks may hide."""
    match value:
        case Tokens():
            return value.u.tobytes() + value.v.tobytes()
        case SeriesInput():
            return value._bins.tobytes() + value._poles.tobytes()
        case np.ndarray():
            return repr(value.tolist()).encode() if value.dtype == object else value.tobytes()
        case dict():
            return b"".join(bytes([key]) + bytes_of(one) for key, one in sorted(value.items()))
        case bytes() | bytearray() | memoryview():
            return bytes(value)
        case slice() | int() | tuple():
            return repr(value).encode()
    return bytes_of(value.payload) if hasattr(value, "payload") else b""


def inputs_of(role):
    """The inputs of a role of the trio."""
    match role:
        case NearerDealer() | NearerEvaluator():
            given = role._steps.gi_frame.f_locals["nearer"]
            return given.first.tobytes() + given.second.tobytes()
        case LeastDealer() | LeastEvaluator():
            return role._found.opening.residues.tobytes() if role._found.opening else b""
        case DrawDealer() | DrawEvaluator():
            return role._search._sums.tobytes() + repr(role._search._draws).encode()
        case InertiaDealer() | InertiaEvaluator():
            return repr((role._sums.weights, role._sums.doubled)).encode()
    return next(
        getattr(role, name).tobytes() for name in ("_masks", "_masked", "_entries") if hasattr(role, name)
    )


class Uses:
    """What each piece of a keystream, and each nonce, was used for."""

    def __init__(self, monkeypatch):
        self.pieces, self.sealed = {}, {}
        self.again, self._places = 0, ()
        self._at_work = threading.local()
        self._patch = monkeypatch
        self._sources()
        self._pairs()
        self._seals()
        for owner, name in (
            (Sharer, "share"),
            (Sharer, "cover"),
            (sharing, "deal_zeros"),
            (Noise, "draw"),
            (Sharing, "deal"),
            (Sharing, "deal_random"),
            (Sharing, "deal_zero"),
            (SeriesInput, "values"),
            (ConsistencyCheck, "agree"),
            (ConsistencyCheck, "liars"),
            (ShareChecks, "_challenge"),
            (ClientLabels, "__init__"),
            (BearerMasks, "add"),
            (BearerMasks, "next"),
        ):
            self._during(owner, name)
        self._comparers()
        self._during(MaskSource, "go_on_from", PASSED)
        for module in (dealing, range_round):
            self._during(module, "coefficients_of", PUBLIC)
        self._during(Sharing, "misfits", PUBLIC)

    @property
    def _now(self):
        """What this thread is hiding, innermost last."""
        if not hasattr(self._at_work, "uses"):
            self._at_work.uses = []
        return self._at_work.uses

    @property
    def purposes(self):
        return {use[0] for pieces in self.pieces.values() for _, use in pieces.values()}

    def check(self):
        """No two pieces of a keystream overlap."""
        for pieces in self.pieces.values():
            ends = sorted((start, start + count) for start, (count, _) in pieces.items())
            assert all(end <= start for (_, end), (start, _) in neighbours(ends))

    def _during(self, owner, name, purpose=None):
        """Record what a function hides while it works."""
        real = getattr(owner, name)

        @wraps(real)
        def noted(*given, **named):
            held = [bytes_of(one) for one in (*given, *named.values())]
            self._now.append((purpose or real.__qualname__, sha256(b"|".join(held)).digest()))
            try:
                return real(*given, **named)
            finally:
                self._now.pop()

        self._patch.setattr(owner, name, noted)

    def _piece(self, stream, start, count, data=b""):
        assert self._now, "a draw for no known purpose"
        use, pieces = self._now[-1], self.pieces.setdefault(stream, {})
        if use[0] == PASSED or not count:
            return
        use = use[0], sha256(use[1] + bytes(data)).digest()
        if start in pieces:
            assert pieces[start] == (count, use), use[0]
            self.again += 1
        pieces[start] = count, use

    def _sources(self):
        made, drawn = MaskSource.__init__, MaskSource._next
        streams = {}

        def make(source, key=None):
            made(source, key)
            public = bool(self._now) and self._now[-1][0] == PUBLIC
            assert public or key is not None, "of the log"
            streams[source] = None if public else key

        def draw(source, count):
            if streams[source] is not None:
                self._piece(streams[source], source.position, count)
            return drawn(source, count)

        self._patch.setattr(MaskSource, "__init__", make)
        self._patch.setattr(MaskSource, "_next", draw)

    def _pairs(self):
        """Both ends of a pair use one keystream, each for its own answer."""
        records = self

        class Stream:
            def __init__(self, algorithm, mode):
                self._real, self._place = Cipher(algorithm, mode), (algorithm.key, *records._places)
                self._position = 0

            def encryptor(self):
                self._stream = self._real.encryptor()
                return self

            def update_into(self, data, out):
                records._piece(self._place, self._position, len(data), data)
                self._position += len(data)
                return self._stream.update_into(data, out)

        self._patch.setattr(keystream, "Cipher", Stream)

    @contextmanager
    def _at(self, *place):
        """Keystreams that begin in this context are used at this place. Processes take calls in turn."""
        self._places = (*self._places, *place)
        try:
            yield
        finally:
            self._places = self._places[: -len(place)]

    def _comparers(self):
        """A dealer derives its own masks from a key that it uses as dealer and as bearer."""

        def placed(owner, name, place):
            real = getattr(owner, name)

            @wraps(real)
            def noted(one, *given, **named):
                with self._at(place(one, *given)):
                    return real(one, *given, **named)

            self._patch.setattr(owner, name, noted)

        placed(TrioRound, "__init__", lambda one, context, *rest: context.number)
        for name in ("begin", "leave", "take"):
            placed(TrioRound, name, lambda one, *rest: one._me)
        placed(LabelRound, "find_farthest", lambda one, *rest: one._me)
        placed(MaskDealer, "deal", lambda one: "dealer")
        step = Role._advance

        def advance(role, taken):
            held = [inputs_of(role), *(bytes(one) for one in (taken or {}).values())]
            self._now.append((type(role).__name__, sha256(b"|".join(held)).digest()))
            try:
                return step(role, taken)
            finally:
                self._now.pop()

        self._patch.setattr(Role, "_advance", advance)

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


ALWAYS = {"Sharer.share"}
COVERED = ALWAYS | {"Sharer.cover"}
CHECKED = COVERED | {"ShareChecks._challenge", "ConsistencyCheck.agree"}
COMPARED = COVERED | {
    "ClientLabels.__init__",
    "BearerMasks.add",
    "BearerMasks.next",
    "Dealer",
    "Evaluator",
}
UNION = {"Sharing.deal", "Sharing.deal_random", "Sharing.deal_zero"}
STARTED = {f"{one}{who}" for one in ("Nearer", "Least", "Draw") for who in ("Dealer", "Evaluator")}
PURPOSES = {
    "opened labels": COMPARED,
    "helpers": COMPARED,
    "labels, liars": COMPARED | {"ConsistencyCheck.agree"},
    "spare masks": COMPARED,
    "emptied clusters": COMPARED | {"FarthestDealer", "FarthestEvaluator"},
    "opened start": COMPARED | STARTED,
    "opened starts": COMPARED | STARTED,
    "scored starts": COMPARED,
    "opened inertia": COMPARED | {"InertiaDealer", "InertiaEvaluator"},
    "several k, opened": COMPARED | {"InertiaDealer", "InertiaEvaluator"},
    "liars": CHECKED,
    "spreads": ALWAYS | {"deal_zeros"},
    "noise": COMPARED | {"Noise.draw"},
    "union": ALWAYS | UNION | {"SeriesInput.values"},
    "union, liars": CHECKED | UNION | {"SeriesInput.values"},
}


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
    assert uses.purposes == PURPOSES.get(kind, ALWAYS)
    assert uses.again > 10


class TestTheRecords:
    def sharer(self):
        job = make_job(n=3, k=1, t=1, ell=1, d=2, bound=4.0, disclosure="coded")
        return Sharer(job=job, primes=primes_of(2), masks=MaskSource(bytes(32)), kernels=choose(1))

    def test_show_a_mask_used_for_other_rows(self, uses):
        self.sharer().share(np.zeros((3, 2)))
        self.sharer().share(np.zeros((3, 2)))
        assert uses.again
        with pytest.raises(AssertionError, match=r"^Sharer\.share"):
            self.sharer().share(np.ones((3, 2)))

    def test_show_pieces_that_overlap(self, uses):
        self.sharer().share(np.zeros((3, 2)))
        sharer = self.sharer()
        sharer._masks.go_on_from(5)
        sharer.share(np.zeros((3, 2)))
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

    def test_show_a_draw_for_no_known_purpose(self, uses):
        with pytest.raises(AssertionError, match="a draw for no known purpose"):
            MaskSource(bytes(32)).uniform(5, (1,))
