"""What tests of several files share, such as a running service: it ends with the last of them.

A fixture of the whole session would keep it, and its memory, until everything is done.
"""

import contextlib
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from types import CodeType
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

# The folder, the name and the parameter of a fixture.
Key = tuple[Path, str, object]

_open: dict[Key, tuple[contextlib.ExitStack, Any, CodeType]] = {}


def value_of(request: pytest.FixtureRequest, make: Callable[[], Iterator[T]]) -> T:
    """What `make` yields, made for the first file that uses the fixture, and kept until the last
    one of its group (tests/spreading.py) is done. For fixtures of scope "module", if a folder
    has one of a name: what is different needs another name, or is not shared.
    """
    assert request.fixturename is not None
    key = (request.path.parent, request.fixturename, getattr(request, "param", None))
    if key not in _open:
        stack = contextlib.ExitStack()
        _open[key] = stack, stack.enter_context(contextlib.contextmanager(make)()), make.__code__
    value: T
    _, value, code = _open[key]
    assert code is make.__code__, f"{request.path.parent.name} has two fixtures {key[1]}"
    return value


def keep(items: Collection[pytest.Item]) -> None:
    """Ends what none of these tests uses, the newest first."""
    wanted = {
        (item.path.parent, name) for item in items for name in getattr(item, "fixturenames", ())
    }
    with contextlib.ExitStack() as ending:
        for key in [key for key in _open if key[:2] not in wanted]:
            ending.push(_open.pop(key)[0])
