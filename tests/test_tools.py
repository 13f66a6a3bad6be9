"""What happens to tests whose programs are missing."""

import pytest
from support import tools


@pytest.fixture
def bare(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(tools, "glob", lambda _: [])
    return monkeypatch


@pytest.mark.parametrize(("find", "name"), [(tools.chromium, "chromium"), (tools.postgresql, "postgresql")])
def test_a_test_skips_by_name(bare, find, name):
    for listed in ("", "something else"):
        bare.setenv("SECFC_NO_SKIPS", listed)
        with pytest.raises(pytest.skip.Exception, match=f"^{name} is not installed$"):
            find()


@pytest.mark.parametrize(("find", "name"), [(tools.chromium, "chromium"), (tools.postgresql, "postgresql")])
def test_a_test_that_must_not_skip_fails(bare, find, name):
    bare.setenv("SECFC_NO_SKIPS", "chromium postgresql")
    with pytest.raises(pytest.fail.Exception, match=f"^{name} is not installed, and SECFC_NO_SKIPS"):
        find()
