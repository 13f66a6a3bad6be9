"""Breaks a party at a chosen message. Python imports this at its start if PYTHONPATH names this folder.

`SECFC_SABOTAGE` names a JSON file. It gives a site's name or "server", a message type, a round and an action.
"site" kills every process of the party, "job" only that of the job; any other text is raised as an exception.
"""

import json
import os
import signal
import sys
from pathlib import Path


def _break(name, kind, round_, what):
    from secfc.protocol.client import Client  # noqa: PLC0415 - only where it is broken
    from secfc.protocol.server import Server  # noqa: PLC0415

    role = Server if name == "server" else Client
    real = role.receive

    def receive(self, message):
        if type(message).__name__ == kind and message.round == round_:
            if what not in ("site", "job"):
                raise ValueError(what)
            if what == "site":
                os.kill(os.getppid(), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)
        return real(self, message)

    role.receive = receive


if "SECFC_SABOTAGE" in os.environ:
    _programs = {
        f"nvflare.private.fed.app.{one}" for one in ("client.worker_process", "server.runner_process")
    }
    if _programs & set(sys.orig_argv):
        _is_server = "nvflare.private.fed.app.server.runner_process" in sys.orig_argv
        for _name, _plan in json.loads(Path(os.environ["SECFC_SABOTAGE"]).read_text()).items():
            if _is_server == (_name == "server") and (_is_server or _name in sys.orig_argv):
                _break(_name, *_plan)
