"""Repairs kombu 5.7's transport for Redis: a worker whose acknowledgement fails takes no more.

kombu counts the task as unfinished until the connection breaks, which a Redis that hangs need not
do: a worker that prefetches one task for each process then takes none any more. It is the symptom
of celery/celery#8091, whose fix (celery/kombu#2007) covers broken connections alone.
"""

import logging
from typing import Any

from kombu.transport import redis, virtual

log = logging.getLogger(__name__)


class QoS(redis.QoS):
    """A task whose acknowledgement fails is done for the worker all the same. The acknowledgement
    is sent later, before tasks of lost workers are restored, since this one would be among them.
    """

    channel: Any
    unacked_key: str
    unacked_index_key: str

    def __init__(self, channel: Any, prefetch_count: int = 0) -> None:
        super().__init__(channel, prefetch_count)
        self._owed: set[str] = set()

    def ack(self, delivery_tag: str) -> None:
        try:
            super().ack(delivery_tag)
        except self.channel.connection_errors as error:
            log.warning("the broker hears later that a task is done: %s", error)
            self._owed.add(delivery_tag)
            virtual.QoS.ack(self, delivery_tag)

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        try:
            super().reject(delivery_tag, requeue)
        except self.channel.connection_errors as error:
            log.warning("the broker hears later that a task was not done: %s", error)
            if not requeue:  # or it is restored as one of a lost worker
                self._owed.add(delivery_tag)
            virtual.QoS.ack(self, delivery_tag)

    def restore_visible(self, *arguments: Any, **options: Any) -> None:
        if self._owed:
            with self.channel.conn_or_acquire() as client:
                client.zrem(self.unacked_index_key, *self._owed)
                client.hdel(self.unacked_key, *self._owed)
            self._owed.clear()
        super().restore_visible(*arguments, **options)


redis.Channel.QoS = QoS
