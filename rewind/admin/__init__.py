"""The admin's pages on the archive."""

# Each registers its own.
from rewind.admin import audit, builds, coverage, damage, filters, jobs, slots  # noqa: F401
