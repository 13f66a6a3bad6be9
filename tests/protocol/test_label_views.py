"""With disclosure "labels", all that a coalition sees follows from labels, its own rows and randomness.

A run is repeated with other rows of the other parties, which have the same labels in every round. Each mask
that nobody in the coalition knows is changed by the difference of the values that it hides in the two runs.
Then every byte that the coalition sees must be the same. So its view has the same probability for both sets
of rows, and anybody who has the labels, and any rows with these labels, can simulate it.

A mask that hid two numbers could not be changed for both. Two comparers have too few masks between them.
"""

from collections import defaultdict
from dataclasses import fields
from itertools import combinations, cycle, product

import numpy as np
import pytest
from support.sweeps import crossed, sweep

from benchmarks.privacy.view import watch
from secfc.comparing import batch, masking, matches
from secfc.comparing import dealer_keys as keys_module
from secfc.comparing.dealer_keys import Keys
from secfc.crypto import keystream
from secfc.field.fixed_point import quantise
from secfc.field.label_packing import PackedLabels, labels_of
from secfc.field.packing import pack, unpack
from secfc.field.payload import Payload
from secfc.field.primes import PRIMES
from secfc.kernels.vectorised import VectorisedKernels
from secfc.lagrange.basis import basis_residues, lagrange_basis
from secfc.lagrange.points import evaluation_points
from secfc.lagrange.sharing import split
from secfc.operations import inertia
from secfc.protocol.client import Client
from secfc.protocol.job.limits import Limits
from secfc.protocol.messages import SERVER, Endorsement, OpenedLabels, Report

pytestmark = pytest.mark.questions

PASSES = 12
"""Largest number of runs until all masks are changed, because what one mask hides can depend on others."""


class Spied(Client):
    """A client whose messages are recorded in order. `net` knows which client is working."""

    def __init__(self, net, **given):
        masks = given.pop("masks")
        self.net = net
        super().__init__(masks=net.masks_of(given["number"], masks), **given)

    def start(self):
        return self._sent(super().start())

    def receive(self, message):
        if message.sender == SERVER:
            self.net.seen.append(message)
        self.net.me = self.number
        try:
            return self._sent(super().receive(message))
        finally:
            self.net.me = None

    def _sent(self, messages):
        self.net.seen += messages
        return messages


