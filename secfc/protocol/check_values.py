"""The clients' values from which the seed of a check of shares follows, with disclosure "labels".

A client sends its value when it holds everything that is checked. So when all values are known, no dealer
can choose its shares by the seed. Introductions commit clients to their values, so none can choose its value
by those of others.
"""

from collections.abc import Collection, Mapping

from secfc.errors import MessageError
from secfc.params import Job
from secfc.protocol.messages import Challenge
from secfc.sealing.coin import COIN_BYTES, check_seed, commitment_to


class CheckValues:
    """The clients' values so far, at the server or a client. `commitments` are to each client's first one."""

    def __init__(self, job: Job, run: bytes, commitments: Mapping[int, bytes]) -> None:
        self.told = job.disclosure == "labels"  # whether clients send values in this job
        self._n, self._run = job.n, run
        self._last = dict(commitments)  # value, or commitment to the first one, by client

    def __repr__(self) -> str:
        return f"CheckValues(n={self._n})"

    def check(self, client: int, value: bytes) -> None:
        """Raise MessageError unless `value` is the client's next value."""
        if commitment_to(value, run=self._run, party=client) != self._last[client]:
            raise MessageError(f"client {client} told another value for a check than it is committed to")

    def keep(self, values: Mapping[int, bytes]) -> None:
        """Keep values, by client."""
        self._last |= values

    def of(self, challenge: Challenge, *, transcript: bytes, left_out: Collection[int]) -> dict[int, bytes]:
        """The values of a challenge by client, of all that are in. MessageError unless its seed fits them."""
        given, count = challenge.values, self._n if self.told else 0
        if len(given) != COIN_BYTES * count:
            raise MessageError(f"Challenge: {len(given)} bytes of clients' values, {count} are needed")
        if not self.told:
            return {}
        values = {j: given[COIN_BYTES * (j - 1) :][:COIN_BYTES] for j in range(1, count + 1)}
        for client, value in values.items():
            if client not in left_out:
                self.check(client, value)
            elif any(value):
                raise MessageError(f"Challenge: a value of client {client}, which is left out")
        if challenge.seed != check_seed(transcript, challenge.round, given):
            raise MessageError("Challenge: the seed does not follow from the clients' values")
        return {j: value for j, value in values.items() if j not in left_out}
