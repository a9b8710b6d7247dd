"""Queues tasks for the workers, from any process and any package."""

from functools import cache

from celery import Celery


@cache
def _app() -> Celery:
    app = Celery("tidemark-calls")
    app.config_from_object("django.conf:settings", namespace="CELERY")
    return app


def call_worker(
    task: str, *args: object, queue: str | None = None, expires_seconds: float | None = None
) -> None:
    """Queues the task of that name once. Raises redis' or kombu's errors when Redis is down."""
    _app().send_task(task, args, queue=queue, expires=expires_seconds, retry=False)
