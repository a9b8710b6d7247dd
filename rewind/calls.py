"""Calls to the worker of simulations, from whatever process."""

from functools import cache
from uuid import UUID

from celery import Celery

from shared_state.redis_client import client

QUEUE = "simulations"
_MOST_WAITING = 1_000


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


def is_crowded() -> bool:
    """Whether so many calls wait that no more should come: while no worker runs, jobs would be
    called again and again.
    """
    return int(client().llen(QUEUE)) > _MOST_WAITING
