"""Fixtures of tipping: cleared caches, and TTL classes with small batches."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

SEED = bytes(range(32))


@pytest.fixture(autouse=True)
def forgetful(nothing_remembered: None) -> None:
    """Clears the process's caches before each test."""
    from tipping import calls

    calls.forget()


@pytest.fixture
def ttl_classes(db: None) -> Callable[..., Any]:
    """`ttl_classes(600, 7200)`: these classes alone, with windows of a minute and batches of 32
    addresses; the first is the default.
    """
    from tipping.models import TtlClass

    def make(*ttls: int, window: int = 60, size: int = 32) -> list[Any]:
        TtlClass.objects.all().delete()
        return [
            TtlClass.objects.create(
                ttl_seconds=ttl, window_seconds=window, batch_size=size, is_default=not place
            )
            for place, ttl in enumerate(ttls)
        ]

    return make


@pytest.fixture
def opened(ttl_classes: Callable[..., Any]) -> Callable[..., Any]:
    """The same classes with a batch of each class open since `now`, and another one prepared."""
    from tipping.services import batches

    def make(*ttls: int, now: datetime, **options: Any) -> list[Any]:
        made = ttl_classes(*ttls, **options)
        batches.prepare_batches(seed=SEED, now=now)
        batches.rotate_due(now=now)
        return list(made)

    return make
