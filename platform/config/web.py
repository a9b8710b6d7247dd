"""The web server's parts, wired: the application, its limits and what each process runs."""

import math
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from socket import socket

from django.conf import settings
from django.urls import get_resolver, reverse

from config.wsgi import application
from embedded import notify
from gateway import edge, known_heads
from gateway.addresses import is_trusted
from gateway.routes import endpoint_at
from operations.services.watching import stand_in
from portal.services.uploading import member_sending, staff_sending
from shared_state import heartbeats
from webserver.limits import Limits
from webserver.load import Load
from webserver.master import Place, Serve
from webserver.worker import Worker, run_worker

# How long a thread keeps the interpreter's lock from the event loop, which needs it once for each
# socket that is ready: a few slow reads would else hold up all submissions.
_SWITCH_SECONDS = 0.0005


def limits(workers: int) -> Limits:
    """One process's share of what the settings grant to all."""
    return Limits(
        connections=math.ceil(settings.MAX_CONNECTIONS / workers),
        connections_per_address=math.ceil(settings.MAX_CONNECTIONS_PER_ADDRESS / workers),
        head_seconds=settings.REQUEST_HEAD_SECONDS,
        body_seconds=settings.REQUEST_BODY_SECONDS,
        body=settings.MAX_BODY,
        is_proxy=is_trusted,
    )


def worker(
    workers: int, progress: Callable[[], None] | None = None, load: Load | None = None
) -> Worker:
    """One process's worker."""
    lanes = edge.Lanes()
    made = Worker(
        application,
        lane_of=lanes.of,
        limits=limits(workers),
        refuse=edge.refuse,
        on_loop=partial(known_heads.answering, lanes, edge.at_once(application)),
        at_begin=lanes.begin,
        on_progress=progress,
        load=load,
        large=edge.large_bodies(lanes, _uploads()),
        client_of=edge.client_of,
    )
    made.lanes |= lanes.all
    return made


def _uploads() -> edge.Uploads:
    """The pages that take a file; each checks the session again, and the permission."""
    return {
        reverse("portal:replay_build"): member_sending,
        reverse("admin:rewind_replay_upload"): partial(staff_sending, "rewind.run_replay"),
        reverse("admin:rewind_programidl_upload"): partial(
            staff_sending, "rewind.change_programidl"
        ),
    }


def serving(workers: int) -> Serve:
    """What each process runs; what calls need is loaded now, before there are any."""
    get_resolver().url_patterns  # noqa: B018  (loads every area)
    application.load_middleware()
    endpoint_at("/")

    def serve(sockets: Sequence[socket], place: Place) -> None:
        master = os.getppid()

        def every_second() -> None:
            if not heartbeats.is_first("web"):
                return
            # The master forks, so that it has no thread of its own to write this.
            heartbeats.beat_quietly("web", at=place.master_turned(), pid=master)
            stand_in()

        def report_progress() -> None:
            place.progress()
            notify.progress()

        sys.setswitchinterval(_SWITCH_SECONDS)
        # One that hangs before its first turn is to be known as well.
        heartbeats.beat_quietly("web")
        heartbeats.start("web", also=every_second, by_progress=True)
        run_worker(worker(workers, report_progress, place.load), sockets)

    return serve
