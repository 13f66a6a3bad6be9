"""`secfc flare poc`: the rehearsal on one machine."""

import pytest
from typer.testing import CliRunner

from secfc.agreement.audit import audit
from secfc.agreement.statement import read_summary
from secfc.cli.app import app

pytestmark = [pytest.mark.slow, pytest.mark.flare, pytest.mark.timeout(300)]


def test_poc_leaves_labels_at_the_sites_and_a_summary_that_holds(organisations):
    made = organisations(20, 10, 30)
    page = made.folder / "r.html"
    sites = [str(made.config(name)) for name in reversed(made.sites)]
    done = CliRunner().invoke(
        app, ["flare", "poc", str(made.job), *sites, "--timeout", "200", "--report", str(page)]
    )
    assert done.exit_code == 0, done.output
    assert "converged after" in done.output
    assert [made.labels(name).size for name in made.sites] == [20, 10, 30]
    assert made.agreement.title in page.read_text()
    summary = read_summary(made.folder / "job.summary.json")
    assert all(finding.holds for finding in audit(summary, made.agreement))
