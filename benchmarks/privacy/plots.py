"""The plots of the attacks, each for light and for dark pages, in the style of benchmarks/plots.py."""

from collections.abc import Callable
from typing import Any

from benchmarks.plots import Drawer
from benchmarks.privacy.against_labels import ALONE

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b0559b", "#8c8c8c")
MARKERS = ("o", "s", "^", "D", "x")
FLOOR = 1e-10
"""The end of a logarithmic axis. Smaller errors come from the quantisation of rows."""

Lines = dict[str, tuple[list[float], list[float]]]


def _lines(rows: list[dict[str, Any]], attack: str, label: Callable[[dict[str, Any]], str | None]) -> Lines:
    lines: Lines = {}
    for row in rows:
        name = label(row) if row["attack"] == attack else None
        if name is not None:
            at, success = lines.setdefault(name, ([], []))
            at.append(row["value"])
            success.append(row["success"])
    return lines


def _plot(axis: Any, lines: Lines, *, x: str, title: str, error: bool = False) -> None:
    """Lines of success, or of errors on a logarithmic axis."""
    for (name, (at, success)), colour, marker in zip(lines.items(), COLOURS, MARKERS, strict=False):
        shown = [max(one, FLOOR) for one in success] if error else success
        axis.plot(at, shown, color=colour, marker=marker, label=name)
    axis.set_xlabel(x)
    axis.set_title(title, fontsize=9)
    if error:
        axis.set_yscale("log")
        axis.set_ylim(FLOOR / 3, 5)
        axis.set_ylabel("error of placing the rows")
    else:
        axis.set_ylim(-0.05, 1.05)
    axis.legend(fontsize=8)


def _figure(pyplot: Any, columns: int, *, sharey: bool = False) -> tuple[Any, Any]:
    figure, axes = pyplot.subplots(
        1, columns, figsize=(10 if columns > 1 else 6, 3.4), sharey=sharey, layout="constrained"
    )
    return figure, axes


def _coalitions(pyplot: Any, rows: list[dict[str, Any]]) -> Any:
    figure, axes = _figure(pyplot, 3)
    label = _of_sharing
    _plot(axes[0], _lines(rows, "b-equations", label), x="clients", title="equations without masks, of ell")
    _plot(axes[1], _lines(rows, "b-values", label), x="clients", title="values recovered exactly")
    told = _lines(rows, "a-classifier", lambda row: row["note"].split(";")[0])
    _plot(axes[2], told, x="clients", title="telling two datasets apart (t = 2, ell = 2)")
    axes[2].axhline(0.5, color=COLOURS[4], linestyle=":", linewidth=1)
    for axis in axes:
        axis.xaxis.get_major_locator().set_params(integer=True)
    return figure


def _of_sharing(row: dict[str, Any]) -> str:
    return f"t = {row['t']}, ell = {row['ell']}"


def _distances(pyplot: Any, rows: list[dict[str, Any]]) -> Any:
    figure, axes = _figure(pyplot, 3, sharey=True)

    def by(fixed: str) -> Callable[[dict[str, Any]], str | None]:
        def label(row: dict[str, Any]) -> str | None:
            within = row["value"] <= row["d"] + 4
            return (
                row["note"].split(";")[0].split(", ")[1] if within and row["note"].startswith(fixed) else None
            )

        return label

    _plot(axes[0], _lines(rows, "c-centres", by("k=4")), x="centres seen", title="by d (k = 4)", error=True)
    _plot(axes[1], _lines(rows, "c-centres", by("d=8")), x="centres seen", title="by k (d = 8)", error=True)
    whole = _lines(rows, "c-precision", lambda row: "whole run")
    _plot(axes[2], whole, x="bits of precision", title="by precision (k = 4, d = 8)", error=True)
    for axis in axes[1:]:
        axis.set_ylabel("")
    return figure


def _known_rows(pyplot: Any, rows: list[dict[str, Any]]) -> Any:
    figure, axis = _figure(pyplot, 1)
    lines = _lines(rows, "d-known-rows", lambda row: f"d = {row['d']}")
    _plot(axis, lines, x="rows that the colluding client owns", title="server and one client", error=True)
    return figure


def _limits(pyplot: Any, rows: list[dict[str, Any]]) -> Any:
    figure, axes = _figure(pyplot, 3)
    tiny = _lines(rows, "e-tiny-sets", lambda row: "sets of one row")
    _plot(axes[0], tiny, x="smallest_set", title="asking about single rows", error=True)
    pairs = _lines(rows, "e-differencing", lambda row: "distances to the row")
    _plot(axes[1], pairs, x="rows of S", title="S and S with one more row (smallest_set = 20)")
    rounds = _lines(rows, "e-rounds", lambda row: "an honest run")
    _plot(axes[2], rounds, x="most_rounds", title="capping the rounds (k = 4, d = 8)", error=True)
    return figure


def _segments(pyplot: Any, rows: list[dict[str, Any]]) -> Any:
    modes = list(dict.fromkeys(row["against"] for row in rows if row["attack"] == "f-segments-placed"))
    figure, axes = pyplot.subplots(
        1, len(modes), figsize=(5 * len(modes), 3.4), sharey=True, layout="constrained", squeeze=False
    )
    for axis, mode in zip(axes[0], modes, strict=True):
        lines = _lines(rows, "f-segments-placed", _ell_against(mode))
        _plot(axis, lines, x="centres seen", title=f'disclosure "{mode}", d = 8', error=True)
    return figure


def _ell_against(mode: str) -> Callable[[dict[str, Any]], str | None]:
    return lambda row: f"ell = {row['ell']}" if row["against"] == mode else None


