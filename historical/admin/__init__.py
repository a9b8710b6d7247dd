"""The admin's pages on the ledger."""

from historical.admin import blocks, damage, gaps, imports  # noqa: F401  (each registers its own)
