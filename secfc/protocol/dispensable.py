"""Whom a run cannot go on without, however many others are left."""

from secfc.codes import Code
from secfc.errors import MessageError, TooManyFaultsError
from secfc.params import Job
from secfc.protocol.states import State

UNION_IS_OPEN = (
    ". Before it starts again without a client: the union of the new run would show how many rows that "
    "client held, and which to those who can guess IDs"
)
"""What a person should know who thinks of a run without somebody that this one could not do without."""


def check_dispensable(client: int, reason: str, *, job: Job, state: State, prepares: bool) -> None:
    """Raise TooManyFaultsError unless the server may leave a client out before the first assignment.

    Parameters
    ----------
    client : int
        1 to n.
    reason : str
    job : Job
    state : State
        The server's.
    prepares : bool
        Whether the clients open means and deviations of all their values first. Before they are open others
        wait for the client. Afterwards centres, spreads or the inertia of the others would tell its values
        by difference.
    """
    if prepares:
        raise TooManyFaultsError(
            f"client {client}: {reason}; means and deviations are of all {job.n} parties' values, so nobody "
            "can be left out"
        )
    if job.predict:
        raise TooManyFaultsError(
            f"client {client}: {reason}; a prediction leaves nobody out, for the centres are means of "
            f"everybody's rows"
        )
    if job.ids_cap is None:
        return
    text = (
        f"client {client} is absent before all rows were shared; with membership privacy nobody can "
        f"be left out, for every client holds a part of every row"
    )
    if state is State.IDENTIFY:
        raise TooManyFaultsError(text, clients=[client])
    raise TooManyFaultsError(text + UNION_IS_OPEN, code=Code.UNION_OPENED, clients=[client])


def refuse_without(kind: str, client: int, *, job: Job, prepared: bool) -> None:
    """Raise MessageError when a server leaves out a client that this client does not go on without.

    Parameters
    ----------
    kind : str
        The type of the server's message.
    client : int
    job : Job
    prepared : bool
        Whether means and deviations of all clients' values were opened.
    """
    if prepared:
        raise MessageError(
            f"{kind}: without client {client}, whose values are in the means and deviations that were opened"
        )
    if job.predict:
        raise MessageError(f"{kind}: without client {client}, whom a prediction cannot do without")
