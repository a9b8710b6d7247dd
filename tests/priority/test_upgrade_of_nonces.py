"""The upgrade to watched nonces with submissions of the version before under way."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from ingest.services import fates
from priority.models import Submission
from tests.ingest.made_chain import store
from tests.ingest.made_nonces import block, nonce_write, on_nonce
from tests.priority.sending import signed, tip

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_redis")]

BEFORE = [("priority", "0009_will_fail")]
# Name: the columns of a row of the version before; whether it is watched afterwards.
ROWS: dict[str, tuple[dict[str, Any], bool]] = {
    "received": ({"state": "received"}, True),
    "sent": ({"state": "sent"}, True),
    "seen": ({"state": "landed", "commitment": "confirmed", "slot": 3}, True),
    "given up": ({"state": "expired", "reason": "nonce_unused", "is_final": True}, False),
    "landed": ({"state": "landed", "slot": 2, "is_final": True}, False),
}


@pytest.fixture
def old_apps(transactional_db: None) -> Iterator[Any]:
    """The models of the version before, whose tables are there."""
    executor = MigrationExecutor(connection)
    newest = executor.loader.graph.leaf_nodes()
    executor.migrate(BEFORE)
    try:
        yield executor.loader.project_state(BEFORE).apps
    finally:
        executor.loader.build_graph()
        executor.migrate(newest)


def migrate() -> None:
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


def test_what_was_under_way_goes_on(old_apps: Any) -> None:
    rows = old_apps.get_model("priority", "Submission").objects
    now = timezone.now()
    made = {name: on_nonce(1, lamports=at) for at, name in enumerate(ROWS)}
    plain = signed(tip())
    for name, each in [*made.items(), ("plain", plain)]:
        columns = dict(ROWS[name][0]) if name in ROWS else {"state": "sent"}
        settled = now if columns.pop("is_final", False) else None
        rows.create(
            signature=bytes(each.signatures[0]),
            blockhash=bytes(each.message.recent_blockhash),
            kind="transaction",
            is_nonced=name in ROWS,
            accepted_at=now - timedelta(minutes=1),
            accepted_slot=2,
            last_valid_block_height=None if name in ROWS else 150,
            settled_at=settled,
            **columns,
        )
    migrate()
    found = {name: of(each) for name, each in made.items()}
    assert {name: row.is_watched for name, row in found.items()} == {
        name: is_watched for name, (_, is_watched) in ROWS.items()
    }
    assert not of(plain).is_watched
    assert all(row.nonce is None for row in found.values())

    # The one that was sent lands: its block settles it, and the others stay open.
    store(block(0), block(1), block(2))
    lands = made["sent"]
    store(block(3, [lands], [nonce_write(2, bytes(lands.signatures[0]))]))
    for minutes in (1, 12, 24):
        fates.settle_due(node=None, now=now + timedelta(minutes=minutes))
    assert (of(lands).state, of(lands).slot) == ("landed", 3) and of(lands).settled_at
    for name in ("received", "seen"):
        assert of(made[name]).settled_at is None
    for name in ("given up", "landed"):
        assert (of(made[name]).state, of(made[name]).settled_at) == (ROWS[name][0]["state"], now)
    # One without a nonce ends as before.
    store(*(block(slot) for slot in range(4, 155)))
    fates.settle_due(node=None, now=now + timedelta(minutes=25))
    assert of(plain).state == "refused"


def of(transaction: Any) -> Submission:
    return Submission.objects.get(signature=bytes(transaction.signatures[0]))
