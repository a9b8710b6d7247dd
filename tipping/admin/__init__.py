"""The admin's pages on tip addresses, what they received, and where that went."""

from tipping.admin import addresses, batches, entries, sweeps, ttl_classes  # noqa: F401
