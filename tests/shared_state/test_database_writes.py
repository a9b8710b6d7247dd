"""A PostgreSQL that answers and takes no writes: what /readyz says of it."""

from typing import Any

import pytest

from shared_state.redis_client import client as redis
from tests.readiness import readyz
from tests.unwritable_database import full_database, read_only_database

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_redis")]


def writes(client: Any) -> tuple[str, dict[str, Any]]:
    """The word and the check, found anew."""
    redis().flushdb()
    found = readyz(client)[1]
    return found["status"], found["checks"]["writes"]


def test_a_read_only_server_is_degraded_and_named(client: Any) -> None:
    with read_only_database():
        status, found = writes(client)
    assert (status, found["cause"]) == ("degraded", "database_read_only")
    assert "read-only" in found["why"] and found["remedy"]
    assert writes(client)[1]["ok"]


def test_a_full_disk_is_degraded_and_named_until_it_has_room(client: Any) -> None:
    with full_database() as free_it:
        status, found = writes(client)
        assert (status, found["cause"]) == ("degraded", "database_full")
        free_it()
        assert writes(client)[1]["ok"]


def test_one_process_tries_for_all(client: Any, django_assert_max_num_queries: Any) -> None:
    assert writes(client)[1]["ok"]
    with read_only_database():
        assert readyz(client)[1]["checks"]["writes"]["ok"], "tried a moment ago"