def _uploads(pyplot: Any, rows: list[dict[str, Any]]) -> Any:
    figure, axes = _figure(pyplot, 2)
    label = _method
    disclosed = _lines(rows, "g-disclosed", label)
    _plot(axes[0], disclosed, x="rows of a party", title="rows that the server can read")
    placed = _lines(rows, "g-placed", label)
    _plot(axes[1], placed, x="rows of a party", title="error of the server's best guess")
    axes[1].set_ylim(-0.05, 2.4)
    for axis in axes:
        axis.set_xscale("log", base=2)
    return figure


def _method(row: dict[str, Any]) -> str:
    return str(row["against"])


def _integers(pyplot: Any, rows: list[dict[str, Any]]) -> Any:
    figure, axes = _figure(pyplot, 3, sharey=True)
    for axis, attack, x, title in (
        (axes[0], "c-integers", "columns d", "server, whole runs (k = 4): columns found"),
        (axes[1], "c-integers-rounds", "rounds", "server, by rounds (k = 4, d = 8): columns found"),
        (axes[2], "d-integers", "rows that the client owns", "server and a client (d = 8): values"),
    ):
        _plot(axis, _lines(rows, attack, lambda row: row["adversary"]), x=x, title=title)
        axis.xaxis.get_major_locator().set_params(integer=True)
    return figure


def _opened(pyplot: Any, rows: list[dict[str, Any]]) -> Any:
    figure, axes = _figure(pyplot, 3)
    by_d = _lines(rows, "h-centres", lambda row: f"d = {row['d']}")
    _plot(axes[0], by_d, x="opened centres (k)", title="server and opened centres, by k", error=True)
    reveals = _lines(rows, "h-reveals", lambda row: "k = 4, d = 8")
    _plot(axes[1], reveals, x="runs that opened centres", title="by runs on the same rows", error=True)
    exactly = _lines(rows, "h-integers", lambda row: f"d = {row['d']}")
    _plot(axes[2], exactly, x="opened centres (k)", title="values known exactly, by exact distances")
    for axis in axes:
        axis.xaxis.get_major_locator().set_params(integer=True)
    return figure


def _spreads(pyplot: Any, rows: list[dict[str, Any]]) -> Any:
    figure, axes = _figure(pyplot, 2)
    alone = _lines(rows, "h-alone", lambda row: "error of placing others' rows")
    alone |= _lines(rows, "h-alone-rows", lambda row: "others' rows known exactly")
    _plot(axes[0], alone, x="rows of a party", title="recipient of centres, alone (k = 4, d = 8)")
    axes[0].set_xscale("log", base=2)

    def label(row: dict[str, Any]) -> str | None:
        levels = row["note"].split(";")[0]
        return f"{levels}, {row['adversary'].removeprefix('recipient of ')}" if levels != "2 values" else None

    title = "share of others' values' bits that stay unknown"
    _plot(axes[1], _sorted(_lines(rows, "h-spreads", label)), x="others' rows in the cluster", title=title)
    axes[1].axvline(10, color=COLOURS[4], linestyle=":", linewidth=1)
    return figure


def _sorted(lines: Lines) -> Lines:
    return {name: _by_value(*line) for name, line in lines.items()}


def _by_value(at: list[float], success: list[float]) -> tuple[list[float], list[float]]:
    order = sorted(range(len(at)), key=at.__getitem__)
    return [at[i] for i in order], [success[i] for i in order]


def _predicting(pyplot: Any, rows: list[dict[str, Any]]) -> Any:
    figure, axis = _figure(pyplot, 1)
    lines = _lines(
        rows, "i-centres", lambda row: f"d = {row['d']}, k = {row['k']}, {row['note'].split(';')[0]}"
    )
    _plot(axis, lines, x="new rows predicted, in all", title="centres from predictions", error=True)
    axis.set_ylabel("error of placing the centres")
    return figure


def _views(pyplot: Any, rows: list[dict[str, Any]]) -> Any:
    figure, axes = _figure(pyplot, 2)

    def label(row: dict[str, Any]) -> str | None:
        return _DRAWN.get((row["against"], row["adversary"]))

    _plot(
        axes[0],
        _lines(rows, "k-rounds", label),
        x="rounds",
        title="rows placed from what is disclosed (k = 4, d = 8)",
        error=True,
    )
    axes[0].set_ylim(FLOOR / 3, 50)
    axes[0].lines[0].set(markersize=9, alpha=0.5)  # other lines are drawn over it

    def unseen(row: dict[str, Any]) -> str | None:
        shown = row["against"] == "labels" and row["note"].startswith("max_liars=0")
        return f"d = {row['d']}" if shown else None

    wrong = _lines(rows, "l-rows", unseen)
    title = 'rows read by wrong answers (max_liars = 0, "labels"; others alike)'
    _plot(axes[1], wrong, x="rounds", title=title, error=True)
    for axis in axes:
        axis.xaxis.get_major_locator().set_params(integer=True)
    return figure


_DRAWN = {
    ("coded", "server"): 'server, "coded"',
    ("labels", "server + first evaluator"): 'server and first evaluator, "labels"',
    ("labels", "both evaluators"): 'both evaluators, "labels"',
    (ALONE, ALONE): "labels alone",
}

DRAWERS: dict[str, Drawer] = {
    "views": _views,
    "coalitions": _coalitions,
    "distances": _distances,
    "known-rows": _known_rows,
    "limits": _limits,
    "segments": _segments,
    "uploads": _uploads,
    "integers": _integers,
    "opened": _opened,
    "spreads": _spreads,
    "predicting": _predicting,
}
