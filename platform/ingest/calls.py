"""Calls the ingest worker from processes that are not Celery's own."""

from shared_state.redis_client import client
from shared_state.worker_calls import call_worker

QUEUE = "ingest"
# The name and its argument, a slot that no worker reads, are those of running older versions.
TASK = "ingest.tasks.ingest_slot"


def call_ingest() -> None:
    """Asks the worker to store queued slots. Raises redis' or kombu's errors when Redis is away.

    Sends nothing while an earlier call is waiting: that one will find these slots too, and the
    queue stays short while no worker runs.
    """
    if client().llen(QUEUE):
        return
    call_worker(TASK, 0, queue=QUEUE)
