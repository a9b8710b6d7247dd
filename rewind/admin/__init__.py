"""The admin's pages on the archive."""

# Each registers its own.
from rewind.admin import audit, builds, coverage, filters, jobs, sealed, slots  # noqa: F401
