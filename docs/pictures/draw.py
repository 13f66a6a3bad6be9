"""Draws the pictures of README.md and docs/ as SVG: `python docs/pictures/draw.py`.

Each stands on a card of its own, so that it can be read on a light page and on a dark one.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from textwrap import wrap

from secfc.protocol.messages import Message
from secfc.protocol.messages.accepted import CLIENT_TAKES, SERVER_TAKES
from secfc.protocol.states import State

STYLE = """
.card { fill: #fff; stroke: #d0d7de; }
.box { fill: #f0f4f8; stroke: #8a97a6; }
.server { fill: #fdf3e3; stroke: #b98530; }
text { font-family: system-ui, -apple-system, "Segoe UI", sans-serif; font-size: 15px; fill: #1b2430; }
.head { font-size: 17px; font-weight: 600; }
.soft { fill: #55606e; font-size: 14px; }
.line { fill: none; stroke: #55606e; stroke-width: 1.6; }
.tip { fill: #55606e; }
.axis { stroke: #aab4bf; }
.curve { fill: none; stroke: #1f6f9f; stroke-width: 2.2; }
.other { fill: none; stroke: #8a97a6; stroke-width: 1.6; stroke-dasharray: 5 5; }
.secret { fill: #1f6f9f; stroke: #1f6f9f; }
.mask { fill: #fff; stroke: #1f6f9f; stroke-width: 2; }
.share { fill: #b5601f; }
@media (prefers-color-scheme: dark) {
  .card { fill: #14191f; stroke: #2c3540; }
  .box { fill: #1f2832; stroke: #64717f; }
  .server { fill: #33291a; stroke: #b98530; }
  text { fill: #e6eaef; }
  .soft { fill: #a3afbc; }
  .line { stroke: #a3afbc; }
  .tip { fill: #a3afbc; }
  .axis { stroke: #46525f; }
  .curve { stroke: #6cb7e4; }
  .other { stroke: #7d8a97; }
  .secret { fill: #6cb7e4; stroke: #6cb7e4; }
  .mask { fill: #14191f; stroke: #6cb7e4; }
  .share { fill: #f0a868; }
}
"""

Curve = Callable[[float], float]


def text(x: float, y: float, words: str, *, kind: str = "", anchor: str = "start") -> str:
    """A line of text."""
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:g}" y="{y:g}" text-anchor="{anchor}">{words}</text>'


def box(x: float, y: float, width: float, height: float, *lines: str, kind: str = "box") -> str:
    """A box with lines of text in its middle, the first in bold."""
    shape = f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="8"/>'
    top = y + height / 2 + 5 - 10 * (len(lines) - 1)
    middle = x + width / 2
    return shape + "".join(
        text(middle, top + 20 * at, line, kind="soft" if at else "head", anchor="middle")
        for at, line in enumerate(lines)
    )


def arrow(x1: float, y1: float, x2: float, y2: float, *, both: bool = False) -> str:
    """A straight arrow."""
    start = ' marker-start="url(#tip)"' if both else ""
    return (
        f'<line class="line" x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"{start} marker-end="url(#tip)"/>'
    )


def dot(x: float, y: float, kind: str) -> str:
    """A point of a curve."""
    return f'<circle class="{kind}" cx="{x:g}" cy="{y:g}" r="6"/>'


def picture(width: int, height: int, title: str, description: str, *parts: str) -> str:
    """A whole SVG file."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-labelledby="title desc">\n'
        f'<title id="title">{title}</title>\n<desc id="desc">{description}</desc>\n'
        f"<style>{STYLE}</style>\n"
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
        'orient="auto-start-reverse"><path class="tip" d="M0 0L10 5L0 10z"/></marker></defs>\n'
        f'<rect class="card" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="12"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def overview() -> str:
    """What happens once and what happens in every round; narrow, so that a telephone shows it."""
    return picture(
        640,
        500,
        "How secfc clusters rows that may not be pooled",
        "Once, every client sends every other client one sealed share of each of its rows. In every round "
        "the clients send masked answers to three that compare, and these send back shares of the new "
        "labels, which nobody sees. With disclosure coded nobody compares, "
        "and the server decodes exact distances. At the end every client has the labels that pooling would "
        "have given.",
        text(24, 36, "1  Once: rows become shares", kind="head"),
        box(24, 54, 150, 56, "north", "its rows stay here"),
        box(245, 54, 150, 56, "south", "its rows stay here"),
        box(466, 54, 150, 56, "west", "its rows stay here"),
        arrow(180, 82, 239, 82, both=True),
        arrow(401, 82, 460, 82, both=True),
        '<polyline class="line" points="99,116 99,134 541,134 541,116" marker-start="url(#tip)" '
        'marker-end="url(#tip)"/>',
        text(320, 128, "sealed shares", kind="soft", anchor="middle"),
        text(24, 162, "A share is one value of a random polynomial:", kind="soft"),
        text(24, 182, "shares of t clients tell nothing.", kind="soft"),
        '<line class="axis" x1="24" y1="202" x2="616" y2="202"/>',
        text(24, 234, "2  Every round, until nothing moves", kind="head"),
        box(24, 252, 160, 84, "clients", "shares of all rows", "and of their labels"),
        box(412, 252, 204, 84, "three that compare", "masked distances;", "no two may collude"),
        arrow(190, 276, 406, 276),
        text(298, 268, "masked answers", kind="soft", anchor="middle"),
        arrow(406, 312, 190, 312),
        text(298, 330, "shares of the new labels", kind="soft", anchor="middle"),
        text(
            24, 366, "Nobody sees a label. At the end each client opens those of its own rows.", kind="soft"
        ),
        text(24, 398, "2(ℓ + t) − 1 answers suffice; each row moves to its nearest centre.", kind="soft"),
        text(24, 422, "With disclosure “coded” nobody compares:", kind="soft"),
        text(24, 442, "the server decodes the exact distance of every row to every centre.", kind="soft"),
        text(
            320, 480, "Labels: row for row those of k-means on the pooled rows", kind="head", anchor="middle"
        ),
    )


BETA, ALPHA = (1, 2, 3), (4, 5, 6, 7, 8)
"""ell = 2 segments and t = 1 mask, hence 2 (2 + 1) - 1 = 5 clients."""


def place(z: float, value: float, *, low: float, high: float) -> tuple[float, float]:
    """Where a value of a curve lies in its picture."""
    return 24 + z * 96, 264 - (value - low) / (high - low) * 190


def drawn(curve: Curve, *, kind: str, low: float, high: float, first: float, last: float) -> str:
    """The curve over the reals, for the eye; the protocol's are over finite fields."""
    steps = [first + at * (last - first) / 96 for at in range(97)]
    points = (place(z, curve(z), low=low, high=high) for z in steps)
    return f'<polyline class="{kind}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'


def axis() -> list[str]:
    """Where secrets and shares lie, and the clients."""
    marks = [(f"β{at}", z) for at, z in zip("₁₂₃", BETA, strict=True)]
    marks += [(f"α{at}", z) for at, z in zip("₁₂₃₄₅", ALPHA, strict=True)]
    parts = ['<line class="axis" x1="40" y1="276" x2="840" y2="276"/>']
    parts += [text(24 + z * 96, 294, name, kind="soft", anchor="middle") for name, z in marks]
    return parts + [box(24 + z * 96 - 42, 330, 84, 34, f"client {z - 3}") for z in ALPHA]


def sharing() -> str:
    """The polynomial of a row, and another of the same row."""

    def curve(z: float) -> float:
        return 0.2 * (z - 5) ** 2

    def other(z: float) -> float:  # equal at beta 1 and 2
        return curve(z) - 0.045 * (z - 1) * (z - 2)

    low, high = -0.75, 3.3
    parts = [
        *axis(),
        drawn(other, kind="other", low=low, high=high, first=0.9, last=8.3),
        drawn(curve, kind="curve", low=low, high=high, first=0.9, last=8.3),
    ]
    for z, name, kind in zip(
        BETA, ("segment 1", "segment 2", "mask"), ("secret", "secret", "mask"), strict=True
    ):
        x, y = place(z, curve(z), low=low, high=high)
        parts += [dot(x, y, kind), text(x + 14, y, name)]
    for z in ALPHA:
        x, y = place(z, curve(z), low=low, high=high)
        parts += [dot(x, y, "share"), arrow(x, 302, x, 326)]
    parts.append(text(60, 262, "dashed: another mask, other shares", kind="soft"))
    return picture(
        860,
        384,
        "Sharing a row",
        "A polynomial takes the two segments of a row and a random mask at beta 1 to 3; its values at alpha "
        "1 to 5 are the shares of five clients. With another mask the same row has other shares.",
        text(30, 38, "Sharing: one row, ℓ = 2 segments, t = 1 mask, n = 5 clients", kind="head"),
        *parts,
    )


def iteration() -> str:
    """The polynomial of the coded distances, of twice the degree."""

    def curve(z: float) -> float:
        return ((z - 2.6) * (z - 6.4)) ** 2

    low, high = -4.0, 82.0
    parts = [*axis(), drawn(curve, kind="curve", low=low, high=high, first=0.95, last=8.05)]
    for z in BETA[:2]:
        x, y = place(z, curve(z), low=low, high=high)
        parts += [dot(x, y, "secret"), text(x + 14, y - 10 * z, f"distance of segment {z}")]
    for z in ALPHA:
        x, y = place(z, curve(z), low=low, high=high)
        parts += [dot(x, y, "share"), arrow(x, 326, x, 302)]
    return picture(
        860,
        384,
        "One distance of an iteration",
        "Each client computes on its shares one value of a polynomial of twice the degree. Five values "
        "determine it; at beta 1 and 2 it is the squared distances of the segments.",
        text(
            30,
            38,
            "Iterating: 2(ℓ + t) − 1 = 5 answers fix the curve; it is read where the row was",
            kind="head",
        ),
        *parts,
    )


def labels() -> str:
    """The nearest set of each row with disclosure "labels": who sends what to whom."""
    return picture(
        960,
        330,
        "The nearest sets under masks",
        "The dealer gives clients masks. Clients send masked answers to the first evaluator, who decodes "
        "them to y and sends it to the second evaluator. The three compare. Both evaluators deal halves of "
        "the result to clients, as shares.",
        text(
            30, 40, "The nearest sets: dealer and evaluators compare, and no two of them collude", kind="head"
        ),
        box(36, 170, 180, 64, "clients", "shares of rows and sets"),
        box(400, 76, 200, 64, "dealer", "knows r and λ, never y"),
        box(400, 236, 200, 64, "first evaluator", "sees y = u + r and Δ"),
        box(730, 156, 200, 64, "second evaluator", "sees y and Δ"),
        arrow(394, 116, 222, 180),
        text(286, 128, "masks", kind="soft", anchor="middle"),
        arrow(724, 188, 222, 202),
        text(300, 192, "half of the new sets", kind="soft"),
        arrow(222, 216, 394, 252),
        text(304, 228, "masked answers", kind="soft"),
        arrow(394, 276, 222, 236),
        text(190, 276, "half of the new sets", kind="soft", anchor="middle"),
        arrow(606, 284, 748, 226),
        text(696, 272, "y", kind="soft"),
        arrow(500, 146, 500, 230, both=True),
        text(512, 168, "compare", kind="soft"),
        arrow(606, 108, 742, 152, both=True),
        text(690, 116, "compare", kind="soft"),
        arrow(606, 256, 724, 208, both=True),
        text(660, 224, "compare", kind="soft", anchor="end"),
    )


Move = tuple[str, str, str]
"""From a state to a state, and the message that does it."""

CLIENT_MOVES: tuple[Move, ...] = (
    ("identify", "iterate", "Plan"),
    ("iterate", "done", "the program ends"),
)
SERVER_MOVES: tuple[Move, ...] = (
    ("identify", "share", "last Hello"),
    ("share", "iterate", "whose rows are in"),
    ("iterate", "done", "the program ends"),
)

_GAP, _WIDTH, _SIDE = 42, 330, 110
"""Between boxes of states, a box's width, and how far left of it an arrow passes another box."""


def role(
    x: float, name: str, takes: Mapping[State, frozenset[type[Message]]], moves: Sequence[Move]
) -> list[str]:
    """A role's states from the top down, with what it takes in each; how it moves from one to another."""
    passed = {state for move in moves for state in move[:2]}
    states = [state for state in State if state.value in passed]
    parts = [text(x, 40, name, kind="head")]
    tops, heights, y = {}, {}, 62.0
    for state in states:
        lines = wrap(", ".join(sorted(kind.__name__ for kind in takes[state])), 40) or ["takes nothing more"]
        tops[state.value], heights[state.value] = y, 24.0 + 20 * (1 + len(lines))
        kind = "server" if name == "Server" else "box"
        parts.append(box(x, y, _WIDTH, heights[state.value], state.value, *lines, kind=kind))
        y += heights[state.value] + _GAP
    order = list(tops)
    for first, last, message in moves:
        bottom, top = tops[first] + heights[first], tops[last]
        if order.index(last) == order.index(first) + 1:
            parts += [arrow(x + 90, bottom + 2, x + 90, top - 2)]
            parts += [text(x + 102, bottom + 26, message, kind="soft")]
            continue
        start, end, left = bottom - 14, top + 16, x - _SIDE
        parts += [
            f'<polyline class="line" points="{x:g},{start:g} {left:g},{start:g} {left:g},{end:g} '
            f'{x - 2:g},{end:g}" marker-end="url(#tip)"/>',
            text(left + 6, start - 6, message, kind="soft"),
        ]
    return parts


def states() -> str:
    """What each role takes in which state."""
    return picture(
        960,
        620,
        "States of a client and of the server",
        "From the top down the states of a client and of the server, in each the messages that the role "
        "takes there, and between them the message that leads from one to the other.",
        *role(130, "Client", CLIENT_TAKES, CLIENT_MOVES),
        *role(610, "Server", SERVER_TAKES, SERVER_MOVES),
    )


def main() -> None:
    """Write all pictures beside this file."""
    folder = Path(__file__).parent
    for draw in (overview, sharing, iteration, labels, states):
        (folder / f"{draw.__name__}.svg").write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
