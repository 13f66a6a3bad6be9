"""Progress of a run for the caller, and log lines with the run's identifier.

The logger is "secfc.run". A line has phases, rounds, counts and bytes, never a row, a distance or a label.
"""

import logging
from dataclasses import replace

from secfc.drivers.costs import Meter
from secfc.drivers.setup import OnProgress
from secfc.protocol.job.job import Job
from secfc.protocol.progress import Progress
from secfc.tables.number_texts import bytes_text

logger = logging.getLogger("secfc.run")


class Watch:
    """Takes the server's progress after each message. `run` is the run's identifier in hexadecimal."""

    def __init__(self, *, run: str, job: Job, meter: Meter, on_progress: OnProgress | None) -> None:
        self._run, self._meter, self._on_progress = run, meter, on_progress
        self._phase, self._round, self._iteration = "", 0, 0
        self._log(
            f"n={job.n} k={job.k} t={job.t} ell={job.ell} d={job.d}: {job.threshold} answers a round, "
            f"disclosure {job.disclosure.name!r}, start {job.method.init!r}"
        )

    def _log(self, text: str, level: int = logging.INFO) -> None:
        logger.log(level, "run %s: %s", self._run, text, extra={"run": self._run})

    def __call__(self, standing: Progress) -> None:
        """Log what is new. Pass the progress on with the bytes sent."""
        standing = replace(standing, sent_bytes=self._meter.sent_bytes)
        if standing.phase != self._phase:
            self._log(f"phase {standing.phase}, {standing.sent_bytes} bytes sent so far")
            self._phase = standing.phase
        if standing.round != self._round:
            self._log(f"round {standing.round}", logging.DEBUG)
            self._round = standing.round
        if standing.iteration != self._iteration:
            if standing.iteration:
                moved = "" if standing.moved is None else f": {standing.moved} rows moved"
                self._log(f"iteration {standing.iteration}{moved}")
            self._iteration = standing.iteration
        if self._on_progress is not None:
            self._on_progress(standing)

    def ended(self, *, n_iter: int, converged: bool) -> None:
        """Log the end."""
        end = "converged" if converged else "stopped at max_iter"
        self._log(f"{end} after {n_iter} iterations, {self._meter.sent_bytes} bytes sent")


def iteration_text(standing: Progress) -> str:
    """The state of the iterations in words. What a narrow terminal cuts comes last."""
    sent = bytes_text(standing.sent_bytes)
    if not standing.iteration:
        return f"round {standing.round}, {sent}"
    said = [f"iteration {standing.iteration}"]
    if standing.moved is not None:
        said.append(f"{standing.moved} rows moved")
    if standing.inertia is not None:  # None if the server does not know it
        said.append(f"inertia {standing.inertia:.6g}")
    return ", ".join([*said, sent])
