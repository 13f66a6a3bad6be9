"""The inputs of a command: files and queries, the names of their parties, and their rows."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from secfc.cli.command_options import ClusteringFiles, names_of
from secfc.cli.render import error_console, our_warnings
from secfc.errors import ParameterError
from secfc.tables.parties import Party, as_parties
from secfc.tables.reading import Table, party_names, read_tables
from secfc.tables.site_rows import given_input
from secfc.tables.sources.own_form import Input
from secfc.tables.sources.query import Origin, Query
from secfc.tables.sources.text_format import TextFormat


def sources(
    files: Sequence[Path], urls: Sequence[str], queries: Sequence[str], given: TextFormat
) -> list[Input]:
    """Files and site files, then a query for each --from. One query is for all, or each has its own."""
    for at, file in enumerate(files):
        if any(_same(file, other) for other in files[:at]):
            raise ParameterError(f"FILES: {file} is given twice, each party needs its own file")
    if not files and not urls:
        raise ParameterError("FILES: name a file for each party, or databases with --from and --query")
    if len(queries) not in ({1, len(urls)} if urls else {0}):
        raise ParameterError(
            f"--query: one for each --from is needed, or one for all; {len(queries)} for {len(urls)} --from "
            "were given"
        )
    asked = list(queries) * (len(urls) if len(queries) == 1 else 1)
    databases = []
    for at, (url, query) in enumerate(zip(urls, asked, strict=True), start=1):
        try:
            origin = Origin.of(url)
        except ParameterError as error:
            raise ParameterError(f"--from: number {at}: {error}") from None
        databases.append(Query(origin=origin, query=query, name=f"database-{at}", given=given))
    return [*(given_input(file, given) for file in files), *databases]


def tables_of(
    files: Sequence[Input],
    options: ClusteringFiles,
    *,
    weight_column: str | None = None,
    describe: Sequence[str] = (),
) -> list[Table]:
    """The tables of a command's files; warns about columns left out and reports unusual file formats."""
    preparation = options.preparation
    columns = names_of(options.columns) if preparation is None else preparation.names
    drop = names_of(options.drop)
    with our_warnings():
        tables = read_tables(
            files,
            columns=columns,
            drop=drop,
            id_column=options.id_column,
            weight_column=weight_column,
            describe=describe,
        )
    say_how_written(tables, quiet=options.quiet)
    return tables


def say_how_written(tables: Sequence[Table], *, quiet: bool) -> None:
    """Print to standard error the detected format of text files whose format is unusual."""
    for table in tables if not quiet else ():
        if table.written:
            error_console().print(f"{table.path}: {table.written}", soft_wrap=True)


def _same(one: Path, other: Path) -> bool:
    """Whether both paths are the same file; for files that cannot be found, whether the paths are equal."""
    try:
        return one.samefile(other)
    except OSError:
        return one == other


def label_names(paths: Sequence[Input]) -> list[str]:
    """The name of the label file for each input."""
    return [f"{name}.labels.csv" for name in party_names(paths)]


def members_of(tables: Sequence[Table]) -> list[Party]:
    """The parties of the tables, named after their files; queries of the same file are numbered."""
    paths = [str(table.path) for table in tables]
    names = [path if paths.count(path) == 1 else f"{path} ({at})" for at, path in enumerate(paths, start=1)]
    parties = as_parties([table.rows for table in tables], names=names)
    return [replace(party, columns=table.columns) for party, table in zip(parties, tables, strict=True)]
