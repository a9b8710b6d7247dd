"""A small table of methods, called by a body without HTTP."""

import json
from enum import Enum
from typing import Annotated, Any

import msgspec
from solders.pubkey import Pubkey

from jsonrpc import dispatch
from jsonrpc.errors import RpcError
from jsonrpc.methods import MethodTable
from jsonrpc.params import U64, Config
from jsonrpc.wire import Encoded, Result

methods = MethodTable()


class Order(Enum):
    ASC = "asc"
    DESC = "desc"


class Slots(Config, frozen=True, kw_only=True):
    gte: U64 | None = None
    lt: U64 | None = None


class ListConfig(Config, frozen=True, kw_only=True):
    sort_order: Order | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 1000
    with_rewards: bool = False
    filters: list[Slots] | None = None
    before: Pubkey | None = None


NO_CONFIG = ListConfig()


class RangeConfig(Config, frozen=True, kw_only=True):
    to_slot: U64


class Account(Result, frozen=True, kw_only=True):
    owner: Pubkey
    rent_epoch: int


class Refused(RpcError):
    code = -32007
    reason = "refused"


@methods.add("echo")
def echo(call: Any, value: Any) -> Any:
    return value


@methods.add("add")
def add(call: Any, left: U64, right: U64 = 10) -> int:
    return left + right


@methods.add("list")
def list_(call: Any, address: Pubkey, config: ListConfig = NO_CONFIG) -> list[Any]:
    return [str(address), config.limit]


@methods.add("range")
def range_(call: Any, config: RangeConfig) -> int:
    return config.to_slot


@methods.add("name")
def name(call: Any, name: str, config: Order | ListConfig = NO_CONFIG) -> str:
    return name


@methods.add("account")
def account(call: Any) -> Account:
    return Account(owner=Pubkey.default(), rent_epoch=18446744073709551615)


@methods.add("stored")
def stored(call: Any) -> Encoded:
    return Encoded(b'{"a":', b"1}")


@methods.add("refuse")
def refuse(call: Any) -> None:
    raise Refused("no", data={"slot": 5})


@methods.add("break")
def break_(call: Any) -> None:
    raise KeyError("secret detail")


def body(value: Any) -> bytes:
    return json.dumps(value).encode()


def request(method: str, *params: Any, id: Any = 1) -> dict[str, Any]:  # noqa: A002
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def answer_bytes(raw: bytes, max_batch: int = 100) -> bytes:
    """The response to a body."""
    try:
        requests = dispatch.read(raw, max_batch=max_batch)
    except RpcError as error:
        return dispatch.failure(error)
    return b"".join(dispatch.answer(requests, methods, None, lambda method, error: None))


def answer(value: Any, max_batch: int = 100) -> Any:
    return json.loads(answer_bytes(value if isinstance(value, bytes) else body(value), max_batch))
