"""Prepared statements, and a pooler that gives another server process between two of them."""

import io

from django.core.management import call_command
from django.db import connection

from tests.upstream import sample_blocks as sample

HISTORICAL = "/historical"


def test_statements_that_the_server_forgot_are_prepared_again(transactional_db, rpc, tmp_path):
    with connection.cursor() as cursor:
        cursor.execute(
            "TRUNCATE historical_block, historical_transaction, historical_addressentries"
        )
    path = tmp_path / f"block-{sample.SLOT}.json"
    path.write_bytes(sample.json_file())
    call_command("import_blocks", str(path), stdout=io.StringIO())
    calls = [("getSlot",), ("getBlockTime", sample.SLOT), ("getBlocks", 0), ("getBlocks", 1, 5)]
    calls += [("getBlockTime", sample.SLOT - 1), ("getBlockTime", sample.SLOT + 1)]
    calls += [("getBlock", sample.SLOT, {"transactionDetails": "signatures"})]
    before = [rpc(HISTORICAL, *call) for call in calls[:3]]
    for _ in range(3):
        with connection.cursor() as cursor:
            cursor.execute("DEALLOCATE ALL")
        assert [rpc(HISTORICAL, *call) for call in calls[:3]] == before
        answers = [rpc(HISTORICAL, *call) for call in calls]
        assert {answer.get("error", {}).get("code") for answer in answers} <= {None, -32001, -32004}
