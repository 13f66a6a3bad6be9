"""docs/guide.md: a study from files to tables, run as it stands, with its pictures."""

import re
from pathlib import Path

import pandas as pd
import pytest
from scipy import stats

from examples import store

PAGE = (Path(__file__).parents[2] / "docs" / "guide.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"!\[[^\]]+\]\(pictures/([\w-]+\.png)\)", PAGE)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The folder of a run, what its blocks should print and did, and the variables."""
    pytest.importorskip("matplotlib")
    folder, variables = tmp_path_factory.mktemp("guide"), {}
    return folder / "study", [one[1:] for one in store.run_guide(folder, variables)], variables


@pytest.mark.processes
@pytest.mark.filterwarnings("ignore::secfc.PrivacyWarning")
def test_the_guide_prints_what_it_says(ran):
    outputs = ran[1]
    assert len(outputs) == len(re.findall(r"^```\w", PAGE, flags=re.MULTILINE))
    assert sum(bool(said) for said, _ in outputs) == PAGE.count("<!-- output -->") == 4
    for said, printed in outputs:
        if said:
            assert printed == said


@pytest.mark.processes
def test_pictures_of_the_guide_are_drawn_again_and_small(ran):
    assert sorted(path.name for path in ran[0].glob("*.png")) == sorted(SHOWN)
    stored = [store.PICTURES / name for name in SHOWN]
    assert [path for path in stored if not path.is_file()] == []
    assert sum(path.stat().st_size for path in stored) < 150_000
    assert all((ran[0] / name).stat().st_size > 10_000 for name in SHOWN)


@pytest.mark.processes
def test_table_1_is_that_of_the_pooled_rows(ran):
    _, _, variables = ran
    labels = variables["result"].to_frame()
    rows = pd.concat(variables["outcomes"].values()).reset_index()
    assert rows.patient.tolist() == labels.row.tolist()
    died = pd.crosstab(rows.died, labels.name)
    tests = variables["table"].tests()
    assert tests["died"] == pytest.approx(stats.chi2_contingency(died)[:2])
    groups = [own for _, own in rows.stay.groupby(labels.name)]
    assert tests["stay"] == pytest.approx(stats.f_oneway(*groups))
    by_name = dict(zip(["mild", "inflamed", "renal"], variables["table"].records()[:3], strict=True))
    assert {name: one["counts"] for name, one in by_name.items()} == died.to_dict()
