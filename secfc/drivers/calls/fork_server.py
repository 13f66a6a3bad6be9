"""The program that forks the processes of parties. It has imported their modules and has no data of a run.

A new interpreter imports for a third of a second. So one program imports for all parties of a run. It has no
rows or keys and draws no random numbers: secrets and masks come after the fork.

Standard input is a Unix socket. A request is one byte with three descriptors: standard input and output of a
new process, and a socket. On that socket the server sends the process's number, and its exit status at its
end. It reaps the process when the other end is closed, so its number is not reused before.
"""

import ctypes
import gc
import logging
import os
import selectors
import signal
import socket
import sys
from contextlib import suppress
from typing import NoReturn, cast

if __name__ == "__main__":
    gc.disable()  # collections take a tenth of the imports' time

from secfc.crypto.keystream import faster_mode
from secfc.drivers.calls import party_process
from secfc.drivers.calls.processes import COMPILED, NUMBER
from secfc.kernels import load

_PR_SET_PDEATHSIG = 1  # of prctl(2): sets the signal that a process gets when its parent ends


def main() -> int:
    """Fork processes on request. A forked process returns its party's exit status."""
    if COMPILED in sys.argv[1:]:
        load()
    faster_mode()  # is measured: here once, and not in each process
    gc.freeze()  # otherwise the collector writes to shared pages, which are then copied
    gc.enable()
    with socket.socket(fileno=os.dup(0)) as control, selectors.DefaultSelector() as selector:
        selector.register(control, selectors.EVENT_READ)
        forked = _serve(control, selector)
    return party_process.main() if forked else 0


def _serve(control: socket.socket, selector: selectors.BaseSelector) -> bool:
    """Fork on request, until the driver and all processes have ended. True in a new process."""
    while selector.get_map():
        for key, _ in selector.select():
            if key.fileobj is not control:
                _ended(selector, key)
                continue
            byte, descriptors, _, _ = socket.recv_fds(control, 1, 3)
            if not byte:
                selector.unregister(control)
            elif _forked(selector, descriptors):
                return True
    return False


def _forked(selector: selectors.BaseSelector, descriptors: list[int]) -> bool:
    """Fork. True in the new process, which has these descriptors."""
    lives, held = os.pipe()  # only the new process has the end for writing, until it ends
    parent, pid = os.getpid(), os.fork()
    if not pid:
        # Without the server nobody would learn that the process ended. So it must end with the server.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        os.setsid()  # Ctrl-C goes to the driver only
        os.dup2(descriptors[0], 0)
        os.dup2(descriptors[1], 1)
        for key in list(selector.get_map().values()):
            if key.data is not None:
                key.data[1].close()
            if isinstance(key.fileobj, int):
                os.close(key.fileobj)
        for one in (*descriptors, lives):
            os.close(one)
        return True
    for one in (*descriptors[:2], held):
        os.close(one)
    told = socket.socket(fileno=descriptors[2])
    selector.register(lives, selectors.EVENT_READ, (pid, told))
    _tell(told, pid)
    return False


def _ended(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    """Send how a process ended. If that was sent already, reap it."""
    pid, told = key.data
    selector.unregister(key.fileobj)
    if key.fileobj is told:
        cast(socket.socket, told).close()
        os.waitpid(pid, 0)
        return
    os.close(cast(int, key.fileobj))
    found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert found is not None
    _tell(told, found.si_status if found.si_code == os.CLD_EXITED else -found.si_status)
    selector.register(told, selectors.EVENT_READ, (pid, told))


def _tell(told: socket.socket, number: int) -> None:
    with suppress(OSError):  # the driver has ended
        told.sendall(NUMBER.pack(number))


def _end(status: int) -> NoReturn:
    """End this process without finalising what it has imported, which takes tens of milliseconds."""
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    _end(main())
