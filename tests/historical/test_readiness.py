"""What /readyz says of the ledger."""

from django.db import connection

from tests.readiness import readyz


def ledger(client):
    status, found = readyz(client)
    return status, found["checks"]["ledger"]


def test_readyz_tells_the_newest_block_and_its_age(client, real_ledger):
    status, found = ledger(client)
    assert status == 200
    assert found["ok"] is True
    assert (found["newestSlot"], found["blockTime"]) == (332254855, 1744174462)
    assert found["lagSeconds"] > 1_000_000


def test_an_empty_ledger_is_ready_with_nothing_to_tell(client, db):
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE historical_block")
    status, found = ledger(client)
    assert (status, found["newestSlot"], found["lagSeconds"]) == (200, None, None)


def test_a_ledger_older_than_the_operator_allows_is_not_ready(client, real_ledger, settings):
    settings.READY_MAX_LAG_SECONDS = 60
    status, found = ledger(client)
    assert status == 503
    assert found["ok"] is False
    assert found["why"].endswith("s old; READY_MAX_LAG_SECONDS is 60")
