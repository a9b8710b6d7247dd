"""The admin's pages on landing."""

from priority.fates.admin import bundles, find, submissions  # noqa: F401  (each registers its own)
from priority.upstreams.admin import upstreams  # noqa: F401  (each registers its own)
