"""Expected results of an agreed job with membership privacy: Lloyd in exact integers on the union."""

from dataclasses import dataclass

import numpy as np

from plaintext_baselines import ExactLloyd
from secfc.agreement.job_file import Agreement
from secfc.drivers.in_process import run_in_process
from secfc.drivers.setup import Setup
from secfc.protocol.job.limits import Limits
from secfc.psu.plan import salt_of
from secfc.tables.ids import row_ids


@dataclass(frozen=True, kw_only=True)
class Expected:
    """Labels of each party's rows, and the number of iterations."""

    labels: list[np.ndarray]
    n_iter: int


def expected(
    agreement: Agreement, rows: list[np.ndarray], ids: list[list[str]], *, key: bytes, transcript: bytes
) -> Expected:
    """The run's expected result. Salted hashes number the rows, so the start depends on the transcript."""
    job = agreement.job
    here = run_in_process(
        Setup(
            job=job,
            rows=rows,
            starts=None,
            ids=[row_ids(own, key=key, name="party") for own in ids],
            salt=salt_of(transcript),
            names=list(agreement.names),
            limits=Limits(),
        )
    )
    assert here.union_rows is not None
    pooled = np.empty((sum(map(len, rows)), job.d))
    for own, at in zip(rows, here.union_rows, strict=True):
        pooled[at] = own
    exact = ExactLloyd(job.k, init=[here.start], bound=job.bound, precision=job.precision).fit([pooled])
    return Expected(labels=[exact.labels_[0][at] for at in here.union_rows], n_iter=exact.n_iter_)
