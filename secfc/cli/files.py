"""`secfc run`: files in, a folder of labels and a summary out, whole or not at all."""

import json
import logging
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import secfc
from secfc._run import Driver, run_parties
from secfc.cli.render import console, cost_table, faults_line, our_warnings, threshold_line
from secfc.errors import ParameterError
from secfc.limits import Limits
from secfc.params import Comparison, Disclosure
from secfc.parties import as_parties
from secfc.result import Result
from secfc.sources.query import Origin, Query
from secfc.tables import Table, read_tables, row_ids, write_labels

SUMMARY = "summary.json"


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of `secfc run`; see its help."""

    files: list[Path | Query]
    k: int
    out: Path
    t: int
    ell: int
    columns: tuple[str, ...]
    drop: tuple[str, ...]
    id_column: str | None
    membership: bool
    ids_cap: int | None
    init: str
    n_init: int
    max_iter: int
    precision: int
    bound: float | None
    seed: int | None
    storage: Path | None
    disclosure: Disclosure
    limits: Limits
    driver: Driver
    max_liars: int
    comparison: Comparison
    deadline: float | None
    quiet: bool
    report: Path | None = None
    as_json: bool = False
    log: Path | None = None


def run_files(options: Options) -> None:
    """Run and write the results.

    Raises
    ------
    SecFCError
        `options.out` is then as it was.
    """
    out = options.out
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise ParameterError(f"--out: {out} already holds something; name a new folder")
    if options.membership and options.id_column is None:
        raise ParameterError("--membership: --id must name the column of row IDs")
    if options.ids_cap is not None and not options.membership:
        raise ParameterError("--ids-cap: only with --membership")
    tables = read_tables(
        options.files, columns=options.columns, drop=options.drop, id_column=options.id_column
    )
    if options.report is not None and options.report.exists():
        raise ParameterError(f"--report: {options.report} is there already; name a new file")
    members = [
        replace(member, columns=table.columns)
        for member, table in zip(
            as_parties([table.rows for table in tables], names=[str(table.path) for table in tables]),
            tables,
            strict=True,
        )
    ]
    with our_warnings(), log_file(options.log):
        result = run_parties(
            members,
            k=options.k,
            t=options.t,
            ell=options.ell,
            init=options.init,
            n_init=options.n_init,
            max_iter=options.max_iter,
            precision=options.precision,
            bound=options.bound,
            ids=row_ids(tables) if options.membership else None,
            id_key=None,
            ids_cap=options.ids_cap,
            disclosure=options.disclosure,
            limits=options.limits,
            storage=options.storage,
            driver=options.driver,
            max_liars=options.max_liars,
            comparison=options.comparison,
            deadline=options.deadline,
            seed=options.seed,
            progress=None if options.quiet else "bar",
        )
    summary = _summary(options, tables, result)
    _write(options, tables, result, summary)
    if options.report is not None:
        names, rows = [str(path) for path in options.files], [table.rows for table in tables]
        result.report(options.report, names=names, pooled=rows)
    if options.as_json:
        print(json.dumps(summary, indent=2))
    elif not options.quiet:
        _show(options, result)


def sources(files: Sequence[Path], urls: Sequence[str], queries: Sequence[str]) -> list[Path | Query]:
    """Files, then a query for each --from; one query serves all of them, or each has its own.

    Raises
    ------
    ParameterError
        Neither, queries that do not fit the URLs, or a URL that cannot be used.
    """
    if not files and not urls:
        raise ParameterError("FILES: name a file for each party, or databases with --from and --query")
    if len(queries) not in ({1, len(urls)} if urls else {0}):
        raise ParameterError(f"--query: {len(queries)} queries for {len(urls)} --from")
    asked = list(queries) * (len(urls) if len(queries) == 1 else 1)
    databases = []
    for at, (url, query) in enumerate(zip(urls, asked, strict=True), start=1):
        try:
            origin = Origin.of(url)
        except ParameterError as error:
            raise ParameterError(f"--from: number {at}: {error}") from None
        databases.append(Query(origin=origin, query=query, name=f"database-{at}"))
    return [*files, *databases]


def label_names(paths: Sequence[Path | Query]) -> list[str]:
    """A file name of labels for each input; inputs of one name are told apart by their position."""
    stems = [path.stem for path in paths]
    return [
        f"{stem}.labels.csv" if stems.count(stem) == 1 else f"{stem}-{at}.labels.csv"
        for at, stem in enumerate(stems, start=1)
    ]


def _write(options: Options, tables: list[Table], result: Result, summary: dict[str, Any]) -> None:
    """Write everything to a folder beside `out`, then rename it: a reader sees all or nothing."""
    out = options.out.absolute()
    out.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        names = label_names(options.files)
        for table, name, labels in zip(tables, names, result.labels, strict=True):
            write_labels(draft / name, table, labels)
        text = json.dumps(summary, indent=2)
        (draft / SUMMARY).write_text(text + "\n", encoding="utf-8")
        draft.chmod(0o777 & ~_umask())
        os.replace(draft, out)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


@contextmanager
def log_file(path: Path | None) -> Iterator[None]:
    """Append secfc's log lines to a file."""
    if path is None:
        yield
        return
    try:
        handler = logging.FileHandler(path, encoding="utf-8")
    except OSError as error:
        raise ParameterError(f"--log: {path} cannot be written ({error.strerror})") from None
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logger = logging.getLogger("secfc")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)
        handler.close()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _summary(options: Options, tables: list[Table], result: Result) -> dict[str, Any]:
    job = result.job
    return {
        "run": result.run_id,
        "parameters": asdict(job) | {"seed": options.seed, "driver": options.driver},
        "threshold": {
            "answers_needed": job.threshold,
            "clients": job.n,
            "inequality": f"n >= 2(ell + t) - 1: {job.n} >= 2({job.ell} + {job.t}) - 1 = {job.threshold}",
        },
        "columns": tables[0].columns,
        "parties": [
            {"file": str(table.path), "rows": table.rows.shape[0], "labels": name}
            for table, name in zip(tables, label_names(options.files), strict=True)
        ],
        "result": {
            "n_iter": result.n_iter,
            "converged": result.converged,
            "inertia": result.inertia,
            "sizes": result.sizes.tolist(),
            "history": result.history.tolist(),
            "near_ties": result.near_ties,
            "faults": asdict(result.faults),
        },
        "costs": result.costs.to_dict(),
        "versions": {
            "secfc": secfc.__version__,
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "cryptography", "pyarrow")},
        },
    }


def _show(options: Options, result: Result) -> None:
    out = console()
    out.print(threshold_line(result.job))
    end = "converged" if result.converged else "stopped at max_iter"
    out.print(
        f"{end} after {result.n_iter} iterations, inertia {result.inertia:.6g}, "
        f"cluster sizes {', '.join(map(str, result.sizes.tolist()))}"
    )
    faults_line(out, result.faults, [str(path) for path in options.files])
    out.print(cost_table(result.costs, n=result.job.n))
    out.print(f"{result.costs.wall_seconds:.2f} s in all; results in {options.out}")
