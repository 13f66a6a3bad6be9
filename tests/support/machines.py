"""A coordinator and sites in one process, whose processes can be killed and started again."""

import contextlib
import threading
from functools import partial
from types import SimpleNamespace

from support.network import assert_exact

from secfc.agreement.key_files import COORDINATOR_KEY, read_key
from secfc.agreement.statement import COMPLETE
from secfc.drivers.calls.callee import Callee
from secfc.drivers.calls.coordinator import Coordinator
from secfc.drivers.calls.coordinator_log import bound_run
from secfc.drivers.calls.envelopes import Kind, decode_answer, decode_call
from secfc.drivers.sites.site_files import SiteFiles
from secfc.drivers.terms import RunTerms
from secfc.errors import SecFCError, StorageError

DEADLINE = 60.0  # by the run's own clock (support/clock.py)


class Killed(BaseException):
    """Signal 9 during a call."""


class Processes:
    """A coordinator and callees whose processes can be killed and started again.

    A killed process is an object that is not called any more. Its files stay; its locks are free.

    Parameters
    ----------
    names : sequence of str
        Of the clients.
    plan : dict of int to str
        Which process is killed at which call, counted over all clients: of `simulator.kills.KILLS`.
    """

    def __init__(self, names, plan=None):
        self.plan = dict(plan or {})
        self.calls = 0
        self.dead = False  # the coordinator
        self._answers, self._streams = {}, {}  # everything that was ever sent
        self.last, self.answered = {}, {}  # the last call that each site took, and its answer
        self.reaches = lambda name: True  # whether a call reaches a site now
        self.watch = None  # gets each call
        self._lock = threading.RLock()
        self.sites = {name: self._callee(name) for name in names}

    def kill(self, name):
        if self.sites[name]._log is not None:
            self.sites[name]._log.close()
        self.sites[name] = self._callee(name)

    def _send(self, name, data, timeout):
        with self._lock:
            if self.dead or not self.reaches(name):
                return None
            self.calls += 1
            if self.watch is not None:
                self.watch(decode_call(data))
            what = self.plan.pop(self.calls, "")
            if what == "site before":
                self.kill(name)
            elif what == "coordinator before":
                self._die()
                return None
            elif what == "client breaks":
                self.sites[name]._take = lambda call: 1 / 0
            elif what == "site during":
                self._die_taking(name, data)
                return None
            answer = self.sites[name].answer(data)
            if answer is not None:
                self._compare(name, decode_call(data), decode_answer(answer))
                self.last[name], self.answered[name] = data, answer
            if what == "site after":
                self.kill(name)
                return None
            if what == "coordinator after":
                self._die()
                return None
            return answer

    def _die(self):
        """Kill the coordinator: it writes nothing more, and its threads end."""
        self.dead = True

        def nothing(*_):
            raise StorageError("it was killed")

        for name in ("answers", "lost"):
            setattr(self.coordinator._log, name, nothing)
        for one in self.coordinator._conversations.values():
            one.stop()

    def _die_taking(self, name, data):
        """The site does everything that the call asks for, and is killed before it writes that to its log."""
        log = self.sites[name]._log
        if log is not None:

            def commit():
                raise Killed

            log.commit = commit
            with contextlib.suppress(Killed):
                self.sites[name].answer(data)
        self.kill(name)

    def _compare(self, name, call, answer):
        """Data is never sent again with other content, so no mask is used for two plaintexts."""
        stream = self._streams.setdefault(name, bytearray())
        again = stream[call.position : call.position + len(call.body)]
        if call.kind is not Kind.CLOSE:
            assert again == call.body[: len(again)]
            stream += call.body[len(again) :]
        if answer.kind not in (Kind.REPORT, Kind.ERROR) and (answer.kind is not Kind.DONE or answer.body):
            assert self._answers.setdefault((name, call.number), answer.body) == answer.body

    def run(self):
        """Start coordinators until one ends the run; return how many were started."""
        for count in range(1, 400):
            if not self.start().interrupted:
                return count
        raise AssertionError("the run does not end")

    def start(self):
        """Start a coordinator and wait for its end. Raises the error that ended the run."""
        self.dead = False
        log = self._log()
        self.coordinator = self._coordinator(log)
        try:
            self.coordinator.run()
        except SecFCError:
            if not self.coordinator.interrupted:
                self.coordinator.leave()
                raise
        self.coordinator.interrupted |= self.dead  # killed while it closed the run
        self.coordinator.leave()
        for one in self.coordinator._conversations.values():
            one.report(60.0)  # its threads do not call a site later
        return self.coordinator


class Machines(Processes):
    """A coordinator and sites with their own folders.

    Parameters
    ----------
    made : Organisations
    plan
        As for `Processes`.
    keep : sequence of str
        Sites with a folder for storage; all by default.
    """

    def __init__(self, made, plan=None, *, keep=None):
        for name in made.names if keep is None else keep:
            path = made.site(name)
            path.write_text(path.read_text().replace("[data]", f'storage = "scratch-{name}"\n[data]', 1))
        self.made = made
        super().__init__(made.names, plan)

    @property
    def logs(self):
        return sorted(path for path in self.made.folder.rglob("*.log*") if path.is_file())

    def _callee(self, name):
        return Callee(partial(SiteFiles, name=name, file=self.made.site(name)))

    def _log(self):
        log, self._agreement, _ = bound_run(self.made.agreement, self.made.folder / "logs")
        return log

    def _coordinator(self, log):
        return Coordinator(
            terms=RunTerms.of(self._agreement),
            run=log.run,
            identity=read_key(self.made.folder / COORDINATOR_KEY),
            send=self._send,
            deadline=DEADLINE,
            aborted=lambda: self.dead,
            log=log,
        )

    def assert_exact(self):
        """Labels equal those of exact Lloyd, and the run ended as it should."""
        assert_exact(self.made, SimpleNamespace(sites=self.sites, coordinator=self.coordinator))
        self.assert_whole()

    def assert_whole(self):
        """Every site's statement lists everything that left it, and no log is left."""
        made = self.made
        assert self.coordinator.lost == {}
        self.assert_logs_gone()
        assert [made.statement(name)["ended"] for name in made.names] == [COMPLETE] * len(made.names)
        stated = self.coordinator.statements
        assert sorted(stated) == list(range(1, len(made.names) + 1))
        sent = {}
        for one in stated.values():
            for kind, count in one.statement.sent.items():
                sent[kind] = sent.get(kind, 0) + count.bytes
        counted = {}
        for record in self.coordinator.meter.costs().messages:
            if record.sender:
                counted[record.kind] = counted.get(record.kind, 0) + record.size
        assert sent == counted

    def assert_logs_gone(self):
        assert self.logs == []
