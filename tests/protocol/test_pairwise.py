"""Masks that cancel: the graph, the sum, the view of a server with colluders, and the protocol."""

from collections import Counter
from dataclasses import replace
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scipy.stats import binom

from benchmarks.privacy.coded import per_segment, segment_distances, true_segment_distances
from benchmarks.privacy.measure import blobs
from benchmarks.privacy.view import watch
from secfc.errors import MessageError, SecFCError
from secfc.field.packing import PackedResidues, pack, unpack
from secfc.field.primes import PRIMES
from secfc.kernels.compiled import CompiledKernels
from secfc.kernels.vectorised import VectorisedKernels
from secfc.keystream import draw, keystream, spare_words
from secfc.params import Job
from secfc.protocol.decoding import Weights
from secfc.protocol.disclosure import ServerDistances
from secfc.protocol.gathering import Gathering
from secfc.protocol.messages import SERVER, Assignment, CodedDistances, LeaveOut
from secfc.protocol.pairwise import _BLOCK_BYTES, PairwiseMasks, harary_neighbours
from secfc.protocol.question import question_digest
from secfc.protocol.states import State
from secfc.sealing.channel import Channels
from secfc.threads import Threads

P = PRIMES[0].p
ROWS = [[[0, 0], [1, 0]], [[10, 10], [10, 11], [0, 1]], [[11, 10]]]
KERNELS = [VectorisedKernels(), CompiledKernels()]
each_kernels = pytest.mark.parametrize("kernels", KERNELS, ids=lambda one: one.name)


class Words:
    """A stream of given words of 24 bits."""

    def __init__(self, words):
        self.left = list(words)

    def update_into(self, data, out):
        for at in range(0, len(data), 3):
            out[at : at + 3] = self.left.pop(0).to_bytes(3, "little")


def connected(vertices: set[int], edges: set[frozenset[int]]) -> bool:
    reached, found = set(), {min(vertices)}
    while found:
        reached |= found
        found = {b for a in found for e in edges if a in e for b in e & vertices} - reached
    return reached == vertices


def edges_of(count: int, connectivity: int) -> set[frozenset[int]]:
    neighbours = harary_neighbours(count, connectivity)
    return {frozenset((a, b)) for a in range(count) for b in neighbours[a]}