class Masks:
    """A client's masks of shares and of covers, with changes."""

    def __init__(self, inner, moved):
        self._inner, self._moved = inner, moved

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def uniform(self, p, shape, kernels=None):
        drawn = self._inner.uniform(p, shape, kernels)
        if (p, shape) not in self._moved:
            return drawn
        moved = (drawn + self._moved[p, shape]) % p
        return moved - p * (moved > p // 2)


class Net:
    """Records of a run with changed masks: by client for shares, by key for everything else."""

    def __init__(self, of_shares=None, of_keys=None):
        self.of_shares, self.of_keys = of_shares or {}, of_keys or {}
        self.seen, self.me = [], None
        self.plain = {}  # masked values: (what, key) to numbers in order
        self.holders = defaultdict(set)
        self.places = {}
        self.wires = defaultdict(dict)  # place to shares of each evaluator
        self.halves = defaultdict(dict)
        self.last = None  # key of the last drawn residues
        self.dealt = {}  # inertia, by E0's key: what the dealer shares, and shares of E0, E1
        self.last_bits = None

    def masks_of(self, number, inner):
        return Masks(inner, self.of_shares.get(number, {}))

    def keep(self, store, name, numbers):
        store[name] = np.concatenate([store[name], numbers]) if name in store else numbers.copy()


@pytest.fixture
def net_of(monkeypatch):
    """Runs whose keystreams are those of a `Net`."""
    now = {}
    derive, open_wires = Keys.key, batch.Evaluating.open

    def key(ring, purpose, index):
        net, derived = now["net"], derive(ring, purpose, index)
        net.holders[derived].add(net.me)
        net.places[derived] = ring._info, purpose, index
        return derived

    class Bits(keystream.BitStream):
        def __init__(self, key):
            super().__init__(key)
            self.key, self.at = key, 0

        def _moved(self, out):
            flat, moved = out.reshape(-1), now["net"].of_keys.get(self.key)
            if moved is not None:
                flat ^= moved[self.at : self.at + flat.size]
            self.at += flat.size

        def fill(self, out):
            super().fill(out)
            self._moved(out)
            now["net"].last_bits = self.key

        def add(self, words):
            net = now["net"]
            net.keep(net.plain, self.key, words.reshape(-1))
            super().add(words)
            self._moved(words)

    class Residues(keystream.ResidueStream):
        def __init__(self, key, kernels):
            super().__init__(key, kernels)
            self.key, self.at = key, 0

        def _moved(self, packed, primes):
            moved = now["net"].of_keys.get(self.key)
            for plane, p in zip(packed.reshape(len(primes), -1), primes, strict=True):
                count = plane.size // 3
                if moved is not None:
                    plane[:] = pack((unpack(plane) + moved[self.at : self.at + count]) % p, p)
                self.at += count

        def fill(self, out, primes):
            super().fill(out, primes)
            self._moved(out, primes)
            now["net"].last = self.key

        def add(self, packed, primes):
            net = now["net"]
            net.keep(net.plain, self.key, unpack(packed.reshape(-1)))
            super().add(packed, primes)
            self._moved(packed, primes)

    def opened(gates, shares):
        net, used = now["net"], gates._wires.key
        net.keep(net.wires[net.places[used]], gates.first, shares.reshape(-1))
        return (yield from open_wires(gates, shares))

    choose, deal_choice = VectorisedKernels.choose_entries, VectorisedKernels.deal_choice

    def chosen(kernels, pair, opened, halves, masks, first, p, out):
        choose(kernels, pair, opened, halves, masks, first, p, out)
        net, half = now["net"], (unpack(out) - unpack(masks)) % p
        net.keep(net.halves[net.places[net.last]], first, half.reshape(-1))

    def dealt(kernels, pair, flips, halves, p, out):
        deal_choice(kernels, pair, flips, halves, p, out)
        net = now["net"]
        net.keep(net.plain, net.last, (unpack(out) + unpack(halves)).reshape(-1))

    shares_of_e1 = inertia.shares_of_e1

    def shared(secrets, of_e0, bits):
        found, net = shares_of_e1(secrets, of_e0, bits), now["net"]
        net.dealt[net.last_bits] = secrets, of_e0, found, bits
        return found

    monkeypatch.setattr(inertia, "shares_of_e1", shared)
    monkeypatch.setattr(Keys, "key", key)
    monkeypatch.setattr(keys_module, "BitStream", Bits)
    monkeypatch.setattr(masking, "ResidueStream", Residues)
    monkeypatch.setattr(matches, "ResidueStream", Residues)
    monkeypatch.setattr(batch.Evaluating, "open", opened)
    monkeypatch.setattr(VectorisedKernels, "choose_entries", chosen)
    monkeypatch.setattr(VectorisedKernels, "deal_choice", dealt)

    def run(rows, given, **moved):
        net = now["net"] = Net(**moved)
        net.run = watch(rows, keys=3, client=lambda **one: Spied(net, **one), **given)
        for place, by in net.wires.items():
            net.plain["wires", place] = by[True] ^ by[False]
        for place, by in net.halves.items():
            net.plain["halves", place] = by[True] + by[False]
        return net

    return run


def told(net):
    """Opened values: labels, a core, rows that move or are drawn, the best start, by consent the inertia."""
    opened = [
        (message.labels.tolist(), message.core)
        if isinstance(message, OpenedLabels)
        else (message.rows, message.best, message.inertia)
        for message in net.seen
        if isinstance(message, OpenedLabels | Endorsement)
    ]
    return opened, [sets.tolist() for sets in net.run.server.questions], net.run.labels.tolist()


def view(net, coalition):
    """All that a coalition sees: its members' messages, and the lengths of the others' sealed messages."""
    found = []
    for message in net.seen:
        theirs = bool({message.sender, message.recipient} & coalition)
        if theirs or SERVER in coalition:
            found.append((type(message).__name__, *shown(message, theirs=theirs)))
    return found


def shown(message, *, theirs):
    """The fields of a message. Keys are the same in all runs, so equal contents give equal sealed bytes."""
    for one in fields(message):
        value = getattr(message, one.name)
        match value:
            case Payload() if theirs:
                value = bytes(value.payload)
            case Payload():
                assert one.name == "sealed"
                value = len(value.payload)
            case PackedLabels() | np.ndarray():
                value = labels_of(value).tolist()
        if one.name != "proof":  # how the server signs these fields
            yield one.name, value


def row_reduced(matrix, columns, p):
    """Reduced row echelon form modulo p in the first `columns` columns."""
    rows, pivots = matrix % p, []
    for column in range(columns):
        at = len(pivots)
        candidates = np.flatnonzero(rows[at:, column])
        if candidates.size == 0:
            continue
        found = at + int(candidates[0])
        rows[[at, found]] = rows[[found, at]]
        rows[at] = rows[at] * pow(int(rows[at, column]), -1, p) % p
        factors = rows[:, column].copy()
        factors[at] = 0
        rows = (rows - factors[:, np.newaxis] * rows[at]) % p
        pivots.append(column)
        if len(pivots) == len(rows):
            break
    return rows


def encoding_matrix(job, index):
    """L_u(alpha_j) modulo prime `index`, shape (n, ell + t)."""
    prime = PRIMES[index]
    points = evaluation_points(prime, n=job.n, coded=job.ell + job.t)
    return basis_residues(points.beta, points.alpha, prime.p)


def moved_shares(job, rows, others, together):
    """Changes of masks of shares for which the shares of some t clients stay the same."""
    found = {}
    for client, (one, other) in enumerate(zip(rows, others, strict=True), 1):
        found[client] = {}
        change = [split(quantise(part, job.unit), job.ell) for part in (one, other)]
        for index, prime in enumerate(PRIMES):
            matrix = encoding_matrix(job, index)[[j - 1 for j in together]]
            segments = (change[0] - change[1]).astype(np.int64) % prime.p
            sums = np.einsum("cu,uwi->cwi", matrix[:, : job.ell], segments) % prime.p
            masks = np.concatenate([matrix[:, job.ell :], np.eye(job.t, dtype=np.int64)], axis=1)
            inverse = row_reduced(masks, job.t, prime.p)[:, job.t :]
            shift = np.einsum("uc,cwi->uwi", inverse, sums) % prime.p
            found[client][prime.p, shift.shape] = shift
    return found


def moved_covers(job, first, now):
    """Changes of covers for which all reports stay the same: values of a polynomial at the cover's inputs."""
    reports = [
        {message.sender: unpack(message.residues.planes()) for message in net.seen if type(message) is Report}
        for net in (first, now)
    ]
    found = defaultdict(dict)
    for index in range(reports[0][1].shape[0]):
        p, points = PRIMES[index].p, evaluation_points(PRIMES[index], n=job.n, coded=job.ell + job.t)
        clients = range(1, job.ell + job.t + 1)
        basis = lagrange_basis([points.alpha[j - 1] for j in clients], points.beta, p).astype(np.int64) % p
        gaps = [(reports[0][j][index] - reports[1][j][index]).astype(np.int64) % p for j in clients]
        values = np.zeros((len(points.beta), *gaps[0].shape), dtype=np.int64)
        for weights, gap in zip(basis.T, gaps, strict=True):
            values = (values + weights[:, np.newaxis, np.newaxis] * gap) % p
        for dealer in range(1, job.n + 1):
            one = values[:, :, dealer - 1, np.newaxis]
            found[dealer][p, one.shape] = one
    return found


def moved_keys(first, now, coalition, trio):
    """Changes of keystreams that no member of a coalition has, for which masked values stay the same."""
    found = {}
    for used, place in now.places.items():
        if now.holders[used] & coalition:
            continue
        honest = [j for j in trio[1:] if j not in coalition]
        purpose = place[1].split()[-1]
        if purpose in ("wires", "masks"):
            # Masks of one honest evaluator. If both are honest, nobody in the coalition sees what they mask.
            hides = {"wires": "wires", "masks": "halves"}[purpose], place
            if len(honest) == 1 and honest[0] in now.holders[used] and hides in now.plain:
                found[used] = change(first.plain[hides], now.plain[hides])
        elif purpose == "products" and trio[2] in coalition:
            found[used] = change(first.plain[used], now.plain[used])
        elif purpose == "choice" and trio[2] in coalition:  # it is dealt what these are taken from
            found[used] = change(now.plain[used], first.plain[used])
        elif purpose == "shares":
            found[used] = changed_shares(first.dealt[used], now.dealt[used])
        elif purpose == "answers" and used in now.plain:
            found[used] = change(first.plain[used], now.plain[used])
    return found


def change(of, to):
    """Change of a mask that now hides another value: for bits or for residues."""
    return of ^ to if of.dtype == np.uint64 else of - to


def changed_shares(first, now):
    """Change of E0's shares for which the shares dealt to E1 stay the same."""
    _, of_e0, of_e1, bits = first
    moved = [(one - dealt) % (1 << bits) ^ e0 for one, e0, dealt in zip(now[0], of_e0, of_e1, strict=True)]
    return np.frombuffer(b"".join(one.to_bytes(bits // 8, "little") for one in moved), dtype=np.uint64)


def with_the_same_labels(net_of, first, rows, given, coalition, width):
    """Other rows of the parties outside a coalition, with the same labels in every round."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        others = [
            part if j in coalition else part + rng.uniform(-width, width, part.shape)
            for j, part in enumerate(rows, 1)
        ]
        if told(net_of(others, given)) == told(first):
            return others
    raise AssertionError("no such rows were found")


def coupled(net_of, rows, given, coalition, *, width=0.02, others=None):
    """Two runs' views, the second with other rows."""
    first = net_of(rows, given)
    job = first.run.job
    others = others or with_the_same_labels(net_of, first, rows, given, coalition, width)
    for j, (one, other) in enumerate(zip(rows, others, strict=True), 1):
        assert j in coalition or (quantise(one, job.unit) != quantise(other, job.unit)).any()
    clients = [j for j in sorted(coalition) if 1 <= j <= job.n]
    together = (clients + [j for j in range(1, job.n + 1) if j not in clients])[: job.t]
    shares, keys = moved_shares(job, rows, others, together), {}
    now, seen = None, view(first, coalition)
    for step in range(PASSES):
        now = net_of(others, given, of_shares=shares, of_keys=keys)
        assert told(now) == told(first)
        if view(now, coalition) == seen:
            break
        before, keys = keys, moved_keys(first, now, coalition, job.comparers)
        if step == 0:
            for dealer, moved in moved_covers(job, first, now).items():
                shares[dealer] |= moved
        elif before.keys() == keys.keys() and all(np.array_equal(before[one], keys[one]) for one in keys):
            break  # no mask is left to change
    assert all(not now.holders[used] & coalition for used in keys)
    return seen, view(now, coalition), keys


_RNG = np.random.default_rng(6)
ROWS = [_RNG.normal(size=(m, 2)).round(2) for m in (4, 5, 6, 3, 4)]
JOB = {
    "k": 3,
    "t": 1,
    "ell": 1,
    "seed": 0,
    "disclosure": "labels",
    "bound": 6.0,
    "precision": 12,
    "max_iter": 3,
}
COMPARERS = [(1, 2, 3), (4, 2, 5), (5, 4, 1)]


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("comparers", "client"),
    sweep(
        product(COMPARERS, range(1, 6)),
        keep=[*product(COMPARERS[1:2], range(1, 6)), (COMPARERS[0], 1), (COMPARERS[2], 5)],
    ),
)
def test_the_server_and_any_client_see_the_same_whatever_rows_have_these_labels(net_of, comparers, client):
    seen, again, keys = coupled(net_of, ROWS, JOB | {"comparers": comparers}, {SERVER, client})
    assert again == seen
    assert {"MaskedAnswer", "MaskedDistances", "Compared", "OpenedLabels", "Share"} <= {
        one[0] for one in seen
    }
    assert bool(keys) == (client != comparers[0]), "what the dealer sees has no mask"


@pytest.mark.some(1)
@pytest.mark.parametrize("two", list(combinations((4, 2, 5), 2)))
def test_two_comparers_see_what_depends_on_the_rows(net_of, two):
    seen, again, _ = coupled(net_of, ROWS, JOB | {"comparers": (4, 2, 5)}, set(two))
    assert again != seen


@pytest.mark.some(1)
@pytest.mark.parametrize("company", [(2, 3), (1, 4), (2, 4, 6), (2, 4, 7), (3, 6), (5, 7)])
def test_with_helpers_any_two_clients_see_no_more_nor_does_one_helper_with_them(net_of, company):
    given = JOB | {"t": 2}
    seen, again, keys = coupled(net_of, ROWS, given, {SERVER, *company})
    assert again == seen
    assert bool(keys) == (1 not in company)


def test_a_helper_and_the_dealer_see_what_depends_on_the_rows(net_of):
    for helper in (6, 7):
        seen, again, _ = coupled(net_of, ROWS, JOB | {"t": 2}, {1, helper})
        assert again != seen


OTHERS = {
    "k-means++": {"init": "k-means++", "n_init": 2},
    "starts": {"n_init": 2},
    "segments": {"ell": 2, "t": 1},
    "one round": {"max_iter": 1},
    "small parts": {},
}


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("kind", "client"), sweep(product(OTHERS, (1, 2, 5)), keep=list(zip(OTHERS, cycle((1, 2, 5)))))
)
def test_so_they_do_in_other_jobs(net_of, part_rows, kind, client):
    part_rows(7 if kind == "small parts" else 100)
    given = JOB | {"comparers": (4, 2, 5)} | OTHERS[kind]
    seen, again, _ = coupled(net_of, ROWS, given, {SERVER, client})
    assert again == seen


def emptied(seed):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(m, 1)).round(1) for m in (2, 3, 1, 2, 2)]


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("seed", "client"),
    sweep(product((2, 8), range(1, 6)), keep=lambda case: case[0] == (2, 8)[case[1] % 2]),
)
def test_so_they_do_where_farthest_rows_move_to_emptied_clusters(net_of, seed, client):
    given = JOB | {"comparers": (4, 2, 5), "k": 5}
    seen, again, _ = coupled(net_of, emptied(seed), given, {SERVER, client}, width=0.01)
    assert again == seen
    assert any(dict(one[1:])["rows"] for one in seen if one[0] == "Endorsement")


