"""A site's part in the phase *prepare* of an agreed job: encoded messages in and out, until all is opened."""

from secfc.agreement.job_file import Agreement
from secfc.prepare.roles import Preparer, Terms
from secfc.prepare.tables import Checked
from secfc.prepare.transform import Preparation, sums_of
from secfc.prepare.wire import decode, encode
from secfc.randomness import MaskSource
from secfc.sealing.identity import Identity


class SitePreparing:
    """One site.

    Parameters
    ----------
    agreement : Agreement
        Of a job that opens means and deviations.
    run : bytes of length 16
    number : int
        Client number.
    identity : Identity
    table : Checked
        Its own columns.
    masks : MaskSource
    ephemeral : bytes of length 32, optional
        Private X25519 key for this phase; a fresh one by default.

    Attributes
    ----------
    preparation : Preparation or None
        Once everything is opened.
    """

    def __init__(
        self,
        *,
        agreement: Agreement,
        run: bytes,
        number: int,
        identity: Identity,
        table: Checked,
        masks: MaskSource,
        ephemeral: bytes | None = None,
    ) -> None:
        assert agreement.preparation is not None
        self._schema = agreement.preparation
        self.preparation: Preparation | None = None
        terms = Terms(n=agreement.job.n, t=agreement.job.t, schema=self._schema)
        self._preparer = Preparer(
            number=number,
            terms=terms,
            session=terms.session(run=run, roster=agreement.consortium.roster, job=agreement.digest),
            identity=identity,
            sums=sums_of(table, self._schema),
            masks=masks,
            ephemeral=ephemeral,
        )

    def __repr__(self) -> str:
        return f"SitePreparing(done={self.preparation is not None})"

    def start(self) -> list[bytes | memoryview]:
        """The first messages."""
        return list(map(encode, self._preparer.start()))

    def receive(self, data: bytes) -> list[bytes | memoryview]:
        """Take an encoded message, return those it causes, encoded.

        Raises
        ------
        MessageError
            The message is refused, and nothing has changed.
        CheatError, LimitError
            As `secfc.prepare.roles.Preparer.receive`: the preparation has ended.
        """
        messages = self._preparer.receive(decode(data))
        if self._preparer.statistics is not None:
            self.preparation = Preparation(schema=self._schema, statistics=self._preparer.statistics)
        return list(map(encode, messages))
