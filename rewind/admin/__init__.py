"""The admin's pages on the archive."""

# Each registers its own.
from rewind.admin import (  # noqa: F401
    audit,
    builds,
    coverage,
    damage,
    filters,
    find,
    idls,
    jobs,
    proofs,
    replay_pages,
    sealed,
    slots,
)
