"""Whom a run cannot go on without, however many others are left."""

from secfc.errors import TooManyFaultsError
from secfc.params import Job
from secfc.protocol.states import State

UNION_IS_OPEN = (
    ". Before it starts again without a client: the union of the new run would show how many rows that "
    "client held, and which to those who can guess IDs"
)
"""What a person should know who thinks of a run without somebody that this one could not do without."""


def check_dispensable(client: int, *, job: Job, state: State, prepares: bool) -> None:
    """Raise TooManyFaultsError unless a client can be left out before all rows are shared.

    Parameters
    ----------
    client : int
        1 to n.
    job : Job
    state : State
        The server's.
    prepares : bool
        Whether others may wait for the client to open means and deviations with them.
    """
    if prepares:
        raise TooManyFaultsError(
            f"client {client} is absent before data is prepared; means and deviations are of all {job.n} "
            "parties' values, so nobody can be left out"
        )
    if job.ids_cap is None:
        return
    text = (
        f"client {client} is absent before all rows were shared; with membership privacy nobody can "
        f"be left out, for every client holds a part of every row"
    )
    if state is not State.IDENTIFY:
        text += UNION_IS_OPEN
    raise TooManyFaultsError(text)
