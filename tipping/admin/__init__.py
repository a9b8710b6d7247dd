"""The admin's pages on tips."""

from tipping.admin import addresses, batches, entries, sweeps, ttl_classes  # noqa: F401
