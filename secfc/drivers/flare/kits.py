"""What a FLARE startup kit's `local` folder must say, so that a party runs nothing that others ship."""

import json
from pathlib import Path
from typing import Any, Literal

from secfc.agreement.consortium import RESERVED

Role = Literal["server", "client", "lead"]
"""FLARE's names; "lead" submits jobs, and does nothing at the sites."""

SERVER, ADMIN = RESERVED, "admin@example.com"
"""Names of the coordinator's participants in FLARE, which wants an address of e-mail for the second."""

CLASSES: dict[Role, str] = {
    "server": "secfc.drivers.flare.components.CoordinatorController",
    "client": "secfc.drivers.flare.components.SiteExecutor",
}
"""The one class of a job that each side builds."""

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
"""Nobody, not even the administrator, ships code (`byoc`) or reads a party's files (`shell_commands`)."""

_TELLS_OTHERS = {"site_log_streamer"}
"""Components that send a site's logs to the server: a log may quote what is nobody else's."""

_SHARED_STORE = "/tmp/nvflare"  # noqa: S108 - not used but replaced
"""Where a server keeps jobs by default: in a folder that all users and servers of a machine share."""

_COMMUNICATION = {"streaming_retry_wait": 120.0, "streaming_retry_timeout": 600.0}
"""Seconds until FLARE sends a part of a call or answer again without an answer, and then until it stops.

Its own are 5 and 60: on a slow line 8 MiB take longer, are queued again before they have left, and do not
arrive. What a broken connection lost comes with its call, which `conversation` repeats after 30.
"""


def organisation_of(name: str, role: Role) -> str:
    """What FLARE calls the organisation of a participant."""
    return name.replace("-", "_") if role == "client" else "coordinator"


def refuse_code(kit: Path, role: Role, home: Path) -> None:
    """Write authorization.json, resources.json and comm_config.json in `local` of a kit, later at `home`."""
    local = kit / "local"
    resources = json.loads((local / "resources.json.default").read_text(encoding="utf-8"))
    resources["class_allow_list"] = [CLASSES[role]]
    resources["class_list_enforcement_mode"] = "enforce"
    if role == "client":
        resources["allow_log_streaming"] = False
    resources["components"] = [one for one in resources["components"] if one["id"] not in _TELLS_OTHERS]
    store = json.dumps(str(home.absolute() / "store"))[1:-1]  # as it stands in a text of JSON
    written = {
        "resources.json": resources,
        "authorization.json": AUTHORIZATION,
        "comm_config.json": _COMMUNICATION,
    }
    for name, value in written.items():
        text = json.dumps(value, indent=2).replace(_SHARED_STORE, store)
        (local / name).write_text(text + "\n", encoding="utf-8")
