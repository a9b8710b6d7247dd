"""The stores that have sealed data."""

from typing import Any

from historical.sealed.services.sealed_life import LEDGER
from rewind.sealed.services.sealed_life import ARCHIVE
from sealed.life import SealedLife

LIVES: tuple[SealedLife[Any], ...] = (ARCHIVE, LEDGER)
