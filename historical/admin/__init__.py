"""The admin's pages on the ledger."""

from historical.admin import (  # noqa: F401  (each registers its own)
    blocks,
    damage,
    gaps,
    imports,
    sealed,
)
