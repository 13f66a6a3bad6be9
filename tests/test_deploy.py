"""The files in examples/deploy: an image without secrets or root, and units whose commands exist."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.main import get_command

from secfc.cli.app import app

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "examples" / "deploy"
UNITS = sorted(FOLDER.glob("*.service"))
PROGRAM = "/opt/secfc/bin/secfc"
COPIED = {"pyproject.toml", "README.md", "LICENSE", "secfc", "plaintext_baselines"}


def instructions():
    """Stages of the Dockerfile, each a list of (instruction, its words)."""
    text = (FOLDER / "Dockerfile").read_text()
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    stages = []
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        name, *words = shlex.split(line)
        if name == "FROM":
            stages.append([])
        stages[-1].append((name, words))
    return stages


def check_command(words):
    """AssertionError unless this is a command of ours with options of its own."""
    command, rest = get_command(app), list(words)
    while hasattr(command, "commands"):
        assert rest[0] in command.commands, words
        command = command.commands[rest.pop(0)]
    known = {option for one in command.params for option in one.opts}
    assert {word for word in rest if word.startswith("-")} <= known, words


def test_the_image_is_run_by_a_user_that_is_not_root_and_stops_at_sigterm():
    last = dict(instructions()[-1])
    assert last["USER"][0].isdecimal()
    assert int(last["USER"][0]) > 0
    assert last["STOPSIGNAL"] == ["SIGTERM"]
    assert last["VOLUME"] == ["/data"]
    order = [name for name, _ in instructions()[-1]]
    assert order.index("USER") > max(at for at, name in enumerate(order) if name in {"RUN", "COPY"})


def test_the_image_has_only_code_and_no_secret():
    copied = [words for stage in instructions() for name, words in stage if name in {"COPY", "ADD"}]
    sources = {word for words in copied for word in words[:-1] if not word.startswith("--")}
    own = {"/opt/secfc", "examples/deploy/entrypoint.sh"}
    assert sources == COPIED | own
    assert all((ROOT / source).exists() for source in sources - {"/opt/secfc"})
    assert not list(ROOT.glob("secfc/**/*.key"))
    given = [words for stage in instructions() for name, words in stage if name in {"ENV", "ARG"}]
    assert not re.search(r"key|secret|password|token", str(given), re.IGNORECASE)


def test_the_image_has_compiled_code_and_copies_it_where_numba_can_write():
    build, last = (dict(stage) for stage in instructions())
    settings = dict(one.split("=", 1) for one in build["ENV"])
    assert {"secfc.kernels.compiled", "secfc.psu.compiled"} <= set(re.split(r"[ ,]+", build["RUN"][-1]))
    own = dict(one.split("=", 1) for one in last["ENV"])
    assert own["NUMBA_CPU_NAME"] == settings["NUMBA_CPU_NAME"] == "generic"
    entry = (FOLDER / "entrypoint.sh").read_text()
    assert f"cp -r {settings['NUMBA_CACHE_DIR']} /tmp/\n" in entry
    assert own["NUMBA_CACHE_DIR"] == "/tmp/machine-code"
    assert entry.endswith('exec secfc "$@"\n')
    assert last["ENTRYPOINT"] == ["[/opt/secfc/bin/entrypoint.sh]"]


def test_commands_in_comments_of_the_image_exist():
    text = (FOLDER / "Dockerfile").read_text()
    found = re.findall(r"(?:secfc |`)(consortium [^`\n]+)", text)
    assert len(found) == 2
    for line in found:
        check_command(line.split())


def settings_of(unit):
    return dict(
        line.split("=", 1)
        for line in unit.read_text().splitlines()
        if "=" in line and not line.startswith("#")
    )


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_starts_a_command_that_exists_without_rights_and_stops_it_alone(unit):
    settings = settings_of(unit)
    program, *words = shlex.split(settings["ExecStart"])
    assert program == PROGRAM
    check_command(words)
    assert settings["User"] != "root"
    assert settings["KillMode"] == "mixed"
    assert int(settings["TimeoutStopSec"]) > 60
    assert settings["Restart"] == "on-abnormal"
    assert (settings["NoNewPrivileges"], settings["ProtectSystem"]) == ("yes", "strict")
    assert settings["ReadWritePaths"] == settings["WorkingDirectory"]


def test_there_is_a_unit_for_a_site_and_one_for_the_coordinator():
    assert [unit.name for unit in UNITS] == ["secfc-coordinator@.service", "secfc-site@.service"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_accepts_a_unit(unit, tmp_path):
    copy = tmp_path / unit.name.replace("@", "@x")
    copy.write_text(unit.read_text().replace(PROGRAM, shutil.which("true")))
    words = ["systemd-analyze", "verify", str(copy)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, copy.name in done.stderr) == (0, False), done.stderr


@pytest.mark.skipif(shutil.which("hadolint") is None, reason="hadolint is not installed")
def test_hadolint_accepts_the_image():
    words = ["hadolint", str(FOLDER / "Dockerfile")]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout


def has_docker():
    if shutil.which("docker") is None:
        return False
    words = ["docker", "info", "--format", "{{.ServerVersion}}"]
    return subprocess.run(words, capture_output=True, check=False, timeout=60).returncode == 0


@pytest.mark.skipif(not has_docker(), reason="no docker server can be reached")
def test_docker_accepts_the_image():
    words = ["docker", "build", "--check", "-f", str(FOLDER / "Dockerfile"), str(ROOT)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
