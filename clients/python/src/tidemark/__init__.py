"""Tidemark's client: landing, fates, the past, proofs, and the management API."""

from tidemark._async.client import TIP_LAMPORTS, AsyncTidemark
from tidemark._async.management import AsyncManagement
from tidemark._sync.client import Tidemark
from tidemark._sync.management import Management
from tidemark.failures import DeadlinePassed, ResponseUnreadable, TidemarkError, Unreachable
from tidemark.values import UNSET
from tidemark.version import VERSION as __version__

__all__ = [
    "TIP_LAMPORTS",
    "UNSET",
    "AsyncManagement",
    "AsyncTidemark",
    "DeadlinePassed",
    "Management",
    "ResponseUnreadable",
    "Tidemark",
    "TidemarkError",
    "Unreachable",
    "__version__",
]
