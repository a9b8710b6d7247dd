"""Columns of Solana's numbers."""

from django.db import models


class SlotColumn(models.BigIntegerField):  # type: ignore[type-arg]
    """A slot. Bound values before they meet a query: the wire allows u64, the table i64."""
