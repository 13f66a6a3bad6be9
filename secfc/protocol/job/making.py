"""Makes jobs: the only place where a `Job` is made of options."""

from typing import Any

from secfc.protocol.job.combinations import check_combinations
from secfc.protocol.job.job import Job
from secfc.protocol.job.job_checks import check_job, check_options, check_values
from secfc.protocol.job.job_options import JobOptions, as_options, job_of


def make_job(**given: Any) -> Job:
    """The job of the options of `JobOptions`, by name; lists and tuples are equal.

    ParameterError names the option and says what would fit; `ThresholdError` for too few clients.
    """
    options = JobOptions(**given)
    check_options(options)
    check_combinations(options)
    check_values(options)
    job = job_of(options)
    check_job(job)
    return job


def changed_job(job: Job, **changes: Any) -> Job:
    """A job with other options."""
    return make_job(**as_options(job) | changes)
