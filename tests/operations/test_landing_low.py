"""Which fates say that the service lands little, on the public status page."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from solders.hash import Hash
from solders.signature import Signature

from access.models import ApiKey, Customer
from access.services import keys
from columns.kept import forget_all
from operations.readings.present import read
from operations.rules.table import BY_NAME
from operations.services import sampling
from priority.models import Submission
from priority.submissions import ACCEPTED_STREAM
from shared_state.redis_client import client as redis_client
from tests.operations.reading import changed, well

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis", "empty_ledger")]

KeyOf = Callable[[str], ApiKey]
LANDED: dict[str, Any] = {"state": "landed", "slot": 7, "transaction_index": 0}
FAILED = LANDED | {"state": "failed", "err": {"InstructionError": [2, {"Custom": 1}]}}
EXPIRED: dict[str, Any] = {"state": "expired", "reason": "blockhash_expired"}
THEIR_OWN: list[dict[str, Any]] = [
    FAILED,
    EXPIRED | {"reason": "nonce_moved: by another transaction in slot 7"},
    EXPIRED | {"will_fail": "its compute unit limit is 0"},
    EXPIRED | {"advance_index": 1},
    {"state": "refused", "reason": "blockhash_expired"},
    {"state": "refused", "reason": "upstream_refused: node: no record of a prior credit"},
    {"state": "refused", "reason": "engine_dropped: engine: it lost the auction"},
]


def submitted(key: ApiKey | None, count: int, fate: dict[str, Any]) -> None:
    now = timezone.now()
    Submission.objects.bulk_create(
        Submission(
            signature=Signature.new_unique(),
            kind="transaction",
            key=key,
            blockhash=Hash.new_unique(),
            accepted_at=now - timedelta(seconds=90),
            sent_at=None if fate["state"] == "refused" else now,
            settled_at=now,
            **fate,
        )
        for _ in range(count)
    )


@pytest.fixture
def key_of(tier: Any) -> KeyOf:
    """A new key of the customer of that name."""
    bought = tier()

    def issued(name: str) -> ApiKey:
        owner, _ = Customer.objects.get_or_create(name=name)
        return keys.issue_key(owner, tier=bought, name="test").key

    return issued


@pytest.fixture
def landing(client: Any, settings: Any) -> Any:
    """The state of the light, as the public sees it."""
    settings.STATUS_PAGE = True

    def state() -> str:
        now = timezone.now()
        found = well(now)
        assert sampling.store_sample(found, now=now, stands_in=False)
        forget_all()
        lights = client.get("/status.json", HTTP_HOST="localhost").json()["lights"]
        (light,) = [each for each in lights if each["name"] == "landing"]
        return str(light["state"])

    return state


def test_no_single_customer_degrades_the_public_status(landing: Any, key_of: KeyOf) -> None:
    """An empty wallet: nothing of it reaches a block, and no fate says why."""
    submitted(key_of("Eve"), 200, EXPIRED)
    submitted(key_of("Eve"), 200, {"state": "refused", "reason": "upstream_busy: node"})
    submitted(key_of("Ada"), 20, LANDED)
    submitted(None, 19, EXPIRED)
    assert landing() == "operational"


def test_several_customers_who_lose_are_the_service(landing: Any, key_of: KeyOf) -> None:
    submitted(key_of("Eve"), 200, EXPIRED)
    submitted(key_of("Bob"), 6, {"state": "refused", "reason": "no_schedule: it is unknown"})
    submitted(None, 5, EXPIRED)
    submitted(key_of("Ada"), 9, LANDED)
    assert landing() == "degraded"


def test_an_only_customer_counts(landing: Any, key_of: KeyOf) -> None:
    submitted(key_of("Ada"), 20, EXPIRED)
    assert landing() == "degraded"


@pytest.mark.parametrize("fate", THEIR_OWN, ids=lambda fate: str(fate.get("reason", fate))[:30])
def test_what_a_transaction_fails_of_is_not_the_service(
    landing: Any, key_of: KeyOf, fate: dict[str, Any]
) -> None:
    for name in ("Eve", "Bob", "Ada"):
        submitted(key_of(name), 30, fate)
    submitted(None, 5, EXPIRED)
    assert landing() == "operational"


def test_what_is_sent_and_not_settled_is_no_backlog() -> None:
    """Durable nonces are sent for hours, and a busy service has thousands in progress."""
    pipe = redis_client().pipeline()
    for _ in range(1_001):
        pipe.xadd(ACCEPTED_STREAM, {"s": b""})
    pipe.execute()
    readings = read(timezone.now())
    assert readings.landing.waiting == 1_001
    assert readings.landing.queue is not None
    sent = changed(readings.landing, queue=readings.landing.queue._replace(unsent=0))
    assert list(BY_NAME["queue_deep"].check(changed(readings, landing=sent)) or []) == []
