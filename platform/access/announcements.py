"""Announces changes of customers, tiers and keys to every process by a number in Redis."""

import logging
import secrets
from typing import Any, TypeVar

import redis
from django.db import models, transaction
from django.db.models.signals import post_delete, post_save

from access import key_cache
from access.buckets import GENERATION_KEY
from shared_state.redis_client import client

log = logging.getLogger(__name__)

_TRIES = 3


M = TypeVar("M", bound=models.Model)


class Announced(models.QuerySet[M]):
    """Announces the writes of many rows at once, for which Django sends no signal. Changes by SQL
    are only noticed after key_cache.LONGEST_SECONDS.
    """

    def update(self, **values: Any) -> int:
        rows = super().update(**values)
        _announce()
        return rows

    def bulk_create(self, *args: Any, **options: Any) -> list[M]:
        created = super().bulk_create(*args, **options)
        _announce()
        return created


def _announce() -> None:
    """When the transaction commits."""
    transaction.on_commit(_move)


def _move() -> None:
    key_cache.forget()
    for _ in range(_TRIES):
        try:
            # Random, not incremented: a Redis that lost its data must not repeat a number.
            client().set(GENERATION_KEY, secrets.randbits(52) + 1)
            return
        except redis.RedisError as error:
            problem = error
    log.error("keys changed, but Redis is unavailable: other processes may take %s s: %s",
              key_cache.LONGEST_SECONDS, problem)  # fmt: skip


def _changed(**_signal: Any) -> None:
    _announce()


def connect(*changed: type[models.Model]) -> None:
    """Announces each row of these models that is saved or deleted."""
    for model in changed:
        for signal in (post_save, post_delete):
            signal.connect(_changed, sender=model, dispatch_uid=f"announce-{model.__name__}")
