"""The epochs of this installation's tip addresses."""

import secrets
from datetime import datetime

from tipping.models import TipEpoch

_WORD_BYTES = 16


def current(*, now: datetime) -> str:
    """The newest epoch's word; creates the first epoch."""
    newest = TipEpoch.objects.order_by("-pk").first()
    return newest.word if newest is not None else begin(now=now)


def begin(*, now: datetime) -> str:
    """Begins a new epoch and returns its word."""
    return TipEpoch.objects.create(word=secrets.token_hex(_WORD_BYTES), began_at=now).word
