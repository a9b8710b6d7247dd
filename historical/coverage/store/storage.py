"""What the ledger takes on the disk, and which of its slots are sealed."""

from typing import NamedTuple

from columns.clusters import total_size_of
from columns.raw_queries import fetch_all
from columns.slot_bands import Band, Stretch

# A range that is not finished is sealed from its lowest block upwards; blocks that cannot be
# sealed, and late ones of a finished range, are single.
_SEALED = """
SELECT first_slot, CASE WHEN finished_at IS NULL THEN coalesce((
        SELECT slot FROM historical_block
        WHERE body IS NOT NULL AND slot BETWEEN first_slot AND last_slot
            AND slot <> ALL (unsealable) ORDER BY slot LIMIT 1
    ), last_slot + 1) - 1 ELSE last_slot END
FROM historical_sealedrange WHERE blocks > 0 ORDER BY first_slot
"""


class LedgerSizes(NamedTuple):
    """Bytes on disk with indexes: of headers, of bodies that are not sealed, of rows of such
    transactions and their addresses, and of that the indexes; of what is sealed. How many blocks
    there are, how many are not sealed and how many transactions one of the newest of these has;
    how many transactions are sealed, and how many in the range that has most.
    """

    header_bytes: int
    body_bytes: int
    row_bytes: int
    row_index_bytes: int
    sealed_bytes: int
    blocks: int
    hot_blocks: int
    transactions_a_block: float
    sealed_transactions: int
    largest_range: int


_COUNTED = 2_000_000
_SIZES = f"""
SELECT pg_total_relation_size('historical_block') - body.bytes, body.bytes,
    pg_total_relation_size('historical_transaction')
        + pg_total_relation_size('historical_addressentries'),
    pg_indexes_size('historical_transaction') + pg_indexes_size('historical_addressentries'),
    pg_total_relation_size('historical_sealedblock')
        + pg_total_relation_size('historical_packedtexts')
        + pg_total_relation_size('historical_packedindex')
        + pg_total_relation_size('historical_sealedrange'),
    (SELECT coalesce(sum(blocks), 0)::bigint FROM historical_blocktally),
    (SELECT count(*) FROM (
        SELECT FROM historical_block WHERE body IS NOT NULL LIMIT {_COUNTED}) AS counted),
    (SELECT coalesce(avg(transaction_count), 0)::float8 FROM (
        SELECT transaction_count FROM historical_block WHERE body IS NOT NULL
        ORDER BY slot DESC LIMIT 2000) AS newest),
    (SELECT coalesce(sum(transactions), 0)::bigint FROM historical_sealedrange),
    (SELECT coalesce(max(transactions), 0)::bigint FROM historical_sealedrange)
FROM (SELECT pg_total_relation_size(reltoastrelid) AS bytes FROM pg_class
    WHERE oid = 'historical_block'::regclass) AS body
"""


def sizes() -> LedgerSizes:
    return LedgerSizes(*fetch_all(_SIZES)[0])


def stretches() -> list[Stretch]:
    """The sealed slots, lowest first."""
    return [
        Stretch(first, last, Band.SEALED) for first, last in fetch_all(_SEALED) if first <= last
    ]


def sealed_bytes() -> int:
    """What sealed texts, signatures and indexes take on the disk."""
    tables = ("historical_sealedblock", "historical_packedtexts", "historical_packedindex")
    rows = fetch_all(f"SELECT {', '.join(map(total_size_of, tables))}")
    return sum(map(int, rows[0]))
