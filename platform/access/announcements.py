"""Announces changes of customers, tiers and keys to every process by a number in Redis."""

import logging
import secrets
from typing import Any

import redis
from django.db import transaction
from django.db.models.signals import post_delete, post_save

from access import key_cache
from access.buckets import GENERATION_KEY
from access.models import ApiKey, Customer, Tier
from shared_state.redis_client import client

log = logging.getLogger(__name__)

_TRIES = 3


def announce() -> None:
    """Call it after a change of keys, tiers or customers without a signal (a queryset's update).
    It is announced when the transaction commits.
    """
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
    announce()


def connect() -> None:
    for model in (ApiKey, Customer, Tier):
        for signal in (post_save, post_delete):
            signal.connect(_changed, sender=model, dispatch_uid=f"announce-{model.__name__}")
