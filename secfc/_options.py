"""Arguments of `secfc.run` that other calls take too, with its types and defaults.

`secfc.run` writes them out, with what each means. The others have them as ``**options: Unpack[...]``, which
type checkers and editors read, and `taking` gives them the signature that people see in help and notebooks.
"""

import inspect
import os
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Literal, TypedDict, TypeVar, cast

from secfc.drivers.setup import OnProgress
from secfc.limits import Limits
from secfc.params import Comparison, Disclosure, UnionMethod

Driver = Literal["in-process", "multiprocess"]
Recipients = Literal["all"] | Sequence[int] | None
"""Parties, by position, that centres are revealed to."""

Watcher = OnProgress | Literal["bar"] | None
"""How a run is watched: called with each `Progress`, shown as a bar, or not at all."""


class Asking(TypedDict, total=False):
    """Of everything that is asked of parties."""

    precision: int
    bound: float | None
    disclosure: Disclosure
    limits: Limits | Sequence[Limits] | None
    storage: str | os.PathLike[str] | None
    resume: bool | None
    driver: Driver
    max_liars: int
    comparison: Comparison
    deadline: float | None
    progress: Watcher


class Clustering(Asking, total=False):
    """Of clusterings."""

    max_iter: int
    ids: Sequence[Any] | None
    id_key: bytes | None
    ids_cap: int | None
    union: UnionMethod
    count_duplicates: bool
    seed: int | None


Call = TypeVar("Call", bound=Callable[..., Any])


def taking(options: type, *, like: Callable[..., Any]) -> Callable[[Call], Call]:
    """Show ``**options`` as the keywords of a TypedDict, as another call has them, and take no other.

    Parameters
    ----------
    options : type
        The TypedDict.
    like : callable
        Has all its keywords, with types and defaults.
    """

    def shown(call: Call) -> Call:
        signature, theirs = inspect.signature(call), inspect.signature(like).parameters
        *own, _ = signature.parameters.values()
        more = [one for one in theirs.values() if one.name in options.__annotations__]
        assert len(more) == len(options.__annotations__)
        signature = signature.replace(parameters=[*own, *more])

        @wraps(call)
        def checked(*given: Any, **named: Any) -> Any:
            signature.bind(*given, **named)  # a TypeError names what there is not
            return call(*given, **named)

        checked.__signature__ = signature  # type: ignore[attr-defined]
        return cast(Call, checked)

    return shown
