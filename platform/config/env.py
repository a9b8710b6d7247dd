"""Readers of the environment that fail loudly: a value that makes no sense stops the start."""

import os
from typing import TypeVar

T = TypeVar("T")


class BadEnvironment(Exception):
    """An environment variable whose value cannot be used; the text names it, and what it takes."""


def text(name: str, default: str) -> str:
    return os.environ.get(name, "").strip() or default


def integer(name: str, default: int, *, minimum: int = 0, maximum: int = 2**31 - 1) -> int:
    raw = os.environ.get(name, "").strip()
    if not raw:
        return default
    try:
        value = int(raw)
    except ValueError:
        raise BadEnvironment(f"{name}={raw!r}: expected a whole number") from None
    if not minimum <= value <= maximum:
        raise BadEnvironment(f"{name}={value}: expected {minimum} to {maximum}")
    return value


def boolean(name: str, default: bool) -> bool:
    raw = os.environ.get(name, "").strip().lower()
    if not raw:
        return default
    if raw in {"1", "true", "yes", "on"}:
        return True
    if raw in {"0", "false", "no", "off"}:
        return False
    raise BadEnvironment(f"{name}={raw!r}: expected true or false")


def names(name: str, default: list[str]) -> list[str]:
    """A comma-separated list; empty items are dropped."""
    raw = os.environ.get(name, "").strip()
    return [item.strip() for item in raw.split(",") if item.strip()] if raw else default
