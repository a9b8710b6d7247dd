"""Rows of a large query, some at a time: a cursor of the server, which lasts for the transaction.

Django's own outlive it, and are off for the sake of poolers.
"""

import itertools
from collections.abc import Iterator
from typing import Any

from django.db import connection

_numbers = itertools.count()


def rows_of(sql: str, parameters: list[Any] | None = None, *, at_once: int) -> Iterator[Any]:
    """The query's rows, `at_once` of them in memory. Inside a transaction, to which the
    connection is free meanwhile.
    """
    name = f"tidemark_rows_{next(_numbers)}"
    with connection.cursor() as cursor:
        cursor.execute(f"DECLARE {name} NO SCROLL CURSOR FOR {sql}", parameters)
        while True:
            cursor.execute(f"FETCH {at_once} FROM {name}")
            rows = cursor.fetchall()
            yield from rows
            if len(rows) < at_once:
                break
        cursor.execute(f"CLOSE {name}")
