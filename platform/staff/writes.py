"""Writes: which tables a piece of code changed something in."""

import re
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Self

from django.db import connection

# Written by any request.
_BESIDE = {"django_session", "django_admin_log"}
_WRITE = re.compile(r'\s*(?:INSERT INTO|UPDATE|DELETE FROM)\s+"?(\w+)', re.IGNORECASE)


class Writes:
    """`with Writes() as writes: …` and then `writes.tables`."""

    def __init__(self) -> None:
        self.tables: set[str] = set()
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._stack.enter_context(connection.execute_wrapper(self._look))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _look(
        self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any
    ) -> Any:
        found = _WRITE.match(str(sql))
        if found is not None and found[1] not in _BESIDE:
            self.tables.add(found[1])
        return execute(sql, params, many, context)
