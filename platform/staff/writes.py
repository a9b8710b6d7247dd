"""Writes: whether a piece of code changed something in the database."""

import re
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Self

from django.db import connection

# Of every request, not of what it was for.
_BESIDE = {"django_session", "django_admin_log"}
_WRITE = re.compile(r'\s*(?:INSERT INTO|UPDATE|DELETE FROM)\s+"?(\w+)', re.IGNORECASE)


class Writes:
    """`with Writes() as writes: …` and then `writes.happened`."""

    def __init__(self) -> None:
        self.happened = False
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._stack.enter_context(connection.execute_wrapper(self._look))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _look(
        self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any
    ) -> Any:
        found = None if self.happened else _WRITE.match(str(sql))
        if found is not None and found[1] not in _BESIDE:
            self.happened = True
        return execute(sql, params, many, context)
