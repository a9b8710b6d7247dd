"""The broker's transport: kombu's own for Redis, connected as every client of REDIS_URL is, whose
workers survive a Redis that hangs.
"""

import logging
from typing import Any

from kombu.transport import redis, virtual
from redis.connection import Connection

from config.redis_urls import options_of

log = logging.getLogger(__name__)

_OF_TCP = ("host", "port", "socket_connect_timeout", "socket_keepalive", "socket_keepalive_options")


class QoS(redis.QoS):
    """A task whose acknowledgement fails is done for the worker all the same.

    kombu counts it as unfinished until the connection breaks, which a hang need not do: a worker
    that prefetches one task for each process then takes none any more. Here the acknowledgement is
    sent later, before tasks of lost workers are restored, since this one would be among them.
    """

    channel: Any
    _remove_from_indices: Any

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
        for tag in sorted(self._owed):
            self._remove_from_indices(tag).execute()
            self._owed.discard(tag)
        super().restore_visible(*arguments, **options)


class Channel(redis.Channel):
    """With that quality of service. The transport option `redis_url` says where Redis is: kombu's
    own addresses lack some of redis-py's options.
    """

    QoS = QoS
    from_transport_options = (*redis.Channel.from_transport_options, "redis_url")
    redis_url = "redis://"

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:
        options = options_of(self.redis_url)
        self.connection_class = options.pop("connection_class", Connection)
        found: dict[str, Any] = super()._connparams(asynchronous)  # type: ignore[misc]
        found |= {"db": 0, "username": None, "password": None}
        for name in _OF_TCP if "path" in options else ():
            found.pop(name, None)
        return found | options


class Transport(redis.Transport):
    """With those channels."""

    Channel = Channel
