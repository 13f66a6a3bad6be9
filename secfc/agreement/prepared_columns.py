"""What a job makes of the schema that it names: the columns that are clustered, and what is opened for it."""

from collections.abc import Callable

from secfc.errors import ParameterError
from secfc.params import Job
from secfc.prepare.schema import Schema

Range = tuple[float, float]
"""Least and largest value."""

Fault = Callable[..., ParameterError]
"""Makes the error of a text and the keys that it is about."""


def preparation_of(values: object, fault: Fault) -> Schema | None:
    """The schema of canonical content that somebody sent; None: there is none."""
    if values is None:
        return None
    if not isinstance(values, dict):
        raise fault("prepare: a schema is needed")
    try:
        return Schema.of(values)
    except ParameterError as error:
        raise fault(f"prepare: {error}") from None


def prepared_columns(preparation: Schema, fault: Fault) -> tuple[dict[str, Range], list[Range]]:
    """The columns that are made, and ranges that bound a row: of a category's columns one is 1 at most.

    Raises ParameterError when a range is not known before something is opened, or a name is not printable.
    """
    try:
        ranges = preparation.ranges
    except ParameterError as error:
        raise fault(f"prepare: {error}", "prepare") from None
    columns = {name: ends for column, ends in ranges for name in column.prepared}
    for name in columns:
        if not name.isprintable():
            raise fault(f"prepare: column {name!a}: a name of printable characters is needed", "prepare")
    return columns, [ends for _, ends in ranges]


def opened_by(preparation: Schema | None) -> tuple[str, ...]:
    """Columns whose mean and deviation over all parties a preparation opens."""
    return () if preparation is None else tuple(column.name for column in preparation.opened)


def check_opened(opened: tuple[str, ...], job: Job, fault: Fault) -> None:
    """Raise ParameterError when what is opened would tell what the job hides."""
    if opened and job.ids_cap is not None:
        text = (
            f"prepare: means and deviations of {', '.join(opened)} are opened, and with them how many values "
            "all parties hold, which membership privacy (clustering.ids_cap) hides"
        )
        raise fault(text, "prepare")
