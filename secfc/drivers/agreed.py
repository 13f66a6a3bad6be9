"""A run of an agreed job on this machine: a process per party, each acting by its own files."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import secfc
from secfc.agreement.job_file import Agreement
from secfc.agreement.keys import COORDINATOR_KEY, read_key
from secfc.agreement.signatures import check_signed, signatures_path
from secfc.agreement.site_file import read_site
from secfc.agreement.statement import write_summary
from secfc.drivers.multiprocess import run_multiprocess
from secfc.drivers.setup import OnProgress, Outcome, Setup, Sites, check_deadline, public_result
from secfc.errors import AgreementError, SecFCError
from secfc.limits import Limits
from secfc.public_errors import Told


def run_agreed(
    agreement: Agreement,
    *,
    file: Path,
    sites: Sequence[Path],
    summary: Path,
    key: Path | None = None,
    deadline: float | None = None,
    on_progress: OnProgress | None = None,
) -> Outcome:
    """Run an agreed job with a process per party and write the summary of what the parties state.

    Parameters
    ----------
    agreement : Agreement
        The coordinator's.
    file : Path
        Its job file; signatures are beside it.
    sites : sequence of Path
        Site files of all parties, in any order.
    summary : Path
        Written also when the run fails after a party has begun it.
    key : Path, optional
        File of the coordinator's private key; by default the one of `COORDINATOR_KEY`'s name beside the job.
    deadline : float, optional
        Seconds without progress after which parties that are waited for count as absent; by default only one
        whose process has ended is.
    on_progress : callable, optional

    Raises
    ------
    AgreementError
        Before any process is started, when the key is not the one that the roster has for the coordinator.
    SecFCError
        A party's own error, named.
    """
    check_deadline(deadline)
    check_signed(agreement, signatures_path(file))
    agreement.check_date(datetime.now(UTC).date())
    key = (key or file.with_name(COORDINATOR_KEY)).absolute()
    agreement.consortium.check_coordinator(read_key(key).public, file=key)
    parties = Sites(files=in_order(agreement, sites), agreement=agreement, key=key)
    setup = Setup(
        job=agreement.job,
        rows=[],
        starts=None,
        names=list(agreement.names),
        limits=Limits(),
        seed=agreement.seed,
        deadline=deadline,
        sites=parties,
    )
    try:
        outcome = run_multiprocess(setup, on_progress)
    except SecFCError as error:
        if parties.statements:
            _write(summary, parties, {"ended": Told.of(error).ending(agreement.names)})
        raise
    lost = {agreement.names[j - 1]: Told.of(why).ending(()) for j, why in sorted(outcome.lost.items())}
    told = {"run": outcome.run_id, "ended": "complete", "lost": lost, "costs": outcome.costs.to_dict()}
    counts = None if agreement.job.ids_cap is not None else [len(labels) for labels in outcome.labels]
    _write(summary, parties, told | {"result": public_result(outcome, counts)})
    return outcome


def in_order(agreement: Agreement, sites: Sequence[Path]) -> tuple[Path, ...]:
    """Each party's site file, client 1's first.

    Raises
    ------
    AgreementError
        Naming the party whose file is missing, given twice, or that is none.
    """
    found: dict[str, Path] = {}
    for path in sites:
        party = read_site(path).party
        if party not in agreement.names:
            raise AgreementError(f"{path}: {party!r} is not in the roster ({', '.join(agreement.names)})")
        if party in found:
            raise AgreementError(f"{path}: {found[party]} is the site file of {party} too")
        found[party] = path
    missing = [name for name in agreement.names if name not in found]
    if missing:
        raise AgreementError(f"no site file of {', '.join(missing)} was given; all parties take part")
    return tuple(found[name].absolute() for name in agreement.names)


def _write(path: Path, parties: Sites, coordinator: dict[str, Any]) -> None:
    write_summary(
        path,
        parties.agreement,
        parties.statements.values(),
        {"secfc": secfc.__version__} | coordinator,
    )
