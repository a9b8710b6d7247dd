"""The admin's pages on the ledger."""

from historical.admin import blocks, gaps, imports, sealed  # noqa: F401  (each registers its own)
