"""A party of a simulation. The caller gave it its data and gets its result."""

from dataclasses import asdict
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from secfc.agreement.public_errors import COMPLETE, PublicError
from secfc.crypto.identity import KEY_BYTES as IDENTITY_BYTES
from secfc.crypto.identity import Identity, Roster
from secfc.drivers.calls import framing
from secfc.drivers.deposits.committee import kernels_of
from secfc.drivers.setup import Setup
from secfc.drivers.taking import TakingPart
from secfc.drivers.terms import RunTerms
from secfc.drivers.watch import logger
from secfc.errors import SecFCError
from secfc.operations.ending.cells import OwnColumns
from secfc.protocol.job.job_options import as_options
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import make_job
from secfc.psu.tokens import RowIds
from secfc.sharing.deposits import Call, Intake


class SimulatedParty(TakingPart):
    """A client of a simulation, with the methods that a callee needs before and during a run.

    Its data are those that `give` wrote.
    """

    def __init__(self, given: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        job = make_job(**given["job"])
        keys = [bytes.fromhex(key) for key in given["roster"]]
        names, number = tuple(given["names"]), given["number"]
        super().__init__(number=number, name=names[number - 1], job=job, log=logger)
        self.terms = RunTerms.of_simulation(job, names, Roster(tuple(keys[1:]), keys[0]))
        self._given, self._arrays = given, arrays

    def digest_of(self, run: bytes) -> bytes:
        """Digest of the terms to which a run is bound."""
        return self.terms.digest

    def log_path(self, run: bytes) -> None:
        """None: it keeps no log."""

    def delete_log(self, run: bytes) -> None:
        """Do nothing: it keeps no log."""

    def has_been(self, run: bytes) -> bool:
        """Always False: only one run calls it."""
        return False

    def reported(self, run: bytes) -> dict[str, Any]:
        """Always empty: there are no other runs."""
        return {}

    def participant(self) -> "SimulatedParty":
        """Itself."""
        return self

    def open_log(self, run: bytes) -> None:
        """None: it keeps no log."""

    def open(self, run: bytes) -> list[bytes | memoryview]:
        """Take part in a run. Return its introduction, encoded."""
        given, arrays, ids = self._given, self._arrays, None
        if given["ids_key"] is not None:
            ids = RowIds(digests=arrays.pop("digests"), key=bytes.fromhex(given["ids_key"]))
        self._session = self.terms.session(run)
        with self.meter.work("identify", self.number):
            return self._join(
                threads=given["threads"],
                names=self.terms.names,
                rows=arrays.pop("rows"),
                identity=Identity(bytes.fromhex(given["identity"])),
                limits=Limits(**given["limits"]),
                start=arrays.pop("start", None),
                weights=arrays.pop("weights", None),
                columns=None if "columns" not in arrays else OwnColumns(values=arrays.pop("columns")),
                salt=None if given["salt"] is None else bytes.fromhex(given["salt"]),
                ids=ids,
                deposits=None if given["call"] is None else self._taken(given["call"]),
                repeats=True,
            )

    def _taken(self, call: dict[str, Any]) -> Intake:
        job = make_job(**call["job"])
        session = job.session(self.terms.roster, bytes.fromhex(call["run"]))
        of_owners = tuple(bytes(key) for key in self._arrays.pop("keys").reshape(-1, IDENTITY_BYTES))
        called = Call(job=job, session=session, keys=of_owners, most_rows=tuple(call["most_rows"]))
        identity = Identity(bytes.fromhex(self._given["identity"]))
        kernels = kernels_of(job, sum(called.most_rows))
        intake = Intake(called, number=self.number, identity=identity, kernels=kernels)
        octets, start = self._arrays.pop("deposits").tobytes(), 0
        for size in call["sizes"]:
            intake.take(octets[start : start + size])
            start += size
        return intake

    def end(self, ended: str) -> dict[str, Any]:
        """How the run ended for it."""
        return {"ended": COMPLETE if self.result()[1] else ended}

    def result(self) -> tuple[dict[str, Any], list[NDArray[Any]]]:
        """Opened values as JSON values, then labels and numbers in the union. Empty without labels."""
        client = self._client if self.done else None
        if client is None or client.labels is None:
            return {}, []
        opened = {"centres": client.centres, "deviations": client.deviations}
        of_resamples = None if client.resampled is None else client.resampled.to_dict()
        counted = None if client.counted is None else client.counted.to_dict()
        sealed = client.sealed_labels
        of_rows = client.labels if sealed is None else np.frombuffer(sealed, dtype=np.uint8)
        found: list[NDArray[Any]] = [of_rows]
        if client.union_rows is not None:
            found.append(client.union_rows)
        told = {name: None if one is None else one.tolist() for name, one in opened.items()}
        return told | {"resampled": of_resamples, "counted": counted}, found

    def ending(self, error: SecFCError) -> str:
        """How the run ended, by an error of this party."""
        return PublicError.of(error).ending(self.terms.names)


def give(stream: BinaryIO, setup: Setup, number: int, *, roster: Roster, key: bytes) -> None:
    """Write the data of a party's process for `taken`."""
    assert roster.coordinator is not None
    own = setup.input_of(number)
    ids, committee = own["ids"], setup.committee if number <= setup.job.n else None
    deposits = [] if committee is None else committee.deposits[number - 1]
    arrays = {
        "rows": own["rows"],
        "digests": None if ids is None else ids.digests,
        "start": own["start"],
        "weights": own["weights"],
        "columns": None if own["columns"] is None else own["columns"].values,
    }
    if committee is not None:
        for name, octets in (("keys", committee.call.keys), ("deposits", deposits)):
            arrays[name] = np.frombuffer(b"".join(octets), dtype=np.uint8)
    arrays = {name: one for name, one in arrays.items() if one is not None}
    given = {
        "number": number,
        "names": setup.parties,
        "job": as_options(setup.job),
        "roster": [one.hex() for one in (roster.coordinator, *roster.keys)],
        "identity": key.hex(),
        "limits": asdict(own["limits"]),
        "salt": None if setup.salt is None else setup.salt.hex(),
        "ids_key": None if ids is None else ids.key.hex(),
        "call": None
        if committee is None
        else {
            "job": as_options(committee.call.job),
            "run": committee.call.session.run.hex(),
            "most_rows": committee.call.most_rows,
            "sizes": [len(deposit) for deposit in deposits],
        },
        "threads": setup.threads_of(setup.job.parties + 1).count,
        "arrays": list(arrays),
    }
    framing.write_json(stream, given)
    for one in arrays.values():
        framing.write_array(stream, one)


def taken(stream: BinaryIO, given: dict[str, Any]) -> SimulatedParty:
    """The party from the data that `give` wrote, after its first frame."""
    return SimulatedParty(given, {name: framing.read_array(stream) for name in given["arrays"]})
