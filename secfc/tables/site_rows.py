"""The table [data] of a site file: a party's rows, and how their form differs from the agreed one."""

from datetime import date
from math import inf
from pathlib import Path
from typing import Annotated

from pydantic import Field

from secfc.errors import ParameterError
from secfc.protocol.job.options import shared
from secfc.tables.column_names import normal
from secfc.tables.sources.csv_file import TEXTS, kind_of
from secfc.tables.sources.own_form import Input, OwnForm, iso_date
from secfc.tables.sources.query import Origin, Query
from secfc.tables.sources.text_format import DecimalMark, Encoding, Separator, TextFormat
from secfc.tables.toml_file import FileSchema, ListOf, TableOf, TomlFile

_A_DATE = date(2000, 12, 31)  # a format that gives it back has year, month and day
_ITS_DAYS_AGAIN = date(2028, 12, 31)  # its year has the same calendar, so only the year is written otherwise


class RowsSchema(FileSchema):
    """A file, a query of a file, or a query of a database. Tables are by agreed column."""

    path: str | None = None
    url: str | None = None
    query: str | None = None
    separator: Separator | None = None
    decimal: DecimalMark | None = None
    encoding: Encoding | None = None
    sheet: str | None = None
    na: ListOf[str] = Field(default=[])
    columns: TableOf[str, str] = Field(default={})
    values: TableOf[str, TableOf[str, str]] = Field(default={})
    dates: TableOf[str, str] = Field(default={})
    factors: TableOf[str, Annotated[float, Field(gt=0, lt=inf)]] = Field(default={})


class _SiteFile(FileSchema):
    """What commands read that are not of an agreed job."""

    data: RowsSchema


def given_input(path: Path, given: TextFormat) -> Input:
    """The rows of a party that a command names: a site file's (.toml), or a file's in a `given` format."""
    if kind_of(path) != ".toml":
        return OwnForm(rows=path, given=given)
    file = TomlFile(path)
    return own_form(file, file.check(_SiteFile).data, path.parent, site=path)


def own_form(file: TomlFile, data: RowsSchema, folder: Path, *, site: Path | None = None) -> OwnForm:
    """The rows that [data] describes. Relative paths are relative to `folder`."""

    def fault(text: str, *keys: str) -> ParameterError:
        return file.error("data", *keys, text=text)

    if (data.path is None) == (data.url is None) or (data.url is not None and data.query is None):
        raise fault("data: either path, or path and query, or url and query, are needed")
    key, place = ("path", data.path) if data.url is None else ("url", data.url)
    if not place:
        raise fault("data: the path of a file is needed", key)
    given = TextFormat(**shared(data, TextFormat))
    kind = "" if key == "url" else kind_of(Path(place))
    for one, value in vars(given).items():
        if value is not None and kind not in TEXTS:
            raise fault(f"data.{one}: only of a text file ({', '.join(TEXTS)})", one)
    if data.sheet is not None and kind != ".xlsx":
        raise fault("data.sheet: only of an .xlsx file", "sheet")
    for name, form in data.dates.items():
        written = _A_DATE.strftime(form)
        # Python will refuse to read a day without a year, and warns of it now. So such a format is not tried.
        if written == _ITS_DAYS_AGAIN.strftime(form) or iso_date(written, form) != str(_A_DATE):
            raise fault(f"data.dates.{name}: a format such as %d.%m.%Y is needed", "dates", name)
    columns = {normal(agreed): normal(own) for agreed, own in data.columns.items()}
    if len(set(columns.values())) < len(columns):
        raise fault("data.columns: two columns are one column here", "columns")
    rows: Path | Query = folder / place
    if data.query is not None:
        try:
            origin = Origin.of(place, folder=folder)
        except ParameterError as error:
            raise fault(f"data.{key}: {error}", key) from None
        if (origin.kind == "file") != (key == "path"):
            raise fault("data: give a file as path, and a database as url", key)
        rows = Query(origin=origin, query=data.query, name="database", given=given)
    return OwnForm(
        rows=rows,
        given=given,
        sheet=data.sheet,
        na=tuple(text.strip() for text in data.na),
        columns=columns,
        values={normal(name): texts for name, texts in data.values.items()},
        dates={normal(name): form for name, form in data.dates.items()},
        factors={normal(name): factor for name, factor in data.factors.items()},
        site=site,
    )
