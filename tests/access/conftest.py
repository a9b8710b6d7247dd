"""Keys and tiers to test with. (Imports stand inside: Django is not set up when this is read.)"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def nothing_remembered(empty_redis: None) -> Iterator[None]:
    """Every test begins with a process that knows no key and no outage."""
    from access import key_cache, local_buckets, script_socket, usage, windows

    for module in (key_cache, local_buckets, script_socket, windows):
        module.forget()
    yield
    usage.flush()


@pytest.fixture
def tier(db: None) -> Callable[..., Any]:
    """`tier("basic", requests_per_second=10)`: a tier with these limits."""
    from access.models import Tier

    def make(name: str = "basic", rank: int = 10, **limits: Any) -> Tier:
        defaults = {"rank": rank, "requests_per_second": 10, "requests_burst": 10, **limits}
        return Tier.objects.update_or_create(name=name, defaults=defaults)[0]

    return make


@pytest.fixture
def issue(tier: Callable[..., Any]) -> Callable[..., Any]:
    """`issue(requests_per_second=10, scopes=[…])`: a new key, of a tier with these limits."""
    from access import store
    from access.services import keys

    def make(**options: Any) -> keys.IssuedKey:
        limits = {k: options.pop(k) for k in list(options) if k.endswith(("_second", "_burst"))}
        chosen = options.pop("tier", None) or tier(**limits)
        owner = store.customer_by_name("Ada")
        return keys.issue_key(owner, tier=chosen, name="test", **options)

    return make
