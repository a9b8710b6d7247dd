"""The ledger's tables that a cluster spreads over its nodes. Blocks stay on the coordinator: their
headers are small, and their bodies leave them when they are sealed.
"""

from columns.spreading import Spread

SPREAD = (
    Spread(
        "historical_transaction",
        "signature",
        changes=(
            "ALTER TABLE historical_transaction DROP CONSTRAINT historical_transaction_pkey,"
            " ADD PRIMARY KEY (slot, position, signature)",
        ),
    ),
    Spread("historical_addressentries", "address"),
    Spread("historical_sealedblock", "slot"),
    Spread("historical_packedtexts", "id"),
    Spread("historical_packedindex", "run"),
)
