"""The admin's pages on the ledger."""

# Each registers its own.
from historical.admin import blocks, damage, find, gaps, imports, sealed  # noqa: F401
