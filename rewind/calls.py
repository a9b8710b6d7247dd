"""Calls to the worker of simulations, from whatever process."""

from functools import cache
from uuid import UUID

from celery import Celery

QUEUE = "simulations"


@cache
def _app() -> Celery:
    app = Celery("tidemark-simulations")
    app.config_from_object("django.conf:settings", namespace="CELERY")
    return app


def call_job(job_id: UUID, turn: int) -> None:
    """A worker takes that turn of the job, unless somebody has. Raises redis' or kombu's errors
    when Redis is away: then the clock calls it later.
    """
    _app().send_task(
        "rewind.tasks.run_simulation_job", (str(job_id), turn), queue=QUEUE, retry=False
    )
