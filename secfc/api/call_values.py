"""Arguments of calls that stand for several options of the flat record (`secfc.api.options`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from secfc.api.options import OfData, Recipients, RevealOptions
from secfc.errors import ParameterError
from secfc.protocol.job.described import documented
from secfc.protocol.job.options import AgreedClustering, again, option, options_of


@documented
@dataclass(frozen=True, kw_only=True)
class Reveal:
    """What is opened at the end, and to whom.

    Parameters
    ----------
    **options
        Every party must consent by its `limits`.
    """

    centres: Recipients = again(RevealOptions, "reveal_centres")
    spread: bool = again(RevealOptions, "reveal_spread")
    inertia: bool = again(AgreedClustering, "reveal_inertia")
    epsilon: float | None = again(RevealOptions, "centres_epsilon")
    delta: float | None = again(RevealOptions, "centres_delta")


@documented
@dataclass(frozen=True, eq=False)
class Membership:
    """Row IDs, the key that hashes them, and a bound on their number. Its repr shows neither IDs nor key.

    Parameters
    ----------
    ids : sequence of one sequence of row IDs per party, or dict of them by name
        As for `secfc.run`.
    **options
        As in a job.
    """

    ids: Sequence[Any] | Mapping[str, Any] = field(repr=False)
    key: bytes | None = field(default=None, repr=False, metadata={"option": options_of(OfData)["id_key"][1]})
    cap: int | None = again(AgreedClustering, "ids_cap")


Ids = Sequence[Any] | Mapping[str, Any] | Membership | None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Revealing:
    """The option of calls for what is opened."""

    reveal: Reveal | None = option(
        None,
        "Reveal, optional",
        "What is opened at the end, and to whom. Every party must consent by its `limits`. By default "
        "nothing is opened besides the labels.",
    )


FLAT: dict[str, dict[str, str]] = {
    "reveal": {
        "centres": "reveal_centres",
        "spread": "reveal_spread",
        "inertia": "reveal_inertia",
        "epsilon": "centres_epsilon",
        "delta": "centres_delta",
    },
    "ids": {"key": "id_key", "cap": "ids_cap"},
}
"""The options that each argument of calls stands for, by its fields."""


def opened(reveal: Reveal | None) -> dict[str, Any]:
    """The options of the flat record that `reveal` stands for."""
    if reveal is None:
        return {}
    if not isinstance(reveal, Reveal):
        raise ParameterError(f"reveal: a secfc.Reveal is needed, {type(reveal).__name__} was given")
    return {name: getattr(reveal, own) for own, name in FLAT["reveal"].items()}


def opened_of_choice(reveal: Reveal | None) -> dict[str, Any]:
    """The same for `choose_k`, which opens nothing but the inertia."""
    found = opened(reveal)
    flat = FLAT["reveal"].items()
    others = [own for own, name in flat if own != "inertia" and found.get(name) is not getattr(Reveal, own)]
    if found and others:
        raise ParameterError(f"reveal: choose_k opens only the inertia, {', '.join(others)} was given")
    return {name: value for name, value in found.items() if name == "reveal_inertia"}


def of_ids(ids: Ids) -> dict[str, Any]:
    """The options of the flat record that `ids` stands for."""
    if not isinstance(ids, Membership):
        return {"ids": ids}
    if ids.ids is None:
        raise ParameterError("ids: a secfc.Membership needs the IDs of every party, None was given")
    return {"ids": ids.ids} | {name: getattr(ids, own) for own, name in FLAT["ids"].items()}
