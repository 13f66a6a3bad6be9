"""Whose deposits count: those that all members of a committee hold alike."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from secfc.sharing.deposits import Call, digest_of


@dataclass(frozen=True, kw_only=True)
class Complete:
    """What all members hold alike: rows of each owner, 0 of one that is left out, with the reason."""

    owners: tuple[int, ...]
    deposits: str  # digest, in hexadecimal
    said: Mapping[int, bytes] = field(repr=False)  # digest of each owner's that is in
    left_out: dict[int, str]


def complete(
    call: Call,
    held: Mapping[int, Mapping[int, tuple[int, bytes]]],
    refused: Mapping[int, Mapping[int, str]],
    disputed: Mapping[int, str] | None = None,
) -> Complete:
    """Whose deposits all members hold; an owner whose deposit one lacks is left out as a whole.

    `held` and `refused` are of each member, as `Intake` has them. `disputed` owners are left out too, for the
    reasons given.
    """
    everywhere = Counter(owner for own in held.values() for owner in own)
    left_out = dict(disputed or {})
    for member, of_member in refused.items():
        for owner, reason in of_member.items():
            left_out.setdefault(owner, f"member {member}: {reason}")
    for owner, count in everywhere.items():
        if count < len(held):
            lacking = next(member for member, own in held.items() if owner not in own)
            left_out.setdefault(owner, f"member {lacking} has no deposit of it")
        elif len({own[owner] for own in held.values()}) > 1:
            left_out.setdefault(owner, "members have different deposits of it")
    own = next(iter(held.values()))
    numbers = range(1, len(call.keys) + 1)
    kept = {owner: own[owner] for owner in numbers if owner in own and owner not in left_out}
    said = {owner: digest for owner, (_, digest) in kept.items()}
    return Complete(
        owners=tuple(kept[owner][0] if owner in kept else 0 for owner in numbers),
        deposits=digest_of(said),
        said=said,
        left_out=dict(sorted(left_out.items())),
    )
