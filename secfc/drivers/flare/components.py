"""The two classes that FLARE builds from a job, one for each side. They have no logic of a run.

A site's `class_allow_list` needs `secfc.drivers.flare.components.SiteExecutor`, the server's
`secfc.drivers.flare.components.CoordinatorController` (docs/deployment.md).
"""

import logging
import threading
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from nvflare.apis.event_type import EventType
from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.signal import Signal

from secfc.agreement.job_file import read_job
from secfc.agreement.key_files import COORDINATOR_KEY, read_key
from secfc.agreement.public_errors import COMPLETE
from secfc.agreement.statement import write_summary
from secfc.drivers.calls.callee import Callee
from secfc.drivers.calls.coordinator import Coordinator
from secfc.drivers.calls.coordinator_log import bound_run
from secfc.drivers.calls.failures import as_error, detail
from secfc.drivers.flare.jobs import LOGS, SUMMARY, job_of, take_signatures
from secfc.drivers.flare.kits import SITE_FILE
from secfc.drivers.flare.run_state import STANDING, Awaited, StandingFile, at_the_coordinator
from secfc.drivers.sites.site_files import SiteFiles
from secfc.drivers.terms import RunTerms
from secfc.errors import SecFCError
from secfc.protocol.progress import Progress

_LOG = logging.getLogger(__name__)

TOPIC = "secfc"
_DATA = "data"  # the only entry of a message: our bytes


class SiteExecutor(Executor):  # type: ignore[misc]
    """A site. From FLARE's job it takes only signatures of the other parties, and verifies them."""

    def __init__(self, signatures: object = "") -> None:
        super().__init__()
        self._signatures = signatures
        self._site: Callee | None = None
        self._file = ExitStack()  # of the file with the state of the run

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Open and end the site with FLARE's run."""
        if event_type == EventType.START_RUN:
            file = Path(fl_ctx.get_workspace().get_site_config_dir()) / SITE_FILE
            try:
                take_signatures(file, self._signatures)
            except SecFCError as error:  # later the site refuses the job and gives the reason
                _LOG.error("%s", detail(error))
            self._site = site = Callee(partial(SiteFiles, name=fl_ctx.get_identity_name(), file=file))
            kit = Path(fl_ctx.get_workspace().get_root_dir())
            self._file.enter_context(StandingFile(kit / STANDING, lambda: site.standing))
            fl_ctx.get_engine().register_aux_message_handler(TOPIC, self._on_call)
        elif event_type == EventType.END_RUN and self._site is not None:
            self._site.end()
            self._file.close()

    def _on_call(self, topic: str, request: Shareable, fl_ctx: FLContext) -> Shareable:
        assert self._site is not None
        answer = self._site.answer(request.get(_DATA))
        if answer is None:
            return make_reply(ReturnCode.BAD_REQUEST_DATA)
        reply = make_reply(ReturnCode.OK)
        reply[_DATA] = answer
        return reply

    def execute(
        self, task_name: str, shareable: Shareable, fl_ctx: FLContext, abort_signal: Signal
    ) -> Shareable:
        """FLARE's tasks are not used."""
        return make_reply(ReturnCode.TASK_UNKNOWN)


class CoordinatorController(Controller):  # type: ignore[misc]
    """The coordinator of a job file that `secfc.drivers.flare.jobs.export_job` named.

    If `resumable` it keeps a log in the server's kit. An interrupted job continues when submitted again.
    """

    def __init__(self, job: str, deadline: float, resumable: bool) -> None:
        super().__init__()
        self._job_argument, self._deadline, self._resumable = job, deadline, resumable
        self._changed, self._ready = threading.Condition(), set[str]()  # sites that can take calls

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Record that a site asks for tasks: it can take calls. FLARE logs an error for an earlier call."""
        if event_type == EventType.BEFORE_PROCESS_TASK_REQUEST:
            peer = fl_ctx.get_peer_context()
            if isinstance(peer, FLContext):
                with self._changed:
                    self._ready.add(peer.get_identity_name())
                    self._changed.notify_all()

    def start_controller(self, fl_ctx: FLContext) -> None:
        """Do nothing."""

    def stop_controller(self, fl_ctx: FLContext) -> None:
        """Do nothing."""

    def control_flow(self, abort_signal: Signal, fl_ctx: FLContext) -> None:
        """Run to the end and write the summary into FLARE's folder of the job."""
        engine = fl_ctx.get_engine()
        workspace = fl_ctx.get_workspace()
        logs = Path(workspace.get_root_dir()) / LOGS if self._resumable else None
        log, agreement, run = bound_run(read_job(job_of(self._job_argument)), logs)
        terms = RunTerms.of(agreement)

        def send(site: str, data: bytes, timeout: float) -> bytes | None:
            with self._changed:
                if not self._changed.wait_for(lambda: site in self._ready, timeout):
                    return None
            with engine.new_context() as context:
                replies = engine.send_aux_request(
                    targets=[site],
                    topic=TOPIC,
                    request=Shareable({_DATA: data}),
                    timeout=timeout,
                    fl_ctx=context,
                    optional=True,
                )
            reply = (replies or {}).get(site)
            if reply is None or reply.get_return_code(ReturnCode.OK) != ReturnCode.OK:
                return None
            answer: bytes | None = reply.get(_DATA)
            return answer

        there = {client.name for client in engine.get_clients()}
        said, awaited = ["starting"], Awaited()

        def on_progress(progress: Progress) -> None:
            said[0] = at_the_coordinator(progress, awaited(progress, coordinator.awaited))

        coordinator = Coordinator(
            terms=terms,
            run=run,
            identity=read_key(Path(workspace.get_site_config_dir()) / COORDINATOR_KEY),
            send=send,
            deadline=self._deadline,
            aborted=lambda: bool(abort_signal.triggered),
            on_progress=on_progress,
            log=log,
            absent=[client for client, name in enumerate(terms.names, start=1) if name not in there],
        )
        error: SecFCError | None = None
        with StandingFile(Path(workspace.get_root_dir()) / STANDING, lambda: said[0]):
            try:
                coordinator.run()
            except Exception as failure:
                error = as_error(failure)
                _LOG.error("%s", detail(error))
            said[0] = f"ended: {COMPLETE if error is None else coordinator.ending(error)}"
        folder = Path(workspace.get_run_dir(fl_ctx.get_job_id()))
        told = coordinator.summary(error)
        write_summary(folder / SUMMARY, agreement, coordinator.statements.values(), told)
        coordinator.leave()
        if error is not None:
            self.system_panic(coordinator.ending(error), fl_ctx)

    def process_result_of_unknown_task(self, *args: Any, **kwargs: Any) -> None:
        """FLARE's tasks are not used."""
