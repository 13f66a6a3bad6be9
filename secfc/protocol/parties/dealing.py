"""Deals shares, and proves that they lie on polynomials together with what all other holders got.

A dealer sends every holder a piece, shares of [x] and of zeros <0>, with a proof (`secfc.sharing.proof`),
and tells everybody a digest of the proof and all pieces. Coefficients follow from the root of a hash tree of
all pieces, of the dealer, the step and all that was opened before (`seed_of`), so no tries are made ahead.
Opens nothing. What dealers that may be lost tell all passes through the coordinator, so one that lies cannot
tell parties different things. Who refuses pieces says so. Of what evaluators deal both tell all digests, so
all who go on have the same. Another dealer that tells parties different digests is found in the next step,
because all parties note what they got (`secfc.protocol.parties.inbox`).
"""

import hashlib
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from secfc.crypto.hash_tree import DIGEST_BYTES, depth_of, root_of, tree_of
from secfc.errors import CheatError, MessageError, PartyError
from secfc.errors.codes import Code
from secfc.field.array_types import Data, Floats
from secfc.field.packing import BYTES_PER_RESIDUE, from_bytes, size_of, to_bytes
from secfc.field.residues import reduce
from secfc.kernels.interface import Bytes
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.party import COORDINATOR, Half, Party
from secfc.sharing.proof import COVERS, agrees, coefficients, sums, with_covers
from secfc.sharing.shared import Shared

_LABEL = b"secfc dealing 3"
SALT = 32
"""Random bytes of each piece. Without them a digest of another's piece would confirm a guess of what is
shared, because t shares, the proof and the guess determine that piece."""


@dataclass(frozen=True, kw_only=True)
class Dealt:
    """A holder's shares from one dealer: [x], shape (P, shared), and <0>, shape (P, zeros)."""

    shared: Floats = field(repr=False)
    zeros: Floats = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Dealings:
    """What dealers that may be lost, or lie, have dealt.

    `kept` are those that have dealt. `refused` are pairs of a dealer and a holder that says that its shares
    are wrong, or were not sent; everybody is told the same.
    """

    shares: dict[int, Dealt] = field(repr=False)  # by dealer, at a holder that got right ones
    kept: tuple[int, ...]
    refused: frozenset[tuple[int, int]]


