"""A value of each thread's own."""

import threading
from collections.abc import Callable
from functools import cached_property
from typing import Generic, TypeVar

T = TypeVar("T")


class OfThread(threading.local, Generic[T]):
    """For what is expensive to make and serves one thread at a time, such as a compressor of zstd:
    made in each thread when it is first wanted there.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make

    @cached_property
    def value(self) -> T:
        return self._make()
