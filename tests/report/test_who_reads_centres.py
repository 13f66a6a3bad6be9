"""Opened centres and deviations are only on the pages of parties that they were opened to."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import secfc

_RNG = np.random.default_rng(11)
PARTIES = [_RNG.normal(size=(m, 3)) * 1.7 + _RNG.integers(2, size=(m, 1)) * 9 + 3 for m in (60, 50, 70)]
RECIPIENT = 1


@pytest.fixture(scope="module")
def result():
    limits = secfc.Limits(reveal_centres=True, reveal_spread=10)
    return secfc.run(
        PARTIES, 2, 1, 1, seed=3, reveal=secfc.Reveal(centres=[RECIPIENT], spread=True), limits=limits
    )


def opened(result):
    """Opened values and values that follow: means, deviations, variances, differences of centres."""
    centres, deviations = result.cluster_centers, result.cluster_std
    gap = centres[0] - centres[1]
    values = [
        centres,
        deviations,
        deviations**2,
        abs(gap),
        np.linalg.norm(gap),
        np.linalg.norm(centres, axis=1),
    ]
    return np.concatenate([np.ravel(one) for one in values])


def roundings(value):
    """The value as a page may print it, with more digits than times have."""
    return {
        repr(float(value)),
        *(f"{value:.{digits}f}" for digits in range(4, 13)),
        *(f"{value:.{digits}g}" for digits in range(5, 13)),
    }


def shown(text, result):
    numbers = set(re.findall(r"-?\d+\.\d+(?:e[+-]?\d+)?", text))
    return [value for value in opened(result) if roundings(value) & numbers]


def test_the_copy_of_the_recipient_has_them(result, tmp_path):
    page = result.report(tmp_path / "r.html", party=RECIPIENT).read_text(encoding="utf-8")
    assert 'id="profiles"' in page
    assert len(shown(page, result)) >= 2 * result.cluster_centers.size


@pytest.mark.parametrize("party", [None, 0, 2])
@pytest.mark.parametrize("pooled", [None, PARTIES])
def test_no_other_copy_has_them(result, tmp_path, party, pooled):
    page = result.report(tmp_path / "r.html", party=party, pooled=pooled).read_text(encoding="utf-8")
    assert 'id="profiles"' not in page
    assert shown(page, result) == []
    assert page.count("party 2, because all consented") == 1


def test_what_notebooks_logs_and_summaries_show_has_none(result, caplog):
    assert shown(repr(result) + result._repr_html_() + str(result.costs.to_dict()), result) == []
    assert shown(json.dumps(result.history.tolist()) + repr(result.job), result) == []


def test_a_recipient_that_vanished_has_no_copy_with_them(result, tmp_path):
    gone = replace(result, faults=replace(result.faults, absent=(RECIPIENT + 1,)))
    page = gone.report(tmp_path / "r.html", party=RECIPIENT).read_text(encoding="utf-8")
    assert shown(page, result) == []
