"""The example of docs/baselines.md runs and gives the figures shown, up to the version of scikit-learn."""

import contextlib
import io
import re
from pathlib import Path

import pytest

import plaintext_baselines

PAGE = (Path(__file__).parents[2] / "docs" / "baselines.md").read_text()


def test_example_prints_what_it_shows():
    (code, shown), *_ = re.findall(
        r"```python\n(.*?)```.*?<!-- output -->\n```\n(.*?)```", PAGE, flags=re.DOTALL
    )
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    lines, expected = printed.getvalue().splitlines(), shown.splitlines()
    assert [line[:12] for line in lines] == [line[:12] for line in expected]
    for line, other in zip(lines, expected, strict=True):
        ari, ari_shown = (float(text.split("ARI")[1].split()[0]) for text in (line, other))
        # Random starts differ between versions of scikit-learn.
        assert ari == pytest.approx(ari_shown, abs=0.15)


@pytest.mark.parametrize("name", plaintext_baselines.__all__)
def test_page_names_every_method(name):
    assert f"`{name}" in PAGE or name == "ExactLloyd"
