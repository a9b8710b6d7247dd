"""The admin's pages on the archive."""

from rewind.admin import audit, coverage, filters, jobs, slots  # noqa: F401  (each registers its own)
