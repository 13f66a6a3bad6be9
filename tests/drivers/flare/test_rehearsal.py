"""`secfc consortium rehearse`: a rehearsal on one machine."""

from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from plaintext_baselines import ExactLloyd
from secfc.agreement.audit import audit
from secfc.agreement.statement import read_summary
from secfc.api.transformer import Prepare
from secfc.cli.app import app
from secfc.drivers.in_process import run_in_process
from secfc.drivers.setup import Setup
from secfc.protocol.job.cases import Own
from secfc.protocol.job.limits import Limits

pytestmark = [pytest.mark.slow, pytest.mark.flare, pytest.mark.timeout(300)]


def prepare_first(made):
    """Have the job open means and deviations and cluster standardised columns; all sign again."""
    columns = [f'[[column]]\nname = "{at}"\nlow = -9\nhigh = 17\n' for at in range(made.rows[0].shape[1])]
    columns[0] += 'scale = "min-max"\n'
    columns[1:] = [one + 'scale = "standardise"\ndeviations = 9\n' for one in columns[1:]]
    (made.folder / "schema.toml").write_text("smallest = 10\n" + "".join(columns))
    text = made.job.read_text()
    text = text[: text.index("[columns]")].replace("roster =", 'prepare = "schema.toml"\nroster =')
    made.job.write_text(text)
    for name in made.names:
        made.configure(name, more="[limits]\nopen_statistics = 10\n")
    made.sign(made.job)


def assert_exact(made):
    """Labels equal those of Lloyd in exact integers on the rows as pooled data would have been prepared."""
    agreement = made.agreement
    tables = [{str(at): column for at, column in enumerate(rows.T)} for rows in made.rows]
    rows = Prepare(agreement.preparation, t=agreement.job.t).fit_transform(tables)
    job = replace(agreement.job, rows=Own())  # of rows that are prepared
    setup = Setup(job=job, rows=rows, starts=None, names=made.names, limits=Limits())
    starts = np.split(run_in_process(setup).start, np.cumsum([len(part) for part in rows])[:-1])
    exact = ExactLloyd(job.k, init=starts, bound=job.bound, precision=job.precision).fit(rows)
    for name, labels in zip(made.names, exact.labels_, strict=True):
        np.testing.assert_array_equal(made.labels(name), labels)


def test_a_rehearsal_prepares_leaves_exact_labels_at_the_sites_and_a_summary_that_holds(organisations):
    made = organisations(20, 10, 30)
    prepare_first(made)
    page = made.folder / "r.html"
    sites = [str(made.site(name)) for name in reversed(made.names)]
    done = CliRunner().invoke(
        app, ["consortium", "rehearse", str(made.job), *sites, "--timeout", "200", "--report", str(page)]
    )
    assert done.exit_code == 0, done.output
    assert "converged after" in done.output
    assert_exact(made)
    assert made.agreement.title in page.read_text()
    summary = read_summary(made.folder / "job.summary.json")
    assert all(finding.holds for finding in audit(summary, made.agreement))
