"""The admin's pages on tips."""

from tipping.admin import addresses, batches, entries, find, sweeps, ttl_classes  # noqa: F401
