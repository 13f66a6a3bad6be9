"""The key that IDs are hashed with: a secret file, the same at all parties."""

import pytest
from typer.testing import CliRunner

from secfc.agreement.key_files import ids_key_words, read_ids_key, write_new_ids_key
from secfc.cli.app import app
from secfc.errors import ParameterError


def test_a_key_that_was_handed_over_as_text_may_end_in_blanks(tmp_path):
    path = tmp_path / "ids.key"
    key = write_new_ids_key(path)
    path.write_text(path.read_text().rstrip() + "  \r\n\n")
    assert read_ids_key(path) == key


@pytest.mark.parametrize("change", [lambda t: t[:-4], lambda t: t[14:], lambda t: t + "AAAA", lambda t: "é"])
def test_what_is_no_key_is_refused_and_not_shown(tmp_path, change):
    path = tmp_path / "ids.key"
    write_new_ids_key(path)
    text = change(path.read_text().strip())
    path.write_text(text)
    with pytest.raises(ParameterError) as caught:
        read_ids_key(path)
    assert str(caught.value) == f"{path}: not an ID key as secfc ids-key writes it"


def test_words_depend_on_the_key_alone_and_a_private_key_is_no_id_key(tmp_path):
    assert ids_key_words(bytes(32)) == ids_key_words(bytes(32))
    assert ids_key_words(bytes(32)) != ids_key_words(bytes(31) + b"\1")
    assert len(ids_key_words(bytes(32)).split()) == 12


def test_the_command_makes_a_key_once_and_shows_its_words(tmp_path):
    path = str(tmp_path / "ids.key")
    made = CliRunner().invoke(app, ["ids-key", path])
    words = ids_key_words(read_ids_key(tmp_path / "ids.key"))
    shown = CliRunner().invoke(app, ["ids-key", path, "--show"])
    for done in (made, shown):
        assert done.exit_code == 0, done.output
        assert words in " ".join(done.output.split())
    again = CliRunner().invoke(app, ["ids-key", path])
    assert again.exit_code == 2
    assert "it exists and is left as it is" in " ".join(again.output.split())
