"""The archive's tables that a cluster spreads over its nodes."""

from columns.spreading import Spread

SPREAD = (
    # With all of its partitions, of today and later.
    Spread("rewind_accountchange", "pubkey"),
    Spread("rewind_accountsegments", "pubkey", beside="rewind_accountchange"),
    Spread(
        "rewind_sealedblock",
        "bucket",
        changes=(
            "ALTER TABLE rewind_sealedblock DROP CONSTRAINT rewind_sealedblock_pkey,"
            " ADD PRIMARY KEY (id, bucket), DROP CONSTRAINT one_sealed_block_per_first_change,"
            " ADD CONSTRAINT one_sealed_block_per_first_change"
            " UNIQUE (segment_id, pubkey, slot, position, bucket)",
        ),
    ),
)
