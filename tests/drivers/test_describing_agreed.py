"""Agreed jobs that describe columns, with a process per party: a table at each site, and its ledger."""

import html
import json
import re

import pytest
from support.describing import CONSENT, Describing
from support.organisations import NAMES

from secfc.agreement.check import check_site
from secfc.agreement.site_file import read_site
from secfc.agreement.statement import read_summary
from secfc.errors import LimitError, ParameterError, TooManyFaultsError
from secfc.report.agreed_page import write_agreed_report


def test_every_site_has_the_table_of_all_rows(tmp_path):
    made = Describing(tmp_path)
    made.run()
    made.assert_tables()
    page = write_agreed_report(
        read_summary(tmp_path / "summary-0.json"),
        made.agreement,
        tmp_path / "page.html",
        name="summary-0.json",
        site=read_site(made.site("north")),
    )
    (table,) = made.tables("north")
    shown = page.read_text(encoding="utf-8").split('id="table"')[1].split("</table>")[0]
    assert re.findall(r"<td[^>]*>([^<]*)<", shown) == [html.escape(one) for line in table[1:] for one in line]
    assert all((tmp_path / f"results-{name}.ledger").stat().st_mode & 0o777 == 0o600 for name in NAMES)


def test_a_second_job_on_the_same_rows_has_the_same_table(tmp_path):
    made = Describing(tmp_path)
    made.run()
    made.another()
    made.run()
    first, second = ([sorted(line[1:3]) for line in table[1:]] for table in made.tables("south"))
    assert first == second


@pytest.mark.parametrize("gone", [1, 2])
def test_a_second_job_without_few_rows_of_a_site_describes_no_column(tmp_path, gone):
    """The difference of both tables would be these rows' values. Everybody sees "too few", and not why."""
    made = Describing(tmp_path)
    made.run()
    made.another()
    made.write_table("south", range(20 - 2 * gone))  # so many of each cluster
    made.run()
    for name in NAMES:
        _, table = made.tables(name)
        assert [line[1:3] for line in table if line[0].startswith(("stay", "ward"))] == [["too few"] * 2] * 2
        assert table[1] == ["rows", *(str(30 - gone) for _ in range(2)), ""]


def test_a_second_job_without_many_rows_of_a_site_does(tmp_path):
    made = Describing(tmp_path)
    made.run()
    made.another()
    made.write_table("south", range(12))
    made.run()
    assert "too few" not in str(made.tables("west")[1])


def test_centres_that_were_opened_before_count(tmp_path):
    """A column whose centres a job opened is described by the next one, without a row."""
    made = Describing(tmp_path)
    made.replace(made.job, 'describe = "outcomes.toml"', "")
    made.replace(made.job, "k = 2", 'k = 2\nreveal_centres = ["south"]')
    for name in NAMES:
        made.write_site(name, more=CONSENT + 'reveal_centres = ["south"]\n')
    made.run()
    noted = json.loads((tmp_path / "results-west.ledger").read_text())["openings"]
    assert [sorted(one["cells"]) for one in noted] == [["age", "bmi"]]
    made.another(('reveal_centres = ["south"]', ""))
    made.replace(made.job, "runs = 100", 'runs = 100\ndescribe = "outcomes.toml"')
    made.replace(made.job, '[columns]\nage = [0, 120]\n"bmi" = [10.5, 60]', "[columns]\nage = [0, 120]")
    (tmp_path / "outcomes.toml").write_text('smallest = 3\n[[column]]\nname = "bmi"\nlow = 10\nhigh = 60\n')
    made.write_table("north", range(19))
    made.run()
    assert "too few" in str(made.tables("west")[-1])


def test_a_ledger_that_cannot_be_read_refuses_before_anything_is_shared(tmp_path):
    made = Describing(tmp_path)
    (tmp_path / "results-north.ledger").write_text("{")
    (tmp_path / "results-north.ledger").chmod(0o600)
    with pytest.raises(TooManyFaultsError, match=r"lost of 3: north; the last: north: storage: "):
        made.run()
    assert "results-north.ledger cannot be read" in (tmp_path / "north.log").read_text()
    assert not list(tmp_path.glob("results-*/*/labels.csv"))


class TestAgreement:
    def test_a_site_without_consent_refuses_the_job(self, tmp_path):
        made = Describing(tmp_path)
        made.replace(made.site("west"), "describe = 3\n", "")
        with pytest.raises(
            LimitError,
            match=r"the job describes stay, ward by cells of 3 rows; to consent, write describe = 3 in",
        ):
            check_site(read_site(made.site("west")))
        made.replace(made.site("south"), "describe = 3", "describe = 4")
        with pytest.raises(
            LimitError, match=r"3 rows, this site consents to 4 or more; to consent, write describe = 3 in"
        ):
            check_site(read_site(made.site("south")))
        made.replace(made.site("north"), "describe = 3", 'describe = 3\ncolumns = ["age", "bmi", "stay"]')
        with pytest.raises(
            LimitError, match=r"limits.columns: the job describes ward; age, bmi, stay are allowed"
        ):
            check_site(read_site(made.site("north")))

    def test_the_schema_is_in_the_digest(self, tmp_path):
        made = Describing(tmp_path)
        before = made.agreement.digest
        made.replace(tmp_path / "outcomes.toml", 'unit = "days"', 'unit = "nights"')
        assert made.agreement.digest != before

    def test_it_is_shown(self, tmp_path):
        shown = Describing(tmp_path).shown()
        assert "described by cluster" in shown
        assert "stay, ward, to all parties, each column if 3 parties have 3 or more values of it" in shown

    @pytest.mark.parametrize(
        ("old", "new", "text"),
        [
            ('name = "stay"', 'name = "age"', "describe: column 'age' is clustered"),
            (
                "step = 1",
                'scale = "min-max"',
                "describe: schema: column 'stay': described columns have no scale",
            ),
        ],
    )
    def test_what_cannot_be_described_is_refused_with_the_line(self, tmp_path, old, new, text):
        made = Describing(tmp_path)
        made.replace(tmp_path / "outcomes.toml", old, new)
        with pytest.raises(ParameterError, match=rf"job.toml:5: {text}"):
            made.agreement  # noqa: B018

    def test_what_goes_with_it_is_told_with_the_line(self, tmp_path):
        made = Describing(tmp_path)
        made.replace(made.job, "k = 2", "k = 2\nids_cap = 70")
        with pytest.raises(ParameterError, match=r"job.toml:5: describe: not with ids: "):
            made.agreement  # noqa: B018

    def test_values_that_do_not_fit_are_told_by_the_sites_own_names(self, tmp_path):
        made = Describing(tmp_path)
        made.table["west"]["los"][4] = 61
        made.table["west"]["ward"][5] = "Medical"
        made.write_table("west")
        with pytest.raises(
            Exception, match=r"column 'los' has 1 values outside 0 to 60 days, the first in row 4"
        ):
            check_site(read_site(made.site("west")))

    def test_one_column_cannot_be_two_of_the_job(self, tmp_path):
        made = Describing(tmp_path)
        made.replace(made.site("west"), 'stay = "los"', 'stay = "age"')
        with pytest.raises(Exception, match="two columns of the job are one column here"):
            check_site(read_site(made.site("west")))
