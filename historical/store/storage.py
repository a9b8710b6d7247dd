"""What the ledger takes on the disk, and which of its slots are sealed."""

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


def stretches() -> list[Stretch]:
    """The sealed slots, lowest first."""
    return [
        Stretch(first, last, Band.SEALED) for first, last in fetch_all(_SEALED) if first <= last
    ]


def sealed_bytes() -> int:
    """What sealed texts, signatures and indexes take on the disk."""
    ((size,),) = fetch_all(
        "SELECT pg_total_relation_size('historical_sealedblock')"
        " + pg_total_relation_size('historical_packedtexts')"
        " + pg_total_relation_size('historical_packedindex')"
    )
    return int(size)
