"""Sites on FLARE that query their databases, with credentials from their own environment."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from secfc.agreement.audit import audit
from secfc.agreement.statement import read_summary
from secfc.cli.app import app
from secfc.drivers.in_process import run_in_process
from secfc.drivers.setup import Setup
from secfc.protocol.job.limits import Limits

pytestmark = [pytest.mark.slow, pytest.mark.flare, pytest.mark.postgresql, pytest.mark.timeout(300)]


def test_sites_read_their_rows_from_postgresql_and_parquet(organisations, postgres):
    made = organisations(20, 10, 30)
    first, second, _ = made.sites
    columns = [str(at) for at in range(made.rows[0].shape[1])]
    values = ", ".join(f"({', '.join(map(repr, row))})" for row in made.rows[0].tolist())
    types = ", ".join(f'"{name}" FLOAT' for name in columns)
    url = postgres.fill("site", [f"CREATE TABLE visits ({types})", f"INSERT INTO visits VALUES {values}"])
    config = made.config(first)
    config.write_text(
        config.read_text().replace(f'path = "{first}.npy"', f'url = "{url}"\nquery = "SELECT * FROM visits"')
    )
    pyarrow.parquet.write_table(
        pa.table(dict(zip(columns, made.rows[1].T, strict=True))), made.folder / "rows.parquet"
    )
    config = made.config(second)
    config.write_text(
        config.read_text().replace(
            f'path = "{second}.npy"', 'path = "rows.parquet"\nquery = "SELECT * FROM data"'
        )
    )
    done = CliRunner().invoke(
        app,
        [
            "consortium",
            "rehearse",
            str(made.job),
            *(str(made.config(name)) for name in made.sites),
            "--timeout",
            "200",
        ],
    )
    assert done.exit_code == 0, done.output
    agreement = made.agreement
    setup = Setup(job=agreement.job, rows=made.rows, starts=None, names=made.sites, limits=Limits())
    for name, labels in zip(made.sites, run_in_process(setup).labels, strict=True):
        np.testing.assert_array_equal(made.labels(name), labels)
    summary = made.folder / "job.summary.json"
    assert all(finding.holds for finding in audit(read_summary(summary), made.agreement))
    told = done.output + summary.read_text()
    assert "visits" not in told
    assert not postgres.is_shown(told)
