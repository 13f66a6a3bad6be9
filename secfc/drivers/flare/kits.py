"""What a FLARE startup kit's `local` folder must say, so that a party runs nothing that others ship."""

import json
from pathlib import Path
from typing import Any, Literal

from secfc.errors import ParameterError

Side = Literal["server", "site"]

CLASSES: dict[Side, str] = {
    "server": "secfc.drivers.flare.components.CoordinatorController",
    "site": "secfc.drivers.flare.components.SiteExecutor",
}
"""The one class of a job that each side builds."""

SITE_FILE = "secfc.toml"  # name of the site file, in the kit's `local` folder
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


def prepare_kit(kit: Path, side: Side) -> None:
    """Write `local/authorization.json` and `local/resources.json` of a startup kit.

    Raises ParameterError when the folder is no startup kit.
    """
    local = kit / "local"
    default = local / "resources.json.default"
    try:
        resources = json.loads(default.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise ParameterError(f"{kit}: not a FLARE startup kit, {default} cannot be read") from None
    resources["class_allow_list"] = [CLASSES[side]]
    resources["class_list_enforcement_mode"] = "enforce"
    if side == "site":
        resources["allow_log_streaming"] = False
    resources["components"] = [one for one in resources["components"] if one["id"] not in _TELLS_OTHERS]
    for name, value in (("resources.json", resources), ("authorization.json", AUTHORIZATION)):
        text = json.dumps(value, indent=2).replace(_SHARED_STORE, str(kit.resolve() / "store"))
        (local / name).write_text(text + "\n", encoding="utf-8")
