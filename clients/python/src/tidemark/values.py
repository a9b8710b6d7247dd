"""Values of requests and responses: how they are written on the wire."""

import base64
import enum
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import Transaction as LegacyTransaction
from solders.transaction import VersionedTransaction

Address: TypeAlias = Pubkey | str
TransactionId: TypeAlias = Signature | str
# A string is base64, unless the call's `encoding` says otherwise.
Transaction: TypeAlias = VersionedTransaction | LegacyTransaction | bytes | str


class Unset(enum.Enum):
    """The type of UNSET."""

    UNSET = "unset"


# An argument that is not sent, where None is sent as null.
UNSET: Final[Literal[Unset.UNSET]] = Unset.UNSET


class Record(BaseModel):
    """An object of the wire, with names of members in snake_case. Unknown ones are left out."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, use_attribute_docstrings=True, frozen=True
    )


class Resource(Record):
    """An object of the management API. `version` is the ETag of a response with this one alone, for
    a change that must not undo another one; it is empty in lists.
    """

    version: str = Field(default="", exclude=True, repr=False)


def plain(value: Any) -> Any:
    """The value as JSON has it: transactions in base64, times in ISO 8601."""
    match value:
        case BaseModel():
            return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
        case VersionedTransaction() | LegacyTransaction():
            return base64.b64encode(bytes(value)).decode()
        case bytes():
            return base64.b64encode(value).decode()
        case Pubkey() | Signature():
            return str(value)
        case datetime():
            return value.isoformat()
        case str():
            return value
        case Mapping():
            return {str(name): plain(each) for name, each in value.items()}
        case Sequence():
            return [plain(each) for each in value]
        case _:
            return value


def record_of(**members: Any) -> dict[str, Any] | None:
    """A param that is an object, without what is None; None without any member."""
    return {name: plain(each) for name, each in members.items() if each is not None} or None


def params_of(*params: Any) -> list[Any]:
    """The params of a call, without those at the end that are None."""
    found = [plain(each) for each in params]
    while found and found[-1] is None:
        found.pop()
    return found


def body_of(**members: Any) -> dict[str, Any]:
    """The body of a write, without what is UNSET."""
    return {name: plain(each) for name, each in members.items() if each is not UNSET}


def query_of(**members: Any) -> dict[str, str]:
    """The parameters of a query, without what is None."""
    return {
        name: str(plain(each)).lower() if isinstance(each, bool) else str(plain(each))
        for name, each in members.items()
        if each is not None
    }
