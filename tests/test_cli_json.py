"""--json of every command that a script reads: one form, and only that on standard output."""

import inspect
import json
import logging
import re
from pathlib import Path

import pytest
import typer
from support.organisations import Organisations
from typer.main import get_command
from typer.testing import CliRunner

from secfc.cli.app import app
from secfc.cli.render import log_file
from secfc.errors.codes import Code

PAGE = (Path(__file__).parents[1] / "docs" / "how-to" / "scripts.md").read_text()
KEYS = ["command", "ok", "code", "result", "error"]
PEOPLE_ONLY = {"demo"}


def commands(group, before=""):
    for name, one in group.commands.items():
        if hasattr(one, "commands"):
            yield from commands(one, f"{before}{name} ")
        if not hasattr(one, "commands") or one.invoke_without_command:
            yield f"{before}{name}", one


def with_json():
    return {
        name for name, one in commands(get_command(app)) if "as_json" in {given.name for given in one.params}
    }


def answer(*words, status=0):
    done = CliRunner().invoke(app, [*map(str, words), "--json"])
    assert done.exit_code == status, done.output
    said = json.loads(done.stdout)
    assert list(said) == KEYS
    assert (said["ok"], said["code"]) == (status == 0, status)
    return said


def test_every_command_that_a_script_reads_has_it_and_the_page_says_its_result():
    everyone = {name for name, _ in commands(get_command(app))}
    assert everyone - with_json() == PEOPLE_ONLY
    rows = re.findall(r"^\| (`[^|]+`) \| [^|]+ \|$", PAGE, flags=re.MULTILINE)
    told = [name for row in rows for name in re.findall(r"`([^`]+)`", row)]
    assert len(told) == len(set(told))
    assert with_json() == set(told)


@pytest.fixture
def organisations(tmp_path):
    return Organisations(tmp_path)


def test_an_answer_has_the_command_its_result_and_no_error(organisations):
    said = answer("job", "sign", organisations.site("north"))
    assert said["command"] == "job sign"
    assert said["error"] is None
    signatures = {"north": "signed", "south": "not signed", "west": "not signed"}
    assert said["result"] == {"digest": organisations.agreement.digest.hex(), "signatures": signatures}


def test_keys_and_a_roster_are_made_by_a_script(tmp_path):
    made = answer("keygen", tmp_path / "north.key", "--name", "north")["result"]
    assert (made["private"], made["public"]) == (str(tmp_path / "north.key"), str(tmp_path / "north.pub"))
    added = answer("roster", "add", tmp_path / "roster.toml", made["public"])["result"]
    assert [(one["client"], one["name"], one["words"]) for one in added["parties"]] == [
        (1, "north", made["words"])
    ]
    assert answer("roster", "show", tmp_path / "roster.toml")["result"] == added
    words = ["--key", made["private"], "--words", added["words"]]
    verified = answer("roster", "verify", tmp_path / "roster.toml", *words)["result"]
    assert verified == {"parties": ["north"], "key": "north", "words": "of this roster"}
    ids = answer("ids-key", tmp_path / "ids.key")["result"]
    assert answer("ids-key", tmp_path / "ids.key", "--show")["result"] == ids


def test_a_deposit_takes_options_after_the_name_of_the_command(tmp_path):
    said = CliRunner().invoke(app, ["deposit", "--json", "open", "--site", "clinic.toml"])
    assert said.exit_code == 2
    assert json.loads(said.stdout)["error"]["text"].endswith("give them after the name of the command")


def test_an_error_has_its_type_code_text_and_the_status(organisations):
    said = answer("job", "verify", organisations.job, status=3)
    assert said["result"] is None
    assert (said["error"]["type"], said["error"]["code"]) == ("AgreementError", Code.NOT_SIGNED)
    assert "north (not signed)" in said["error"]["text"]


def test_what_is_for_people_goes_to_standard_error(organisations):
    done = CliRunner().invoke(app, ["job", "check", str(organisations.site("north")), "--json"])
    assert json.loads(done.stdout)["result"]["rows"] == 12
    assert "12 rows fit the job" in done.stderr
    done = CliRunner().invoke(app, ["job", "check", str(organisations.site("north"))])
    assert "12 rows fit the job" in done.stdout


def test_a_run_and_its_audit_say_what_a_script_needs(organisations):
    organisations.sign()
    sites = map(organisations.site, organisations.names)
    said = answer("job", "run", organisations.job, *sites, "--quiet")
    summary = Path(said["result"]["summary"])
    assert said["result"]["lost"] == {}
    audited = answer("audit", summary, "--job", organisations.job)
    assert all(one["holds"] for one in audited["result"]["findings"])
    summary.write_text(summary.read_text().replace('"converged": true', '"converged": false', 1))
    audited = answer("audit", summary, "--job", organisations.job, status=1)
    assert [one["text"] for one in audited["result"]["findings"] if not one["holds"]]
    assert audited["error"] is None


def test_ctrl_c_is_an_answer_too(organisations, monkeypatch):
    def interrupt(path):
        raise KeyboardInterrupt

    monkeypatch.setattr("secfc.agreement.job_file.read_job", interrupt)
    said = answer("job", "verify", organisations.job, status=130)
    assert (said["result"], said["error"]) == (None, None)


def test_log_lines_are_texts_or_json_objects(tmp_path):
    logger = logging.getLogger("secfc.run")
    for as_json in (False, True):
        with log_file(tmp_path / "log", as_json=as_json):
            logger.info("run %s: phase share", "ab", extra={"run": "ab"})
    text, line = (tmp_path / "log").read_text().splitlines()
    assert text.endswith(" INFO secfc.run run ab: phase share")
    said = json.loads(line)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00", said.pop("at"))
    assert said == {"level": "INFO", "logger": "secfc.run", "text": "run ab: phase share", "run": "ab"}


def test_every_command_takes_a_log(organisations):
    log = organisations.folder / "log"
    done = CliRunner().invoke(
        app, ["job", "check", str(organisations.site("north")), "--log", str(log), "--log-format", "json"]
    )
    assert done.exit_code == 0
    assert log.exists()
    none = organisations.folder / "none" / "log"
    done = CliRunner().invoke(app, ["job", "show", str(organisations.job), "--log", str(none)])
    assert done.exit_code == 2
    assert "--log: " in done.output


def test_parameters_of_a_command_stay_in_its_help():
    command = dict(commands(get_command(app)))["consortium run"]
    names = [one.name for one in command.params]
    assert names[:3] == ["job", "signatures", "summary"]
    assert names[-3:] == ["as_json", "log", "log_format"]
    assert isinstance(command, typer.core.TyperCommand)
    assert inspect.getdoc(command.callback).startswith("The coordinator's last step")
