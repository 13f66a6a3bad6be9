"""How columns were prepared, in words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from secfc.prepare.schema import Column, Schema
from secfc.tables.number_texts import number_text

_SCALES = {
    "none": "not scaled",
    "min-max": "scaled from the range to 0 to 1",
    "standardise": "standardised by mean {centre} and deviation {unit} of all rows",
    "robust": "standardised by median {centre} and interquartile range {unit} of all rows",
}
_MISSING = {
    "mean": "missing values become the mean of all rows",
    "median": "missing values become the median of all rows",
    "zero": "a missing category is 0 in all its columns",
    "mode": "a missing category becomes the most frequent one of all rows {mode}",
    "category": "missing is a category of its own",
}


@dataclass(frozen=True)
class PreparedColumn:
    """What was done with a column, how many values were known, and what each site tells of its own.

    `rule` is `how` without the range and numbers of the column. `known` is None where no statistics were
    opened.
    """

    name: str
    how: str
    rule: str
    known: str | None
    sites: list[str]


def prepared_columns(
    schema: Schema, statistics: Mapping[str, Any], mended: Mapping[str, Mapping[str, Any]]
) -> list[PreparedColumn]:
    """A line for each column of a schema.

    `statistics` are those that were opened, as in `Preparation`; {} where the reader does not know them.
    `mended` has `Checked.mended` of each site that tells it.
    """
    lines = []
    for column in schema.columns:
        told = statistics.get(column.name)
        sites = []
        for site, of_site in mended.items():
            counts = [f"{of_site[what].get(column.name, 0)} {what}" for what in ("missing", "clipped")]
            sites.append(f"{site}: {', '.join(counts)} of {of_site['rows']}")
        known = None if told is None else f"{told.count:,} values of {told.holders} parties"
        how, rule = "; ".join(_steps(column, told)), "; ".join(_steps(column, None)[1:])
        lines.append(PreparedColumn(column.name, how, rule, known, sites))
    return lines


def _steps(column: Column, told: Any) -> list[str]:
    """The agreed values, and what was done with them; with the numbers of statistics that are `told`."""
    if column.categories:
        but = " but the first" if column.drop else ""
        steps = [f"one of {', '.join(column.categories)}", f"a column of 0 and 1 for each category{but}"]
    else:
        low, high = map(column.shown, column.range)
        steps = [f"{low} to {high} {column.unit}".rstrip()]
        steps += ["values beyond the agreed range are moved to its ends"] if column.clip else []
        steps += ["logarithm"] if column.log else []
        steps += [_SCALES[column.scale]]
        if column.deviations is not None:
            steps[-1] += f", at most {column.deviations:g} of these from it"
    if column.missing in _MISSING:
        steps.append(_MISSING[column.missing])
    known = {}
    for name in ("centre", "unit", "mode"):
        value = getattr(told, name, "")
        known[name] = value if isinstance(value, str) else number_text(value, 4)
    return steps[:1] + [" ".join(one.format(**known).split()) for one in steps[1:]]
