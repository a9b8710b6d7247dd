"""Queues turns of simulation jobs, from any process."""

from uuid import UUID

from shared_state.redis_client import client
from shared_state.worker_calls import call_worker

QUEUE = "simulations"
_MOST_WAITING = 1_000


def call_job(job_id: UUID, turn: int) -> None:
    """Queues that turn of the job for a worker. Raises redis' or kombu's errors when Redis is
    down: the schedule queues it later.
    """
    call_worker("rewind.tasks.run_simulation_job", str(job_id), turn, queue=QUEUE)


def is_crowded() -> bool:
    """Whether the queue is too long for more calls: while no worker runs, each run of the schedule
    would queue the same jobs again.
    """
    return int(client().llen(QUEUE)) > _MOST_WAITING