INERTIA = {"k": 2, "reveal_inertia": True, "limits": Limits(reveal_inertia=True), "bound": 12.0}


def with_the_same_inertia(coalition):
    """Rows about two centres, and others with the spreads exchanged. A coalition's rows are in between."""
    rng, rows, others = np.random.default_rng(3), [], []
    for j in range(1, 6):
        one, two = (rng.integers(-20, 21, (2, 2, 2)) * [[[1]], [[3]]] / 64).tolist()
        if j in coalition:
            one = two
        for made, near, far in ((rows, one, two), (others, two, one)):
            made.append(np.concatenate([near, np.add(far, 5)]))
    return rows, others


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("more", "client"), crossed([{}, {"n_init": 2}, {"ell": 2}], range(1, 6), together=1), ids=str
)
def test_by_consent_they_see_the_inertia_and_no_sum_of_a_cluster(net_of, more, client):
    rows, others = with_the_same_inertia({client})
    given = JOB | INERTIA | {"comparers": (4, 2, 5)} | more
    seen, again, keys = coupled(net_of, rows, given, {SERVER, client}, others=others)
    assert again == seen
    assert bool(keys) == (client != 4)
    finish = [dict(one[1:]) for one in seen if one[0] == "Finish"]
    assert {one["inertia"] for one in finish} == {finish[0]["inertia"]} != {None}


