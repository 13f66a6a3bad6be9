"""Pipes: the transport of calls between a coordinator and processes on this machine.

Each party has a process of its own. It is forked from a process that has only imported modules
(`secfc.drivers.calls.fork_server`), not from the caller's. So it has only the data sent to it, works in
notebooks and scripts, and cannot repeat another process's masks. Calls go over its standard input and output.
No port is opened.
"""

import json
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, BinaryIO, Self, cast

from numpy.typing import NDArray

from secfc.drivers.calls import framing
from secfc.drivers.calls.failures import as_error
from secfc.drivers.calls.processes import GRACE_SECONDS, ForkServer, Process, how_it_ended
from secfc.drivers.terms import RunTerms
from secfc.drivers.watch import logger
from secfc.errors import PartyError, SecFCError
from secfc.errors.codes import Code
from secfc.errors.escaping import shown

_STARTS = 3  # a party is lost after so many processes in a row that ended without another answer
_SAID = (framing.JSON, framing.ARRAY, framing.ANSWER)  # kinds of frames that a process writes
Give = Callable[[BinaryIO], None]  # writes the data for a party's process


class PartyProcess:
    """A party's process, which takes one call at a time.

    With `keeps` the party keeps a log, and its process is started again if it ends too early. `result` and
    `arrays` are what the process sent to the caller when the run was closed.
    """

    def __init__(self, forks: ForkServer, *, number: int, terms: RunTerms, give: Give, keeps: bool) -> None:
        self._forks, self._number, self._terms, self._give, self._keeps = forks, number, terms, give, keeps
        self._name = terms.names[number - 1]
        self.result: dict[str, Any] = {}
        self.arrays: list[NDArray[Any]] = []
        self._fruitless = 0  # processes that ended since the last answer
        self._asked: bytes | None = None  # the unanswered call
        self._lost: SecFCError | None = None  # why no process is started again
        self._starting = threading.Lock()
        self._begin()

    def _begin(self) -> None:
        """Start a process, and a thread that writes calls to it and reads answers."""
        self._calls: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[bytes | Exception] = queue.SimpleQueue()
        self.process = self._forks.start()
        self._thread = threading.Thread(
            target=self._serve, args=(self.process, self._calls, self._answers), daemon=True
        )
        try:
            self._thread.start()
        except BaseException:
            self.process.kill()
            how_it_ended(self.process)
            for stream in (self.process.stdin, self.process.stdout):
                cast(BinaryIO, stream).close()
            raise

    def send(self, data: bytes, timeout: float) -> bytes | None:
        """The answer to a call. None if there is none within the seconds given, or the call was dropped."""
        if self._lost is not None:
            raise self._lost
        until = time.monotonic() + timeout
        try:
            if self._asked is not None and self._asked != data:  # skip the answer to the call before
                self._take(self._answers.get(timeout=timeout))
            if self._asked is None:
                self._asked = data
                self._calls.put(data)
            return self._take(self._answers.get(timeout=max(0.0, until - time.monotonic())))
        except queue.Empty:
            return None

    def _take(self, answer: bytes | Exception) -> bytes | None:
        self._asked = None
        if isinstance(answer, Exception):
            self._start_again(answer)
        elif answer:
            self._fruitless = 0
            return answer
        return None

    def _start_again(self, error: Exception) -> None:
        """Start another process after one has ended, or raise the reason why none is started."""
        self._fruitless += 1
        self.process.kill()  # it has closed its output: it can send nothing more
        status = how_it_ended(self.process)
        if isinstance(error, SecFCError):
            self._lost = error
        elif isinstance(error, framing.NoFrameError) or not isinstance(error, OSError | EOFError):
            why = error if isinstance(error, framing.NoFrameError) else as_error(error)
            self._lost = PartyError(f"{self._name}: its output cannot be read: {shown(str(why))}")
        elif not self._keeps or self._fruitless >= _STARTS:
            self._lost = self._vanished(status)
        with self._starting:
            if self._lost is not None:
                raise self._lost
            logger.warning("%s: its process ended (%s) and is started again", self._name, status)
            self._forget()
            self._begin()

    def _vanished(self, status: str) -> PartyError:
        text = f"{self._name}: its process ended without a result ({status})"
        return PartyError(text, code=Code.PARTY_VANISHED, party=self._number)

    def _serve(
        self,
        process: Process,
        calls: "queue.SimpleQueue[bytes | None]",
        answers: "queue.SimpleQueue[bytes | Exception]",
    ) -> None:
        """Write calls to a process and queue its answers until either side ends. Then queue the error."""
        stdin, stdout = cast(BinaryIO, process.stdin), cast(BinaryIO, process.stdout)
        try:
            self._give(stdin)
            self._read(stdout)
            while (call := calls.get()) is not None:
                framing.write_frame(stdin, framing.CALL, call)
                answers.put(self._read(stdout))
        except Exception as error:  # without it a caller would wait for an answer forever
            answers.put(error)
        finally:
            with suppress(OSError):
                stdin.close()

    def _read(self, stdout: BinaryIO) -> bytes:
        """Read the next answer, empty for the first "ready". Keep results for the caller."""
        while True:
            frame = framing.read_frame(stdout, kinds=_SAID)
            if frame is None:
                raise EOFError
            kind, payload = frame
            if kind == framing.ANSWER:
                return payload
            if kind == framing.ARRAY:
                self.arrays.append(framing.load_array(payload))
                continue
            told = json.loads(payload)
            if "error" in told:
                raise self._terms.error_of(told, self._number)
            if "ready" in told:
                return b""
            self.result, self.arrays = told, []

    def stop(self, *, kindly: bool) -> None:
        """Make no more calls and end the process. With `kindly` it ends by itself."""
        with self._starting:  # no process is started after this
            self._lost = self._lost or self._vanished("it was stopped")
        self._calls.put(None)
        if not kindly:
            self.process.terminate()

    def ends(self, until: float) -> bool:
        """Wait until then for the end of the process. Whether it has ended."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(max(0.0, until - time.monotonic()))
            return True
        return False

    def wait(self) -> None:
        """Wait for the end of the process."""
        self.process.wait()
        self._forget()

    def _forget(self) -> None:
        self._calls.put(None)
        self._thread.join(GRACE_SECONDS)
        with suppress(OSError):
            cast(BinaryIO, self.process.stdout).close()


class Pipes:
    """The processes of a run's parties, which have ended when the block has.

    `parties` has of each what writes its data, and whether it keeps a log.
    """

    def __init__(self, terms: RunTerms, parties: Mapping[int, tuple[Give, bool]], *, compiled: bool) -> None:
        self._terms, self._parties, self._forks = terms, parties, ForkServer(compiled=compiled)
        self.processes: dict[int, PartyProcess] = {}

    def __enter__(self) -> Self:
        try:
            for j, (give, keeps) in self._parties.items():
                self.processes[j] = PartyProcess(
                    self._forks, number=j, terms=self._terms, give=give, keeps=keeps
                )
        except BaseException:
            self._end(kindly=False)
            raise
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._end(kindly=kind is None)

    def send(self, name: str, data: bytes, timeout: float) -> bytes | None:
        """Send a call to a client. See `secfc.drivers.calls.conversation.Send`."""
        return self.processes[self._terms.names.index(name) + 1].send(data, timeout)

    def _end(self, *, kindly: bool) -> None:
        for one in self.processes.values():
            one.stop(kindly=kindly)
        try:
            self._wait()
        except BaseException:  # Ctrl-C, perhaps for the second time
            for one in self.processes.values():
                one.process.kill()
            self._wait()
            raise
        finally:
            self._forks.end()

    def _wait(self) -> None:
        """Wait for the end of all processes. Those that are late are terminated together, then killed."""
        for kill in (False, True):
            until = time.monotonic() + GRACE_SECONDS
            for late in [one.process for one in self.processes.values() if not one.ends(until)]:
                if kill:
                    late.kill()
                else:
                    late.terminate()
        for one in self.processes.values():
            one.wait()
