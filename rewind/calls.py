"""Queues turns of simulation jobs, from any process."""

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
    """Queues that turn of the job for a worker. Raises redis' or kombu's errors when Redis is
    down: the schedule queues it later.
    """
    _app().send_task(
        "rewind.tasks.run_simulation_job", (str(job_id), turn), queue=QUEUE, retry=False
    )


def is_crowded() -> bool:
    """Whether the queue is too long for more calls: while no worker runs, each run of the schedule
    would queue the same jobs again.
    """
    return int(client().llen(QUEUE)) > _MOST_WAITING
