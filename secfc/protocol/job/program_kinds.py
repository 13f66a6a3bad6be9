"""Which kinds of jobs run as one program, so that nobody learns a label but its owner.

`secfc.protocol.program` runs them. In all other runs the server asks questions, and no job runs both ways.
"""

from collections.abc import Callable

from secfc.protocol.job.cases import Centres, Disclosed, LabelsOnly, Method, Rows

NEEDED: dict[str, Callable[[Rows, Method, Disclosed, Centres], bool]] = {
    "disclosure 'labels'": lambda rows, method, disclosure, opened: isinstance(disclosure, LabelsOnly),
    "a random partition, k-means++, or given labels or centres": lambda rows, method, disclosure, opened: (
        method.init in ("random", "k-means++", "labels")
    ),
}
"""A job runs as one program if all of these hold."""


def is_program(rows: Rows, method: Method, disclosure: Disclosed, opened: Centres) -> bool:
    """Whether a job of these cases runs as one program."""
    return all(holds(rows, method, disclosure, opened) for holds in NEEDED.values())
