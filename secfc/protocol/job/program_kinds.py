"""Which kinds of jobs run as one program. With disclosure "labels" nobody then learns a label but its owner.

`secfc.protocol.program` runs them. In all other runs the server asks questions, and no job runs both ways.
"""

from collections.abc import Callable

from secfc.protocol.job.cases import Centres, Disclosed, LabelsOnly, Method, Own, Predict, Rows

NEEDED: dict[str, Callable[[Rows, Method, Disclosed, Centres], bool]] = {
    "disclosure 'labels', or clients' own rows without a prediction or opened centres": (
        lambda rows, method, disclosure, opened: (
            isinstance(disclosure, LabelsOnly)
            or (isinstance(rows, Own) and not isinstance(method, Predict) and not opened.to)
        )
    ),
    "no start by separation, or disclosure 'coded'": lambda rows, method, disclosure, opened: (
        method.init != "separation" or not isinstance(disclosure, LabelsOnly)
    ),
}
"""A job runs as one program if all of these hold."""


def is_program(rows: Rows, method: Method, disclosure: Disclosed, opened: Centres) -> bool:
    """Whether a job of these cases runs as one program."""
    return all(holds(rows, method, disclosure, opened) for holds in NEEDED.values())
