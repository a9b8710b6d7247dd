"""What a Celery worker does so that a hang of it is noticed: of its loop, or of a pool process."""

import logging
import os
import signal
import time
from typing import Any

import psutil
from celery import bootsteps
from celery.signals import celeryd_after_setup, worker_shutdown
from celery.worker.consumer import Consumer

from columns.collector import keep_loaded
from embedded.notify import allowed, progress
from embedded.processes import status_of
from shared_state import heartbeats

log = logging.getLogger(__name__)

# A stopped pool process is killed: the worker starts another, and its task comes back.
STOPPED_SECONDS = 10.0


class Progress(bootsteps.StartStopStep):
    """Every second, from the loop that takes tasks: progress to the supervisor, and a heartbeat
    unless a pool process is stopped.
    """

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def __init__(self, consumer: Any, **options: Any) -> None:
        super().__init__(consumer, **options)
        self._timer: Any = None
        self._stopped: dict[int, float] = {}

    def start(self, consumer: Any) -> None:
        self.stop(consumer)
        self._turn(consumer)
        self._timer = consumer.timer.call_repeatedly(heartbeats.SECONDS, self._turn, (consumer,))

    def stop(self, consumer: Any) -> None:
        if self._timer is not None:
            consumer.timer.cancel(self._timer)
            self._timer = None

    def _turn(self, consumer: Any) -> None:
        progress()
        if not self._end_the_stopped(consumer):
            heartbeats.beat_quietly(kind_of(consumer.hostname))

    def _end_the_stopped(self, consumer: Any) -> bool:
        """Whether a pool process is stopped."""
        now = time.monotonic()
        pool = consumer.pool.info.get("processes", ())
        pids = [pid for pid in pool if status_of(pid) == psutil.STATUS_STOPPED]
        self._stopped = {pid: self._stopped.get(pid, now) for pid in pids}
        for pid, since in self._stopped.items():
            if now - since >= STOPPED_SECONDS:
                log.warning(
                    "pool process %d is stopped for %.0f s: killed, its task runs again",
                    pid,
                    now - since,
                )
                os.kill(pid, signal.SIGKILL)
        return bool(pids)


@celeryd_after_setup.connect
def _share_what_is_loaded(**_: object) -> None:
    keep_loaded()


@worker_shutdown.connect
def _end_heartbeat(sender: Any, **_: object) -> None:
    """One that ends in order does not count as hung, on whatever machine it was."""
    heartbeats.end(kind_of(sender.hostname))


class WatchedConsumer(Consumer):
    """Waiting for the broker is progress, too: it is tried again every few seconds."""

    def ensure_connected(self, conn: Any) -> Any:
        with allowed(float("inf")):
            return super().ensure_connected(conn)


def kind_of(hostname: str) -> str:
    """`ingest` of a worker that was started with --hostname ingest@%h."""
    kind = hostname.partition("@")[0]
    return "worker" if kind == "celery" else kind
