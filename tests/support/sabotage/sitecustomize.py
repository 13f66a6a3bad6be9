"""Breaks a site at a chosen message. Python imports this at its start where PYTHONPATH names this folder.

`SECFC_SABOTAGE` names a JSON file: for a site's name, a message type, a round, and what happens. "site" and
"job" kill the site's every process or that of the job only; another text is raised as an exception.
"""

import json
import os
import signal
import sys
from pathlib import Path


def _break(site, kind, round_, what):
    from secfc.protocol.client import Client  # noqa: PLC0415 - only where it is broken

    real = Client.receive

    def receive(self, message):
        if type(message).__name__ == kind and message.round == round_:
            if what not in ("site", "job"):
                raise ValueError(what)
            if what == "site":
                os.kill(os.getppid(), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)
        return real(self, message)

    Client.receive = receive


if "nvflare.private.fed.app.client.worker_process" in sys.orig_argv and "SECFC_SABOTAGE" in os.environ:
    for _site, _plan in json.loads(Path(os.environ["SECFC_SABOTAGE"]).read_text()).items():
        if _site in sys.orig_argv:
            _break(_site, *_plan)
