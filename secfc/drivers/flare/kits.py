"""FLARE's startup kits: names and paths that FLARE can use, and a `local` folder that allows no code."""

import json
import os
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any, Literal

from secfc.agreement.consortium import RESERVED
from secfc.errors import ParameterError
from secfc.tables.outputs import replace_text, write_json

Role = Literal["server", "client", "lead"]
"""FLARE's names. "lead" submits jobs and can do nothing at the sites."""

SERVER, ADMIN = RESERVED, "admin@example.com"
"""Names of the coordinator's participants in FLARE. FLARE needs an e-mail address for the second."""

CLASSES: dict[Role, str] = {
    "server": "secfc.drivers.flare.components.CoordinatorController",
    "client": "secfc.drivers.flare.components.SiteExecutor",
}
"""The only class of a job that each side builds."""

SITE_FILE = "site.toml"  # name of the site file, in the kit's `local` folder
_NOBODY = dict.fromkeys(("clone_job", "shell_commands", "byoc", "server-predeployed-flwr"), "none")
_VIEW = {"view": "any"}
_RUN = dict.fromkeys(("submit_job", "manage_job", "download_job", "view", "operate"), "any")

AUTHORIZATION: dict[str, Any] = {
    "format_version": "1.0",
    "permissions": {
        "project_admin": _RUN | _NOBODY,
        "lead": _RUN | {"operate": "none"} | _NOBODY,
        "org_admin": _VIEW | {"operate": "o:site"} | _NOBODY,
        "member": _VIEW | _NOBODY,
    },
}
"""Nobody, not even the administrator, can send code (`byoc`) or read a party's files (`shell_commands`)."""

_TELLS_OTHERS = {"site_log_streamer"}
"""Components that send a site's logs to the server. A log can quote private values."""

STORE, JOBS = "store", "jobs-storage"
"""The folder of jobs in a server's kit, and FLARE's name of a folder in it.

By default FLARE uses /tmp/nvflare, which all users and servers of a machine share.
"""

_STORED = re.compile(rf'"[^"]*/({JOBS}|snapshot-storage)"')
_RUN_NAME = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")  # FLARE's, of the folder of a job
_RUNS_LEFT = 10  # runs whose logs stay in a kit, for people who look for an error

_COMMUNICATION = {"streaming_retry_wait": 120.0, "streaming_retry_timeout": 600.0}
"""Seconds until FLARE repeats an unanswered part of a call or answer, and seconds until it stops.

FLARE's defaults are 5 and 60. On a slow line 8 MiB take longer. Then they are queued again before they are
sent, and do not arrive. `conversation` repeats a call after 30 s, also after a broken connection.
"""


def organisation_of(name: str, role: Role) -> str:
    """FLARE's name for the organisation of a participant."""
    return name.replace("-", "_") if role == "client" else "coordinator"


def check_name(name: str, *, what: str) -> None:
    """ParameterError, with `what`, for a name such as 12, nan or yes, which FLARE takes for another value."""
    from nvflare.fuel.utils.argument_utils import parse_vars  # noqa: PLC0415 - most of this file needs no FLARE

    for value in (name, organisation_of(name, "client")):
        if parse_vars([f"uid={value}"]) != {"uid": value}:
            raise ParameterError(
                f"{what}: FLARE takes {name!r} for a number or for yes or no; use another name"
            )


def check_path(kit: Path) -> None:
    """ParameterError for the path of a kit, or of Python, that FLARE does not pass on whole to a job."""
    for path in (str(kit.resolve()), sys.executable):
        try:
            words = shlex.split(path, comments=True)
        except ValueError:  # a quote or a backslash without its partner
            words = []
        if words != [path] or {"{", "}"} & set(path):
            text = "FLARE needs a path without blanks, line breaks, quotes, backslashes, '#', '{' and '}'"
            raise ParameterError(f"{path!r}: {text}")


def use_site_file(kit: Path, site_file: Path, *, home: Path) -> None:
    """Have the jobs of a site's kit, which is or will be at `home`, read this site file."""
    own = site_file.parent.resolve() / site_file.name
    draft = kit / "local" / f".{SITE_FILE}"
    draft.unlink(missing_ok=True)
    draft.symlink_to(os.path.relpath(own, (home / "local").resolve()))
    draft.replace(kit / "local" / SITE_FILE)


def use_store(kit: Path) -> None:
    """Have FLARE's server keep jobs in its kit, where the kit is now. FLARE needs absolute paths."""
    path = kit / "local" / "resources.json"
    store = json.dumps(str(kit.resolve() / STORE))[1:-1]  # escaped for a JSON string
    text = _STORED.sub(lambda found: f'"{store}/{found[1]}"', path.read_text(encoding="utf-8"))
    replace_text(path, text)


def forget_runs(kit: Path) -> None:
    """Delete what FLARE keeps of a kit's runs, except for the latest. Results and logs of ours stay."""
    for folder in (kit, kit / STORE / JOBS):
        runs = [path for path in folder.glob("*-*-*-*-*") if _RUN_NAME.fullmatch(path.stem)]
        numbers = {
            path.stem: max(one.stat().st_mtime for one in runs if one.stem == path.stem) for path in runs
        }
        old = set(sorted(numbers, key=numbers.__getitem__)[:-_RUNS_LEFT])
        for path in runs:
            if path.stem in old:
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def refuse_code(kit: Path, role: Role) -> None:
    """Write authorization.json, resources.json and comm_config.json in `local` of a kit."""
    local = kit / "local"
    resources = json.loads((local / "resources.json.default").read_text(encoding="utf-8"))
    resources["class_allow_list"] = [CLASSES[role]]
    resources["class_list_enforcement_mode"] = "enforce"
    if role == "client":
        resources["allow_log_streaming"] = False
    resources["components"] = [one for one in resources["components"] if one["id"] not in _TELLS_OTHERS]
    written = {
        "resources.json": resources,
        "authorization.json": AUTHORIZATION,
        "comm_config.json": _COMMUNICATION,
    }
    for name, value in written.items():
        write_json(local / name, value)
