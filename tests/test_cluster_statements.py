"""What the check of a cluster's statements takes and what it refuses (tests/cluster_statements.py;
the areas' statements are in tests/rewind/test_cluster_form.py and its like of the ledger).
"""

import pytest

from tests.cluster_statements import faults


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT slot FROM rewind_accountchange WHERE pubkey = $1 ORDER BY slot DESC LIMIT 1",
        "SELECT * FROM ((SELECT slot FROM rewind_changes_0_35999 WHERE pubkey = $1)"
        " UNION ALL (SELECT slot FROM rewind_changes_36000_71999 WHERE pubkey = $1))"
        " AS parts LIMIT 1",
        "SELECT k.pubkey, d.first_slot FROM unnest($1) AS k (pubkey)"
        " LEFT JOIN rewind_droppedaccount AS d ON d.pubkey = k.pubkey",
        "SELECT b.slot FROM historical_block b, LATERAL (SELECT 1) AS one FOR UPDATE",
        "INSERT INTO rewind_accountchange (slot) SELECT slot FROM rewind_staged"
        " ON CONFLICT DO NOTHING",
        "DELETE FROM rewind_accountchange AS change USING rewind_unsealed AS copy"
        " WHERE change.pubkey = copy.pubkey",
        "WITH late AS MATERIALIZED (SELECT pubkey FROM rewind_laterow) INSERT INTO rewind_late_kept"
        " SELECT change.* FROM late JOIN rewind_changes_0_35999 AS change USING (pubkey)",
        "INSERT INTO rewind_accountsegments SELECT * FROM unnest(%s::bytea[], %s::int[])",
        "SELECT last.slot FROM rewind_accountsegments AS s, unnest(s.last_slots) AS last (slot)"
        " WHERE s.pubkey = $1 AND last.slot < $2",
        "COPY historical_transaction (slot) FROM STDIN (FORMAT BINARY)",
    ],
)
def test_a_statement_with_one_spread_table_is_taken(sql: str) -> None:
    assert faults(sql) == []


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        (
            "SELECT c.slot FROM unnest($1) AS k (pubkey), LATERAL (SELECT slot FROM"
            " rewind_accountchange WHERE pubkey = k.pubkey) AS c",
            "LATERAL",
        ),
        (
            "SELECT c.slot, o.pubkey FROM rewind_changes_0_35999 c"
            " JOIN rewind_owner o ON o.id = c.owner_id",
            "tables of the coordinator",
        ),
        (
            "SELECT t.slot FROM historical_transaction t"
            " JOIN historical_block b ON b.slot = t.slot",
            "tables of the coordinator",
        ),
        (
            "SELECT 1 FROM rewind_accountchange c, rewind_sealedblock b WHERE b.pubkey = c.pubkey",
            "spread by other columns",
        ),
        (
            "SELECT pubkey FROM rewind_accountsegments WHERE pubkey = $1 FOR UPDATE",
            "a lock of rows",
        ),
        ("SELECT EXISTS (SELECT FROM historical_packedindex WHERE run = $1)", "without columns"),
        (
            "UPDATE rewind_accountsegments SET run = extract(epoch FROM clock_timestamp())",
            "a volatile function",
        ),
        (
            "SELECT change.lamports FROM unnest(%s::bytea[]) AS k (pubkey)"
            " LEFT JOIN rewind_accountchange AS change ON change.pubkey = k.pubkey",
            "unnest",
        ),
        (
            "SELECT s.run FROM rewind_accountsegments AS s, unnest($1) AS k (pubkey)"
            " WHERE s.pubkey = k.pubkey",
            "unnest",
        ),
        (
            "CREATE TRIGGER noted AFTER INSERT ON rewind_changes_0_35999"
            " FOR EACH ROW EXECUTE FUNCTION rewind_note_late_row()",
            "a trigger",
        ),
        (
            "SELECT pg_relation_size('x'), count(*) FROM historical_addressentries",
            "a size",
        ),
    ],
)
def test_what_a_cluster_refuses_is_found(sql: str, why: str) -> None:
    assert any(why in each for each in faults(sql)), faults(sql)
