"""The report of a run as one HTML page that loads nothing, and the table that notebooks show."""

import html
import os
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from secfc.errors import ParameterError
from secfc.kmeans.sets import set_sizes
from secfc.report.charts import bars, curve
from secfc.report.learned import who_learned_what
from secfc.report.pooled import agreement
from secfc.report.sizes import bytes_text

if TYPE_CHECKING:
    from secfc.result import Result


def write_report(
    result: "Result",
    path: str | os.PathLike[str],
    *,
    names: Sequence[str] | None,
    party: int | None,
    pooled: Sequence[Any] | None,
) -> Path:
    """Write the page; see `secfc.Result.report`."""
    target = Path(path)
    page = render(result, names=names, party=party, pooled=pooled)
    try:
        handle, draft = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.absolute().parent)
    except OSError as error:
        raise ParameterError(f"report: {target} cannot be written ({error.strerror})") from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(page)
        Path(draft).chmod(0o644)
        os.replace(draft, target)
    except OSError as error:
        Path(draft).unlink(missing_ok=True)
        raise ParameterError(f"report: {target} cannot be written ({error.strerror})") from None
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
    return target


def render(
    result: "Result",
    *,
    names: Sequence[str] | None = None,
    party: int | None = None,
    pooled: Sequence[Any] | None = None,
) -> str:
    """The page as text."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - only who wants a page pays

    import secfc  # noqa: PLC0415 - it imports what imports this

    job = result.job
    shown = list(names) if names is not None else [f"party {j}" for j in range(1, job.n + 1)]
    if len(shown) != job.n:
        raise ParameterError(f"names: {len(shown)} names of {job.n} parties")
    if party is not None and (isinstance(party, bool) or party not in range(job.n)):
        raise ParameterError(f"party: a number from 0 to {job.n - 1} is needed")
    own = None if party is None else np.asarray(result.labels[party])
    environment = Environment(
        loader=PackageLoader("secfc.report", ""), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return environment.get_template("page.html.j2").render(
        result=result,
        job=job,
        run=result.run_id,
        version=secfc.__version__,
        when=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        names=shown,
        party=party,
        rows=int(result.sizes.sum()),
        sizes=result.sizes.tolist(),
        largest=int(result.sizes.max()),
        own=None if own is None else set_sizes(own, job.k).tolist(),
        learned=who_learned_what(job, rounds=max(m.round for m in result.costs.messages)),
        convergence=curve(result.history.tolist(), x_label="iteration", y_label="inertia"),
        distances=bars(
            result.distance_counts.tolist(),
            result.distance_edges.tolist(),
            x_label="distance, in the data's units",
            y_label="rows",
        ),
        agreement=None if pooled is None else agreement(result, pooled),
        total_bytes=sum(phase.sent_bytes for phase in result.costs.phases),
        bytes_text=bytes_text,
    )


def summary_table(result: "Result") -> str:
    """What a notebook shows of a result."""
    job, end = result.job, "converged" if result.converged else "not converged"
    sizes = ", ".join(map(str, result.sizes.tolist()[:20])) + (", …" if job.k > 20 else "")
    lines = (
        ("parties", f"{job.n}, of which {job.t} may collude; a round needs {job.threshold} answers"),
        ("rows", f"{int(result.sizes.sum())} of {job.d} columns"),
        ("clusters", f"{job.k} of {sizes} rows"),
        ("iterations", f"{result.n_iter}, {end}"),
        ("inertia", f"{result.inertia:.6g}"),
        (
            "costs",
            f"{bytes_text(sum(phase.sent_bytes for phase in result.costs.phases))} in "
            f"{len(result.costs.messages)} messages, {result.costs.wall_seconds:.3g} s",
        ),
        ("run", result.run_id),
    )
    body = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
        for name, text in lines
    )
    return f"<table><caption>secfc: k-means without pooling</caption><tbody>{body}</tbody></table>"
