"""Columns of Solana's numbers."""

from typing import Any

from django.db import models

_ABOVE = 2**64


class SlotColumn(models.BigIntegerField):  # type: ignore[type-arg]
    """A slot. Bound values before they meet a query: the wire allows u64, the table i64."""


class U64Column(models.BigIntegerField):  # type: ignore[type-arg]
    """A u64 in 8 bytes: two's complement in the table, so do not compare it in SQL; 2^64 - 1 is
    stored as -1.
    """

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return value % _ABOVE if value is not None else None

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        if value is not None and value >= _ABOVE // 2:
            value -= _ABOVE
        return super().get_db_prep_value(value, connection, prepared)
