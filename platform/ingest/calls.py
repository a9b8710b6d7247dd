"""Calls to the worker, from processes that are not Celery's own."""

from functools import cache

from celery import Celery

QUEUE = "ingest"


@cache
def _app() -> Celery:
    app = Celery("tidemark-calls")
    app.config_from_object("django.conf:settings", namespace="CELERY")
    return app


def call_ingest(slot: int) -> None:
    """The worker looks what waits. Raises kombu's OperationalError when Redis is away."""
    _app().send_task("ingest.tasks.ingest_slot", (slot,), queue=QUEUE, retry=False)
