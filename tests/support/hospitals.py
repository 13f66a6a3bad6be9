"""Three hospitals that ask to take part and a coordinator that answers, with the real commands."""

from typer.testing import CliRunner

from secfc.agreement.key_files import read_key
from secfc.cli.app import app

NAMES = ("hospital-a", "hospital-b", "hospital-c")
JOB = """\
title = "Blood values"
roster = "roster.toml"
expires = 9999-12-31

[clustering]
k = 2
t = 1
ell = 1
seed = 1

[columns]
x = [0, 100]
"""


REFUSED = (2, 3)  # what was given cannot be used, or a signature is wrong


def command(*words, status=0):
    done = CliRunner().invoke(app, [*map(str, words)], env={"COLUMNS": "200", "NO_COLOR": "1"})
    assert done.exit_code in (status if isinstance(status, tuple) else (status,)), done.output
    return " ".join(done.output.split())


def set_up(folder, *, port=8002):
    for name in NAMES:
        (folder / name).mkdir()
        (folder / name / "rows.csv").write_text("patient,x\na,1\nb,2\nc,99\n")
        command(
            "consortium", "request", name, "--rows", "rows.csv", "--id", "patient", "--folder", folder / name
        )
    (folder / "job.toml").write_text(JOB)
    out = ["--host", "localhost", "--port", port, "--out", folder / "consortium"]
    said = command("consortium", "new", folder / "job.toml", *requests(folder), *out)
    assert "send it to every site" in said


def requests(folder):
    return [folder / name / f"{name}.request" for name in NAMES]


def new(folder, *paths, status=2, host="localhost"):
    out = folder / "another"
    words = command(
        "consortium", "new", folder / "job.toml", *paths, "--host", host, "--out", out, status=status
    )
    assert out.exists() == (status == 0)
    assert [path for path in folder.iterdir() if path.name.startswith(".")] == []
    return words


def accept(folder, name="hospital-a", status=2):
    site = folder / name / "site.toml"
    words = command(
        "consortium", "accept", folder / "consortium" / "consortium.toml", "--site", site, status=status
    )
    assert (folder / name / "consortium").exists() == (status == 0)
    assert [path for path in (folder / name).iterdir() if path.name.startswith(".")] == []
    return words


def resigned(folder, **changes):
    """The coordinator hands over a wrong file, signed."""
    from secfc.drivers.flare.hand_overs import read_consortium  # noqa: PLC0415 - needs FLARE

    path = folder / "consortium" / "consortium.toml"
    schema, _ = read_consortium(path)
    key = read_key(folder / "consortium" / "coordinator.key")
    path.write_text(schema.model_copy(update=changes).signed_text(key))
