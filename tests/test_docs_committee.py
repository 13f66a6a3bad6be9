"""The commands of docs/how-to/committee.md."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from test_docs_agreeing import run_blocks

PAGE = (Path(__file__).parent.parent / "docs" / "how-to" / "committee.md").read_text()
BLOCKS = re.findall(r"^```(bash|toml)\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
ALIKE = {"east.toml": ("east", "south", "west"), "clinic-1.toml": ("clinic-1", "clinic-2")}


@pytest.mark.processes
def test_the_page_can_be_followed(tmp_path):
    rng = np.random.default_rng(5)
    for name, m in (("clinic-1", 4), ("clinic-2", 4)):
        rows = [f"{name}-{at},{rng.uniform(20, 90)},{rng.uniform(18, 40)}" for at in range(m)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["patient,age,bmi", *rows, ""]))
    printed = run_blocks(BLOCKS, tmp_path, alike=ALIKE)
    assert (
        "4 rows are deposited with 3 members" in printed["secfc deposit --job job.toml --site clinic-1.toml"]
    )
    assert "west holds deposits of 2 owners, 8 rows" in printed["secfc deposit close west.toml"]
    (path,) = (tmp_path / "results-clinic-1").glob("*/labels.csv")
    with path.open() as file:
        assert [row["patient"] for row in csv.DictReader(file)] == [f"clinic-1-{at}" for at in range(4)]
    assert not list(tmp_path.glob("results-east/*/labels.csv"))
    audited = printed["secfc audit job.summary.json --job job.toml"]
    assert audited.count("holds  ") == 10
    assert "DOES NOT HOLD" not in audited
