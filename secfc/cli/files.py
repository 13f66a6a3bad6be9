"""`secfc run`: files in, a folder of labels and a summary out, whole or not at all."""

import json
import os
import platform
import shutil
import tempfile
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import secfc
from secfc._run import Driver, run_parties
from secfc.cli.render import console, cost_table, our_warnings, progress_bar, threshold_line
from secfc.errors import ParameterError
from secfc.params import Comparison
from secfc.parties import as_parties
from secfc.result import Result
from secfc.tables import Table, read_tables, row_ids, write_labels

SUMMARY = "summary.json"


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of `secfc run`; see its help."""

    files: list[Path]
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
    driver: Driver
    max_liars: int
    comparison: Comparison
    deadline: float | None
    quiet: bool


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
    members = as_parties([table.rows for table in tables], names=[str(table.path) for table in tables])
    with our_warnings(), progress_bar(n=len(members), quiet=options.quiet) as progress:
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
            disclosure="coded",
            limits=None,
            storage=options.storage,
            driver=options.driver,
            max_liars=options.max_liars,
            comparison=options.comparison,
            deadline=options.deadline,
            seed=options.seed,
            progress=progress,
        )
    _write(options, tables, result)
    if not options.quiet:
        _show(options, result)


def label_names(paths: list[Path]) -> list[str]:
    """A file name of labels for each input; inputs of one name are told apart by their position."""
    stems = [path.stem for path in paths]
    return [
        f"{stem}.labels.csv" if stems.count(stem) == 1 else f"{stem}-{at}.labels.csv"
        for at, stem in enumerate(stems, start=1)
    ]


def _write(options: Options, tables: list[Table], result: Result) -> None:
    """Write everything to a folder beside `out`, then rename it: a reader sees all or nothing."""
    out = options.out.absolute()
    out.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        names = label_names(options.files)
        for table, name, labels in zip(tables, names, result.labels, strict=True):
            write_labels(draft / name, table, labels)
        text = json.dumps(_summary(options, tables, names, result), indent=2)
        (draft / SUMMARY).write_text(text + "\n", encoding="utf-8")
        draft.chmod(0o777 & ~_umask())
        os.replace(draft, out)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _summary(options: Options, tables: list[Table], names: list[str], result: Result) -> dict[str, Any]:
    job = result.job
    return {
        "parameters": asdict(job) | {"seed": options.seed, "driver": options.driver},
        "threshold": {
            "answers_needed": job.threshold,
            "clients": job.n,
            "inequality": f"n >= 2(ell + t) - 1: {job.n} >= 2({job.ell} + {job.t}) - 1 = {job.threshold}",
        },
        "columns": tables[0].columns,
        "parties": [
            {"file": str(table.path), "rows": table.rows.shape[0], "labels": name}
            for table, name in zip(tables, names, strict=True)
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
    out.print(cost_table(result.costs, n=result.job.n))
    out.print(f"{result.costs.wall_seconds:.2f} s in all; results in {options.out}")
