"""An archive that lost its beginning: what it cannot tell it asks of the node."""

from collections import Counter

import psycopg
import pytest

from embedded.addresses import embedded_addresses
from tests.clients.mixed_history import History
from tests.clients.test_replay_all import simulated
from tests.localnet.wallets import encoded

pytestmark = pytest.mark.soak


def test_an_archive_without_its_beginning_asks_the_node(history: History) -> None:
    """The last test of the service, for it takes the chain's first slots out of the archive."""
    first = sorted(history.blocks)[len(history.blocks) // 3]
    database = embedded_addresses(history.service.run_dir).database_url
    with psycopg.connect(database, autocommit=True) as connection:
        for table in ("archivedslot", "accountchange", "slottally"):
            column = "run" if table == "slottally" else "slot"
            connection.execute(f"DELETE FROM rewind_{table} WHERE {column} < %s", [first])
    places = {
        entry["transaction"]["signatures"][0]: slot
        for slot, block in history.blocks.items()
        for entry in block["transactions"]
    }
    sample = [each for each in history.taken if places[each.signature] >= first]
    asked = [
        (encoded(each.transaction), {"anchor": {"signature": each.signature}, "tolerateGaps": True})
        for each in sample
    ]
    values = simulated(history, asked)
    fidelities = Counter((value["fidelity"], value["fidelityReason"]) for value in values)
    # Accounts that were written before and after cannot be told; of those that can all is true.
    # Of a program that was deployed before and changed since, the code is what is not known.
    assert fidelities.keys() <= {
        ("verified", None),
        ("unverified", "state_not_recorded"),
        ("unverified", "program_build_unknown"),
    }
    assert fidelities["verified", None] > len(sample) // 3, fidelities
    with psycopg.connect(database) as connection:
        rows = connection.execute(
            "SELECT slot, position, count(*) FROM rewind_accountchange WHERE kind = 1"
            " GROUP BY slot, position"
        ).fetchall()
    assert [row[:2] for row in rows] == [(first, -2)]
    assert rows[0][2] >= 5
