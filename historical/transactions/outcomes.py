"""What became of a stored transaction, by the text that the tables keep as its `err`."""

from typing import Any, Literal, TypeAlias

import msgspec

# JSON's null: the source had no status meta, so whether the transaction succeeded is not known.
# The column itself is null if it succeeded.
UNKNOWN = "null"

Outcome: TypeAlias = Literal["success", "failed", "unknown"]

_encode = msgspec.json.Encoder().encode


def err_of(meta: dict[str, Any] | None) -> str | None:
    """The text for a transaction's status meta, None without one."""
    return UNKNOWN if meta is None else packed_err(meta.get("err"))


def packed_err(err: Any) -> str | None:
    """The text for an error in the form of the node's JSON; None is no error."""
    return None if err is None else _encode(err).decode()


def outcome_of(err: str | None) -> Outcome:
    """Of the text."""
    if err is None:
        return "success"
    return "unknown" if err == UNKNOWN else "failed"