class TestGraph:
    @pytest.mark.parametrize(("t", "ell"), [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2), (4, 1), (1, 4), (3, 2)])
    def test_no_t_vertices_cut_it(self, t, ell):
        count = 2 * (ell + t) - 1
        edges = edges_of(count, t + 1)
        for colluders in combinations(range(count), t):
            honest = set(range(count)) - set(colluders)
            assert connected(honest, {edge for edge in edges if edge <= honest})

    @pytest.mark.parametrize("count", range(3, 10))
    def test_of_no_number_and_parity_fewer_vertices_cut_it(self, count):
        for connectivity in range(2, count):
            edges = edges_of(count, connectivity)
            for gone in combinations(range(count), connectivity - 1):
                left = set(range(count)) - set(gone)
                assert connected(left, {edge for edge in edges if edge <= left})

    @pytest.mark.parametrize("connectivity", range(2, 9))
    @pytest.mark.parametrize("count", [9, 10, 11, 33])
    def test_it_has_the_fewest_edges_there_are(self, count, connectivity):
        assert len(edges_of(count, connectivity)) == -(-count * connectivity // 2)

    def test_neighbours_are_mutual_and_nobody_is_its_own(self):
        neighbours = harary_neighbours(11, 5)
        for a, others in enumerate(neighbours):
            assert a not in others
            assert all(a in neighbours[b] for b in others)

    @pytest.mark.parametrize("connectivity", [0, 1, 3])
    def test_more_than_all_others_and_what_connects_nothing_are_refused(self, connectivity):
        with pytest.raises(ValueError, match="2 to 2 are possible"):
            harary_neighbours(3, connectivity)


class TestExhaustively:
    """At a tiny prime, with all choices of masks: the view of server and t colluders depends on the sum."""

    @pytest.mark.parametrize(("t", "p"), [(1, 5), (2, 3)])
    def test_answers_are_uniform_given_their_sum_to_the_server_and_any_t_responders(self, t, p):
        count = 2 * (1 + t) - 1
        edges = sorted(map(sorted, edges_of(count, t + 1)))
        answers = [[0] * count, [1, p - 1] + [0] * (count - 2), list(range(count - 1))]
        answers[2].append(-sum(answers[2]) % p)
        for colluders in combinations(range(count), t):
            views = [self.view(answer, edges, set(colluders), p) for answer in answers]
            # Colluders know their own answers, so compare with what hides the others.
            for answer, view in zip(answers, views, strict=True):
                honest = [j for j in range(count) if j not in colluders]
                total = sum(answer[j] for j in honest) % p
                expected = {seen for seen in product(range(p), repeat=len(honest)) if sum(seen) % p == total}
                assert view.keys() == expected
                assert len(set(view.values())) == 1

    @staticmethod
    def view(answer, edges, colluders, p):
        """How often each tuple of honest masked answers is seen, without masks shared with colluders."""
        free = [edge for edge in edges if not colluders & set(edge)]
        seen: Counter[tuple[int, ...]] = Counter()
        for masks in product(range(p), repeat=len(free)):
            masked = list(answer)
            for (a, b), mask in zip(free, masks, strict=True):
                masked[a] += mask
                masked[b] -= mask
            seen[tuple(x % p for j, x in enumerate(masked) if j not in colluders)] += 1
        return seen

    def test_a_cycle_would_be_cut_by_two_colluders(self):
        # Reason for t + 1 connections: on a cycle of five, two colluders isolate a client or a pair.
        edges = sorted(map(sorted, edges_of(5, 2)))
        view = self.view([1, 0, 2, 0, 0], edges, {1, 4}, 3)
        assert {seen[0] for seen in view} == {1}


def channels(me: int, n: int) -> Channels:
    """Channels whose secret both ends have."""
    secrets = {peer: bytes(sorted((me, peer))) * 16 for peer in range(1, n + 1) if peer != me}
    return Channels(secrets=secrets, transcript=bytes(32), me=me)


def masks_of(me, *, n=5, t=2, question=bytes(32), round_=1, primes=(P,), kernels=KERNELS[0]):
    return PairwiseMasks(
        me=me,
        responders=tuple(range(1, n + 1)),
        t=t,
        channels=channels(me, n),
        question=question,
        round_=round_,
        primes=primes,
        kernels=kernels,
    )


def residues_of(rows: int, primes: int = 1) -> PackedResidues:
    residues = PackedResidues.empty((primes, 1, rows))
    residues.planes()[...] = 0
    return residues


def drawn(rows=1000, parts=1, **arguments):
    """Only masks: what is added to zeros, one array for each part."""
    masks = masks_of(1, **arguments)
    found = []
    for _ in range(parts):
        residues = residues_of(rows, len(arguments.get("primes", (P,))))
        masks.add(residues)
        found.append(unpack(residues.planes())[:, 0])
    return found


class TestMasks:
    @each_kernels
    @pytest.mark.parametrize("rows", [1, 17, _BLOCK_BYTES // 3, _BLOCK_BYTES // 3 + 5])
    def test_they_cancel_in_the_sum_of_all_responders(self, kernels, rows):
        total, primes = np.zeros((2, rows)), (P, PRIMES[1].p)
        for me in range(1, 6):
            residues = residues_of(rows, 2)
            masks_of(me, primes=primes, kernels=kernels).add(residues)
            total += unpack(residues.planes())[:, 0]
        assert not (total % np.array(primes)[:, np.newaxis]).any()

    def test_kernels_give_equal_masks(self):
        one, other = (drawn(kernels=kernels)[0] for kernels in KERNELS)
        assert (one == other).all()

    @pytest.mark.parametrize("spare", [1, 2, 7])
    @pytest.mark.parametrize("rows", [1, 60, 2048 + 5])
    def test_they_are_equal_however_they_are_made_where_spare_words_are_too_few(
        self, monkeypatch, spare, rows
    ):
        for module in ("secfc.keystream", "secfc.protocol.pairwise"):
            monkeypatch.setattr(f"{module}.spare_words", lambda count, p: spare)
        monkeypatch.setattr("secfc.threads.LEAST", 16)
        made = [kind(Threads(count)) for kind in map(type, KERNELS) for count in (1, 3)]
        half = 2**23 + 9  # so that half of the words are drawn again
        for me in (1, 3, 5):  # the first adds to the residues, the last subtracts, the other does both
            found = []
            for kernels in made:
                residues = residues_of(rows, 2)
                masks_of(me, primes=(P, half), kernels=kernels).add(residues)
                found.append(bytes(residues.payload))
            assert len(set(found)) == 1
            masks = unpack(np.frombuffer(found[0], dtype=np.uint8).reshape(2, -1))
            assert (masks < [[P], [half]]).all()

    @each_kernels
    def test_they_are_added_to_what_is_there(self, kernels):
        values = np.random.default_rng(0).integers(0, P, (1, 300)).astype(np.float64)
        residues = residues_of(300)
        residues.planes()[0] = pack(values, P)
        masks_of(1, kernels=kernels).add(residues)
        assert (unpack(residues.planes())[0] == (values + drawn(300, kernels=kernels)[0]) % P).all()

    def test_no_mask_repeats_between_rounds_parts_residues_questions_and_clients(self):
        primes = (P, P)  # equal primes, so that equal streams would show
        first, second = drawn(parts=2, primes=primes)
        other_round = drawn(round_=2, primes=primes)[0]
        other_question = drawn(question=b"x" * 32, primes=primes)[0]
        residues = residues_of(1000, 2)
        masks_of(2, primes=primes).add(residues)
        neighbour = unpack(residues.planes())[:, 0]
        seen = [*first, *second, *other_round, *other_question, *neighbour]
        for one, other in combinations(seen, 2):
            assert (one == other).mean() < 0.01

    def test_they_do_not_cancel_among_clients_who_were_asked_different_things(self):
        # If a server gives one client other sets or other responders, it gets a sum of random numbers.
        total = np.zeros(2000)
        for me in range(1, 6):
            residues = residues_of(2000)
            masks_of(me, question=bytes([me == 3]) * 32).add(residues)
            total += unpack(residues.planes())[0, 0]
        counts, _ = np.histogram(total % P, bins=20, range=(0, P))
        assert abs(((counts - 100) ** 2).sum() / 100 - 19) < 6 * (2 * 19) ** 0.5

    def test_runs_have_other_keys(self):
        one = Channels(secrets={2: bytes(32)}, transcript=bytes(32), me=1)[2]
        other = Channels(secrets={2: bytes(32)}, transcript=b"x" * 32, me=1)[2]
        place = {"round_": 1, "part": 0, "question": bytes(32)}
        assert one.mask_key(**place) != other.mask_key(**place)

    def test_both_ends_derive_the_same_key_and_every_place_another(self):
        here, there = channels(1, 2)[2], channels(2, 2)[1]
        places = [
            {"round_": round_, "part": part, "question": bytes([question]) * 32}
            for round_, part, question in product((1, 2), (0, 1), (0, 1))
        ]
        keys = [here.mask_key(**place) for place in places]
        assert keys == [there.mask_key(**place) for place in places]
        assert len(set(keys)) == len(keys)

    @pytest.mark.parametrize("prime", PRIMES, ids=lambda prime: str(prime.p))
    def test_they_are_uniform_below_the_prime(self, prime):
        (masks,) = drawn(60_000, primes=(prime.p,), n=3, t=1)
        assert masks.max() < prime.p
        for counts in (
            np.histogram(masks, bins=128, range=(0, prime.p))[0],
            np.bincount(masks[0].astype(np.int64) % 128, minlength=128),
        ):
            expected = counts.sum() / counts.size
            chi = ((counts - expected) ** 2).sum() / expected
            assert abs(chi - 127) < 6 * (2 * 127) ** 0.5

    @each_kernels
    def test_words_that_are_not_below_the_prime_are_drawn_again(self, kernels):
        # Five words and two spare ones, one of them too large, so that two more have to be drawn.
        stream = Words([1, P, 2, 2**24 - 1, P - 1, P + 1, 7, P, 8])
        row = np.empty(3 * 7, dtype=np.uint8)
        draw(stream, row, 3 * 5, P, kernels)
        assert unpack(row[: 3 * 5]).tolist() == [1, 7, 2, 8, P - 1]
        assert stream.left == []

    def test_spare_words_are_hardly_ever_too_few(self):
        # Exact binomial tail, which is more than a block and its spare words may lack at each prime.
        for prime in PRIMES:
            for count in (1, 1000, _BLOCK_BYTES // 3):
                drawn = count + spare_words(count, prime.p)
                assert binom.sf(drawn - count, drawn, 1 - prime.p / 2**24) < 2.0**-50

    def test_a_keystream_is_aes_in_counter_mode(self):
        # GCM counts from 2 after its 12 bytes of nonce (NIST SP 800-38D, 7.1).
        key = bytes(range(32))
        counter = modes.CTR(bytes(12) + (2).to_bytes(4, "big"))
        expected = Cipher(algorithms.AES256(key), counter).encryptor().update(bytes(1000))
        stream = keystream(key)
        assert stream.update(bytes(300)) + stream.update(bytes(700)) == expected

    def test_they_refuse_to_be_pickled_and_show_nothing(self):
        masks = masks_of(1)
        with pytest.raises(SecFCError, match="cannot be copied"):
            masks.__reduce__()
        assert repr(masks) == "PairwiseMasks(neighbours=3)"

    def test_they_refuse_a_forked_process(self, monkeypatch):
        masks = masks_of(1)
        monkeypatch.setattr("os.getpid", lambda: -1)
        with pytest.raises(SecFCError, match="forked"):
            masks.add(residues_of(1))


class TestDisclosure:
    @pytest.mark.some(2)
    @pytest.mark.parametrize(("n", "t", "ell"), [(3, 1, 1), (5, 2, 1), (7, 2, 2), (9, 1, 2)])
    def test_labels_and_distances_are_those_of_coded(self, n, t, ell):
        runs = [
            watch(blobs(n, 90, 5), k=3, t=t, ell=ell, seed=1, disclosure=mode)
            for mode in ("coded", "distances")
        ]
        for one, other in zip(runs[0].server.distances, runs[1].server.distances, strict=True):
            assert np.array_equal(one, other)
        labels = [[client.labels.tolist() for client in run.clients] for run in runs]
        assert labels[0] == labels[1]

    def test_answers_add_up_to_what_coded_ones_decode_to(self):
        watched = watch(blobs(5, 40, 3), k=2, t=2, ell=1, seed=1, disclosure="distances")
        plain = watch(blobs(5, 40, 3), k=2, t=2, ell=1, seed=1, disclosure="coded")
        weights = Weights(plain.job).of((1, 2, 3, 4, 5))
        masked, coded = watched.server.answers[0], plain.server.answers[0]
        for index in range(masked[1].shape[0]):
            p = PRIMES[index].p
            decoded = sum(int(w) * coded[j][index] for j, w in enumerate(weights[index], 1)) % p
            assert (sum(masked[j][index] for j in masked) % p == decoded).all()

    def test_masked_answers_interpolate_to_nothing(self):
        watched = watch(blobs(7, 200, 8), k=4, t=2, ell=2, seed=1, disclosure="distances")
        assert per_segment(watched).success < 0.12  # 0 plus three deviations of 1,600 pairs
        assert not np.allclose(segment_distances(watched, 0), true_segment_distances(watched, 0), rtol=0.5)

    def test_masked_answers_of_equal_rounds_differ(self):
        sets = np.arange(40, dtype=np.int32) % 2
        watched = watch(blobs(5, 40, 3), k=2, t=2, ell=1, script=[sets, sets], disclosure="distances")
        first, second = watched.server.answers
        for client, answer in first.items():
            assert (answer == second[client]).mean() < 0.01
        assert np.array_equal(*watched.server.distances)

    def test_each_answer_is_uniform_whatever_is_asked(self):
        sets = np.zeros(4000, dtype=np.int32)
        parties = [np.zeros((4000, 1)), np.zeros((0, 1)), np.zeros((0, 1))]
        watched = watch(parties, k=2, t=1, ell=1, script=[sets], disclosure="distances", precision=8)
        for answer in watched.server.answers[0].values():
            for plane, prime in zip(answer, PRIMES, strict=False):
                counts, _ = np.histogram(plane, bins=64, range=(0, prime.p))
                expected = counts.sum() / 64
                assert abs(((counts - expected) ** 2).sum() / expected - 63) < 6 * (2 * 63) ** 0.5

    def test_only_the_responders_answer(self, wire):
        net = wire([*ROWS, np.zeros((0, 2)), np.zeros((0, 2))], disclosure="distances")
        seen = set()
        net.run(
            drop=lambda message: (
                isinstance(message, CodedDistances) and not seen.add(message.sender) and False
            )
        )
        assert seen == {1, 2, 3}
        assert all(client.labels is not None for client in net.clients.values())

    @pytest.mark.parametrize(
        ("responders", "text"),
        [
            ((), "0 responders, 3 different ones"),
            ((1, 2), "2 responders, 3 different ones"),
            ((1, 2, 2), "3 responders, 3 different ones in ascending order"),
            ((2, 1, 3), "3 responders, 3 different ones in ascending order"),
            ((1, 2, 4), "responder 4 is no client"),
            ((0, 1, 2), "responder 0 is no client"),
        ],
    )
    def test_other_responders_than_r_are_refused(self, wire, refuses, responders, text):
        net = wire(ROWS, disclosure="distances")
        question = replace(net.hold(Assignment, recipient=1), responders=responders)
        refuses(net.clients[1], question, MessageError, text)

    def test_responders_are_refused_where_disclosure_is_coded(self, wire, refuses):
        net = wire(ROWS)
        question = replace(net.hold(Assignment, recipient=1), responders=(1, 2, 3))
        refuses(net.clients[1], question, MessageError, "disclosure 'coded' names none")

    def test_an_answer_of_nobody_asked_is_refused(self, wire, refuses):
        net = wire([*ROWS, np.zeros((0, 2)), np.zeros((0, 2))], disclosure="distances")
        answer = net.hold(CodedDistances, recipient=SERVER)
        refuses(net.server, replace(answer, sender=4), MessageError, "client 4 is no responder")

    @pytest.mark.parametrize("other", [4, 5])
    def test_nothing_cancels_among_clients_to_whom_others_were_left_out(self, wire, other):
        # Clients 4 and 5 have one row each: without either, the same sets are of other rows.
        net = wire([*ROWS, [[5, 5]], [[3, 9]]], disclosure="distances")
        net.run(until=lambda: all(client.state is State.ITERATE for client in net.clients.values()))
        sets, total, plain = np.array([0, 1, 0, 1, 0, 1, 0], dtype=np.int32), 0, 0
        for j, client in list(net.clients.items())[:3]:
            said = {"run": net.session.run, "sender": SERVER, "recipient": j}
            out = 4 if j < 3 else other
            client.receive(LeaveOut(**said, client=out))
            asked = Assignment(**said, round=1, sets=sets, responders=(1, 2, 3), left_out=(out,))
            (answer,) = client.receive(net.decode(net.encode(asked)))
            total = total + unpack(answer.residues.planes())
            plain = plain + unpack(client.phase.held.sharing.points.answer(0, 7).planes())
        primes = np.array([prime.p for prime in PRIMES[: len(total)]])[:, np.newaxis, np.newaxis]
        cancelled = (total - plain) % primes == 0
        assert cancelled.all() if other == 4 else not cancelled.any()

    def test_questions_that_differ_have_other_digests(self):
        sets = np.array([0, 1, -1], dtype=np.int32)
        asked = [(sets, (1, 2, 3)), (sets, (1, 2, 4)), (sets[:2], (1, 2, 3)), (sets, ()), (-sets, (1, 2, 3))]
        out = [(sets, (1, 2, 3), {4}), (sets, (1, 2), {3, 4}), (sets, (1, 2, 3), {4, 5})]
        digests = [question_digest(*one, set()) for one in asked] + [question_digest(*one) for one in out]
        digests += [question_digest(sets, (1, 2, 3), set(), asked=about) for about in ((0,), (1,), (0, 1))]
        assert len(set(digests)) == len(digests)
        assert all(a != b for a, b in pairwise(digests))


def test_a_client_that_was_missed_is_named_again_only_when_too_few_others_are_left():
    job = Job(n=5, k=2, t=1, ell=1, d=2, bound=1.0, disclosure="distances")
    gathering, disclosure = Gathering(job), ServerDistances(job)
    named = []
    for change in (set(), {2}, set(), {1}, {4}):
        gathering.absent = change
        gathering.begin(disclosure.responders(gathering))
        named.append(gathering.responders)
    assert named == [(1, 2, 3), (1, 3, 4), (1, 3, 4), (3, 4, 5), (1, 3, 5)]


def test_an_answer_to_a_round_that_was_asked_again_is_dropped_and_its_sender_stays():
    job = Job(n=5, k=2, t=1, ell=1, d=2, bound=1.0, disclosure="distances")
    gathering, disclosure = Gathering(job), ServerDistances(job)
    gathering.begin(disclosure.responders(gathering))
    for gone in (2, 1):
        gathering.absent.add(gone)
        assert disclosure.asks_again(gone, gathering)
        gathering.begin(disclosure.responders(gathering))
    assert gathering.responders == (3, 4, 5)

    def answer(round_, part):
        residues = PackedResidues(shape=(1, 1, 1), payload=bytes(3))
        return CodedDistances(
            run=bytes(16), sender=4, recipient=SERVER, round=round_, part=part, residues=residues
        )

    late = answer(2, 0)  # the first one that client 4 was asked for
    assert not gathering.expects(late)
    gathering.take(late, 2, keep=False)
    with pytest.raises(MessageError, match="part 1 of round 3 from client 4, part 1 of round 2 is next"):
        gathering.expects(answer(3, 1))
    assert gathering.expects(answer(3, 0))
    assert 4 not in gathering.absent