@pytest.mark.some(1)
@pytest.mark.parametrize("two", list(combinations((4, 2, 5), 2)))
def test_two_comparers_see_more_than_the_inertia(net_of, two):
    rows, others = with_the_same_inertia(set(two))
    given = JOB | INERTIA | {"comparers": (4, 2, 5)}
    seen, again, _ = coupled(net_of, rows, given, set(two), others=others)
    assert again != seen


@pytest.mark.some(1)
@pytest.mark.parametrize("kept", [64, 1000])
@pytest.mark.parametrize("client", [2, 5])
def test_evaluators_that_told_all_bits_would_show_sums_of_clusters(net_of, monkeypatch, client, kept):
    """Other sums with nearly the same inertia have the same first 64 bits and different later bits."""
    rows, others = with_the_same_inertia({client})
    weights = inertia.WeighedSums.__init__

    def unequal(weighed, **given):
        monkeypatch.setattr(inertia, "KEPT", 64)
        weights(weighed, **given)
        monkeypatch.setattr(inertia, "KEPT", kept)
        weighed.weights[0] += 1

    monkeypatch.setattr(inertia.WeighedSums, "__init__", unequal)
    given = JOB | INERTIA | {"comparers": (4, 2, 5)}
    seen, again, _ = coupled(net_of, rows, given, {SERVER, client}, others=others)
    assert (again == seen) == (kept == 64)


def test_a_key_used_for_two_parts_would_be_seen(net_of, part_rows, monkeypatch):
    part_rows(7)
    derive = Keys.key

    def key(ring, purpose, index):
        if purpose == "answers":
            index, ring.used = 0, {}
        return derive(ring, purpose, index)

    monkeypatch.setattr(Keys, "key", key)
    seen, again, _ = coupled(net_of, ROWS, JOB | {"comparers": (4, 2, 5)}, {SERVER, 2})
    assert again != seen
