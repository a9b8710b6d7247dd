"""The admin's pages on customers, tiers, keys and usage."""

from access.admin import customers, find, keys, tiers, usage  # noqa: F401  (each registers its own)
