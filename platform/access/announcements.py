"""Telling every process that customers, tiers or keys changed: a number in Redis that moves."""

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
    """To be called after any change of a key, tier or customer that no save or delete made
    (a queryset's update). Processes hear of it once the transaction is there to be read.
    """
    transaction.on_commit(_move)


def _move() -> None:
    key_cache.forget()
    for _ in range(_TRIES):
        try:
            # Random, not counted up: a Redis that lost its data must not repeat a number.
            client().set(GENERATION_KEY, secrets.randbits(52) + 1)
            return
        except redis.RedisError as error:
            problem = error
    log.error("keys changed, but Redis could not be told: other processes may take %s s: %s",
              key_cache.LONGEST_SECONDS, problem)  # fmt: skip


def _changed(**_signal: Any) -> None:
    announce()


def connect() -> None:
    for model in (ApiKey, Customer, Tier):
        for signal in (post_save, post_delete):
            signal.connect(_changed, sender=model, dispatch_uid=f"announce-{model.__name__}")
