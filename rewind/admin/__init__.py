"""The admin's pages on the archive."""

from rewind.admin import coverage, filters, slots  # noqa: F401  (each registers its own)
