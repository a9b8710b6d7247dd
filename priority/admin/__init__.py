"""The admin's pages on landing."""

from priority.admin import bundles, find, submissions, upstreams  # noqa: F401  (each registers its own)
