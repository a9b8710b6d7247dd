"""Calls to the worker, from processes that are not Celery's own."""

from functools import cache

from celery import Celery

from shared_state.redis_client import client

QUEUE = "ingest"


@cache
def _app() -> Celery:
    app = Celery("tidemark-calls")
    app.config_from_object("django.conf:settings", namespace="CELERY")
    return app


def call_ingest(slot: int) -> None:
    """The worker looks what waits. Raises redis' or kombu's errors when Redis is away.

    A call that nobody has taken yet will look later than now, so that it does for this one too:
    while no worker runs its queue stays short.
    """
    if client().llen(QUEUE):
        return
    _app().send_task("ingest.tasks.ingest_slot", (slot,), queue=QUEUE, retry=False)