@dataclass(frozen=True, kw_only=True)
class _Task:
    """Who deals how many [x], how many <0> each of them deals, and whether dealers may be lost."""

    sizes: Mapping[int, int]
    zeros: int
    may_be_lost: bool

    @property
    def dealers(self) -> tuple[int, ...]:
        return tuple(self.sizes)

    def longest(self, dealer: int) -> int:
        """Most values of a kind that a dealer deals."""
        return max(self.sizes[dealer], self.zeros)

    def is_of_evaluators(self, me: Party) -> bool:
        """Whether the evaluators deal."""
        return not self.may_be_lost and self.dealers == me.roles.evaluators

    def roots(self, me: Party) -> Generator[Wait, dict[int, Data], dict[int, bytes]]:
        """The digest of each dealer that is left. The coordinator passes them on if some may be lost.

        Of what evaluators deal both tell the digests of both. CheatError if they differ.
        """
        if self.is_of_evaluators(me):
            first, second = (yield Wait("roots", self.dealers, DIGEST_BYTES * len(self.dealers))).values()
            if first != second:
                text = "the evaluators told different digests of what they dealt"
                raise CheatError(text, code=Code.BAD_MESSAGE)
            return {
                one: bytes(first[DIGEST_BYTES * at :][:DIGEST_BYTES]) for at, one in enumerate(self.dealers)
            }
        if not self.may_be_lost:
            told = yield Wait("root", self.dealers, DIGEST_BYTES)
            return {dealer: bytes(root) for dealer, root in told.items()}
        bits = -(-len(self.sizes) // 8)
        told = yield Wait("roots", (COORDINATOR,), bits + DIGEST_BYTES * len(self.sizes))
        data = told[COORDINATOR]
        left = np.unpackbits(np.frombuffer(data, dtype=np.uint8), count=len(self.sizes))
        starts = range(bits, len(data), DIGEST_BYTES)
        every = zip(self.dealers, left, starts, strict=True)
        return {dealer: bytes(data[at : at + DIGEST_BYTES]) for dealer, one, at in every if one}


@dataclass(frozen=True)
class _Layout:
    """Where the parts of a piece end, in bytes: path, proof, shares of [x], shares of <0>, a salt.

    Each kind of shares has covers after it, but without zeros there are none of <0>.
    """

    path: int
    proof: int
    shared: int
    zeros: int
    end: int

    @classmethod
    def of(cls, me: Party, shared: int, zeros: int) -> "_Layout":
        code, of_zeros = me.code, COVERS if zeros else 0
        proof = code.narrow * COVERS + (code.wide - code.ell) * of_zeros
        counts = proof, shared + COVERS, zeros + of_zeros
        sizes = [DIGEST_BYTES * depth_of(code.n), *(size_of(count, code.primes) for count in counts), SALT]
        return cls(*np.cumsum(sizes).tolist())


def dealt(
    me: Party, sizes: Mapping[int, int], segments: Floats | None, *, zeros: int = 0
) -> Generator[None, None, dict[int, Dealt]]:
    """What each dealer dealt, at holders. `sizes` say how many values, by dealer.

    A dealer gives the segments of x, shape (P, ell, size).
    """
    dealings = yield from _dealings(me, _Task(sizes=sizes, zeros=zeros, may_be_lost=False), segments)
    return dealings.shares


def dealt_by_owners(
    me: Party, sizes: Mapping[int, int], segments: Floats | None, *, zeros: int = 0
) -> Generator[None, None, Dealings]:
    """The same of dealers that may be lost. The coordinator says which of them are left.

    With `max_liars` a holder says what it refuses, and otherwise ends the run with a `CheatError`. A holder
    that was lost when this was to be told cannot go on: PartyError.
    """
    return (yield from _dealings(me, _Task(sizes=sizes, zeros=zeros, may_be_lost=True), segments))


def combined(me: Party, label: bytes, numbers: Shared) -> Shared:
    """`COVERS` public combinations of [x], shape (size,), modulo the first prime: shape (1, COVERS).

    Coefficients follow from a hash of the label and of all that was opened, so also of all that was dealt. If
    x is not 0, all combinations are 0 with the probability of a wrong share that stays unnoticed.
    """
    first = numbers.modulo_first()
    if first.residues is None:
        return Shared(first.primes, (1, COVERS), None)
    seed = hashlib.sha256(b"secfc combined 1" + me.transcript + label).digest()
    moduli = me.code.first_prime().moduli
    factors, covers = coefficients(seed, numbers.size, moduli), np.zeros((1, 1, COVERS))
    values = np.concatenate([first.residues.reshape(1, 1, -1), covers], axis=2)
    return Shared(first.primes, (1, COVERS), sums(values, factors, moduli))


def _dealings(me: Party, task: _Task, segments: Floats | None) -> Generator[None, None, Dealings]:
    halves = [_witness(me, task), _party(me, task, segments)]
    if task.may_be_lost and me.number == COORDINATOR:
        halves += [_teller(me, task), _refusals(me, task)]
    if task.is_of_evaluators(me) and me.evaluates:
        halves.append(_evaluator(me, task))
    (kept, refused), shares, *_ = yield from me.together(halves)
    if me.holds and task.may_be_lost:
        mine = {(dealer, me.number) for dealer in kept if dealer not in shares}
        told = {pair for pair in refused if pair[1] == me.number}
        if mine and not told:  # others take its shares for right ones
            raise PartyError(f"the server did not wait for what party {me.number} refuses")
        if mine != told:
            text = f"the server told others what party {me.number} refuses, and it refuses something else"
            raise CheatError(text, code=Code.BAD_MESSAGE)
    return Dealings(shares=shares, kept=kept, refused=refused)


def most_told_bytes(n: int) -> int:
    """Most bytes of what the coordinator passes on, where holders deal."""
    return n * (DIGEST_BYTES + n)


def most_piece_bytes(n: int, primes: int, values: int) -> int:
    """Most bytes of a piece with so many [x] and as many <0>."""
    return DIGEST_BYTES * depth_of(n) + BYTES_PER_RESIDUE * primes * 2 * (values + COVERS + COVERS * n) + SALT


def added(me: Party, parts: list[Floats], size: int) -> Shared:
    """What several dealers dealt, shape (size,), added up; no parts at a party that holds no shares."""
    total = reduce(sum(parts[1:], parts[0]), me.code.moduli[..., 0]) if parts else None
    return Shared(me.code.primes, (size,), total)


def _party(me: Party, task: _Task, segments: Floats | None) -> Half:
    """Deal, if it is a dealer. Return the right shares of each dealer, if it is a holder."""
    own = None if segments is None else _deal(me, task, segments)
    if not me.holds:
        return {}
    roots, found = (yield from task.roots(me)), dict[int, Dealt]()
    for dealer, root in roots.items():
        if own is not None and dealer == me.number:
            is_of_root, shares = own[0] == root, own[1]
        else:
            layout = _Layout.of(me, task.sizes[dealer], task.zeros)
            may_be_lost = task.may_be_lost
            came = yield Wait("piece", (dealer,), layout.end, unless_lost=may_be_lost, alone=may_be_lost)
            if not came and not me.max_liars:
                continue
            every_piece = _every_piece(me, layout, came[dealer]) if came else b""
            is_of_root = bool(came) and _root(layout, every_piece, came[dealer]) == root
            shares = _checked(me, task, dealer, every_piece, came[dealer]) if is_of_root else None
        if is_of_root and shares is not None:
            found[dealer] = shares
        elif not task.may_be_lost or not me.max_liars:
            raise _no_polynomial(dealer, may_be_told_falsely=task.may_be_lost and not is_of_root)
    if task.may_be_lost:
        refused = roots.keys() - found.keys()
        me.send(COORDINATOR, "refused", np.packbits([j in refused for j in me.roles.holders]).tobytes())
    return found


def _deal(me: Party, task: _Task, segments: Floats) -> tuple[bytes, Dealt | None]:
    """Deal. Return the digest that everybody is told, and a holder's own shares."""
    code, layout = me.code, _Layout.of(me, segments.shape[2], task.zeros)
    pieces, shape = np.empty((code.n, layout.end), dtype=np.uint8), (code.n, len(code.primes), -1)
    every = [with_covers(code, segments, me.masks)]
    code.deal(every[0], me.kernels, pieces[:, layout.proof : layout.shared].reshape(shape))
    if task.zeros:
        every.append(me.uniform(code.wide - code.ell, task.zeros + COVERS))
        code.deal_zeros(every[1], me.kernels, pieces[:, layout.shared : layout.zeros].reshape(shape))
    salts = me.masks.octets(SALT * code.n)
    pieces[:, layout.zeros :] = np.frombuffer(salts, np.uint8).reshape(code.n, SALT)
    threads, size = me.kernels.threads, pieces.size // BYTES_PER_RESIDUE
    every_piece, paths = tree_of(threads.each(_digest, [one[layout.proof :] for one in pieces], size=size))
    factors = coefficients(seed_of(me, _LABEL, me.number, every_piece), task.longest(me.number), code.moduli)
    proofs = b"".join(to_bytes(sums(one, factors, code.moduli), code.primes) for one in every)
    pieces[:, : layout.path] = np.frombuffer(b"".join(paths), np.uint8).reshape(code.n, -1)
    pieces[:, layout.path : layout.proof] = np.frombuffer(proofs, np.uint8)
    for holder, piece in zip(me.roles.holders, pieces, strict=True):
        if holder != me.number:
            me.send(holder, "piece", piece.data)
    root = hashlib.sha256(every_piece + proofs).digest()
    if task.may_be_lost:  # the coordinator passes it on, so nobody is told anything else
        me.send(COORDINATOR, "root", root)
    elif task.is_of_evaluators(me):
        for evaluator in task.dealers:
            me.send(evaluator, "root", root)
    else:
        me.tell("root", root)
    own = _shares(me, pieces[me.number - 1], layout) if me.holds else None
    return root, None if own is None else _without_covers(own)


def _digest(octets: Bytes) -> bytes:
    return hashlib.sha256(octets.data).digest()


def _no_polynomial(dealer: int, *, may_be_told_falsely: bool) -> CheatError:
    """Names the dealer, but where the coordinator that passes digests on may have changed its digest."""
    text = f"party {dealer} dealt shares that lie on no polynomial of their degree"
    if may_be_told_falsely:
        text = f"{text}, or the server told another digest of them"
        return CheatError(text, code=Code.BAD_MESSAGE)
    return CheatError(text, code=Code.BAD_MESSAGE, clients=[dealer])


def _checked(me: Party, task: _Task, dealer: int, every_piece: bytes, data: Data) -> Dealt | None:
    """A holder's shares from another dealer. None if they do not agree with its proof."""
    code, octets = me.code, np.frombuffer(data, dtype=np.uint8)
    layout = _Layout.of(me, task.sizes[dealer], task.zeros)
    shares = _shares(me, octets, layout)
    if shares is None:
        return None
    factors = coefficients(seed_of(me, _LABEL, dealer, every_piece), task.longest(dealer), code.moduli)
    try:
        said = _proofs(me, octets[layout.path : layout.proof])
    except MessageError:
        return None
    for zeros, (one, of_one) in enumerate(zip(shares, said, strict=True)):
        if not agrees(code, me.number, one, of_one, factors, zeros=bool(zeros)):
            return None
    return _without_covers(shares)


def _every_piece(me: Party, layout: _Layout, data: Data) -> bytes:
    """The digest of all pieces with which a holder's piece agrees."""
    own = hashlib.sha256(data[layout.proof :]).digest()
    return root_of(own, me.number - 1, bytes(data[: layout.path]))


def _root(layout: _Layout, every_piece: bytes, data: Data) -> bytes:
    """The digest of all pieces and the proof, which everybody is told."""
    return hashlib.sha256(every_piece + data[layout.path : layout.proof]).digest()


def _planes(me: Party, octets: Bytes, layout: _Layout) -> list[Bytes]:
    """The shares of [x] and, if there are any, of <0> in a piece, packed, with covers."""
    ends = pairwise((layout.proof, layout.shared, layout.zeros))
    return [octets[a:b].reshape(len(me.code.primes), -1) for a, b in ends if a < b]


def _shares(me: Party, octets: Bytes, layout: _Layout) -> list[Floats] | None:
    """The same, centred. None if some are no residues."""
    every = [me.kernels.residues(planes, me.code.primes) for planes in _planes(me, octets, layout)]
    found = [one for one in every if one is not None]
    return found if len(found) == len(every) else None


def _without_covers(shares: list[Floats]) -> Dealt:
    shared, *zeros = (one[:, :-COVERS] for one in shares)
    return Dealt(shared=shared, zeros=zeros[0] if zeros else shared[:, :0])


def _proofs(me: Party, octets: Bytes) -> list[Floats]:
    """The polynomials of [x] and, if there are any, of <0>: segments and masks, shape (P, values, COVERS)."""
    code, found, at = me.code, list[Floats](), 0
    for values in (code.narrow, code.wide - code.ell):
        size = size_of(values * COVERS, code.primes)
        if at < octets.size:
            found.append(from_bytes(octets[at : at + size].data, (values, COVERS), code.primes))
        at += size
    return found


def _teller(me: Party, task: _Task) -> Half:
    """Pass on what dealers tell everybody, but for those that are lost."""
    told = yield Wait("root", task.dealers, DIGEST_BYTES, unless_lost=True)
    left = np.packbits([dealer in told for dealer in task.dealers]).tobytes()
    me.tell("roots", left + b"".join(told.get(dealer, bytes(DIGEST_BYTES)) for dealer in task.dealers))


def _evaluator(me: Party, task: _Task) -> Half:
    """Tell what both evaluators have dealt.

    Holders multiply it, and send the product in the next step. With other shares at some of them the mask of
    the product could be taken off (`reduction`), before anybody notes that digests differ.
    """
    told = yield Wait("root", task.dealers, DIGEST_BYTES)
    me.tell("roots", b"".join(told[dealer] for dealer in task.dealers))


def _refusals(me: Party, task: _Task) -> Half:
    """Say who refuses whose pieces."""
    yield from task.roots(me)
    size = -(-me.code.n // 8)
    refused = yield Wait("refused", tuple(me.roles.holders), size, unless_lost=True)
    me.tell("refusals", b"".join(refused.get(j, bytes(size)) for j in me.roles.holders))


def _witness(me: Party, task: _Task) -> Half:
    """The dealers that have dealt, and what holders refuse. Everybody notes the same.

    Where nobody lies, who is refused by some was lost before all pieces were sent, and has not dealt.
    """
    roots = yield from task.roots(me)
    for dealer, root in roots.items():
        me.note(dealer.to_bytes(2) + root)
    refused = frozenset[tuple[int, int]]()
    if task.may_be_lost:
        size = -(-me.code.n // 8)
        table = (yield Wait("refusals", (COORDINATOR,), size * me.code.n))[COORDINATOR]
        me.note(bytes(table))
        rows = np.frombuffer(table, dtype=np.uint8).reshape(me.code.n, size)
        said = np.argwhere(np.unpackbits(rows, axis=1, count=me.code.n)) + 1
        refused = frozenset((j, holder) for holder, j in said.tolist() if j in roots)
    if me.max_liars:
        return tuple(roots), refused
    return tuple(roots.keys() - {dealer for dealer, _ in refused}), frozenset()


def seed_of(me: Party, label: bytes, dealer: int, pieces: bytes) -> bytes:
    """The seed of a dealer's coefficients. All else that it depends on was fixed before the present step."""
    place = me.seen + me.step.to_bytes(4) + dealer.to_bytes(2)
    return hashlib.sha256(label + place + pieces).digest()
