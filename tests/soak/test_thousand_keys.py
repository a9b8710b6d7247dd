"""A customer's thousand keys, by the Python client, from their issue to their revocation."""

import logging
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from tests.clients.python_client import root_key_of
from tests.clients.service import Service, running_service
from tests.patience import PATIENCE_SECONDS
from tidemark import Management, Tidemark, errors

pytestmark = pytest.mark.soak

logging.getLogger("httpx2").setLevel(logging.WARNING)  # a line a request
KEYS = 1_000
USED = 50


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with running_service() as service:
        yield service


@pytest.fixture
def management(service: Service) -> Iterator[Management]:
    with Management(service.base_url, root_key_of(service)) as client:
        yield client


def test_a_thousand_keys_from_issue_to_revocation(service: Service, management: Management) -> None:
    began = datetime.now(UTC)
    took: dict[str, float] = {}

    def timed(name: str, since: float) -> float:
        took[name] = round(time.monotonic() - since, 1)
        return time.monotonic()

    at = time.monotonic()
    customer = management.customers.create(name="Ada")
    issued = [
        management.keys.create(customer=customer.id, tier="basic", name=f"key {number}")
        for number in range(KEYS)
    ]
    at = timed("issued", at)
    assert len({key.secret for key in issued}) == KEYS
    for key in issued:
        limited = management.keys.change(key.id, version=key.version, calls_per_month=100)
        assert limited.calls_per_month == 100
    at = timed("limited", at)
    rotated = [management.keys.rotate(key.id, overlap_hours=1) for key in issued]
    assert [key.rotated_from for key in rotated] == [key.id for key in issued]
    at = timed("rotated", at)

    for key in rotated[:USED]:
        with Tidemark(service.base_url, key.secret) as client:
            assert client.rewind.get_rewind_coverage().latest_slot is None
    at = timed(f"{USED} used", at)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        usage = management.usage.read(span="24h", customer=customer.id)
        if usage.counts.counted >= USED or time.monotonic() > deadline:
            break
        time.sleep(0.5)
    assert usage.counts.counted == USED
    assert [(each.method, each.status, each.calls) for each in usage.methods] == [
        ("getRewindCoverage", "ok", USED)
    ]
    rows = management.usage.csv(span="24h", customer=customer.id, of="rows").splitlines()
    assert sum("getRewindCoverage" in row for row in rows) == USED
    at = timed("usage read", at)

    listed = list(management.keys.list(customer=customer.id, page_size=500))
    assert {key.id for key in listed} == {key.id for key in (*issued, *rotated)}
    assert all(key.calls_per_month == 100 for key in listed)
    at = timed("listed", at)
    for key in listed:
        assert management.keys.revoke(key.id).state == "revoked"
    at = timed("revoked", at)
    with Tidemark(service.base_url, rotated[0].secret) as client:
        deadline = time.monotonic() + 5
        with pytest.raises(errors.KeyRevoked):
            while time.monotonic() < deadline:
                client.node.whoami()

    entries = list(management.audit.list(since=began.isoformat(), page_size=500))
    assert all(entry.who.startswith("root key robot (tmr_") for entry in entries)
    verbs = Counter(entry.verb for entry in entries if entry.subject_type == "access.apikey")
    print(took, dict(verbs))
    # A rotation issues the successor.
    assert (verbs["issued"], verbs["rotated"], verbs["changed"]) == (2 * KEYS, KEYS, KEYS)
    assert verbs["revoked"] == 2 * KEYS
