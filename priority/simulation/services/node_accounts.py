"""Accounts as the upstream node has them now."""

import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from solders.account import Account
from solders.pubkey import Pubkey

from chain.commitment import Commitment
from jsonrpc.errors import RpcError
from jsonrpc.wire import Encoded, encode
from priority.proxy.errors import NodeError, UpstreamAnswerUnreadable
from priority.proxy.services.forwarding import NodeCall, forward
from priority.simulation import code_cache
from upstream.http.client import Client

# What a node gives in one call.
_PAGE = 100
_MIN_CONTEXT_SLOT_NOT_REACHED = -32016


class NodeLags(Exception):
    """The node that answered is behind one that answered before: behind one address are several."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Accounts, None for those that are not there, and the slots that they are of: one, unless the
    chain went on meanwhile. A key whose remembered code fits no more is missing: it must be read
    once more. `extra` are the answers to the other calls.
    """

    accounts: dict[Pubkey, Account | None]
    slots: frozenset[int]
    api_version: str | None
    extra: list[Encoded]


class _Account(msgspec.Struct, rename="camel"):
    lamports: int
    owner: str
    data: tuple[str, str]
    executable: bool
    rent_epoch: int
    space: int | None = None


class _Context(msgspec.Struct, rename="camel"):
    slot: int
    api_version: str | None = None


class _Accounts(msgspec.Struct):
    context: _Context
    value: list[_Account | None]


class _ErrorCode(msgspec.Struct):
    code: int


_read = msgspec.json.Decoder(_Accounts).decode
_read_error = msgspec.json.Decoder(_ErrorCode).decode


def read_accounts(
    keys: Sequence[Pubkey],
    *,
    node: Client,
    seconds: int,
    commitment: Commitment,
    at_least: int = 0,
    extra: Sequence[NodeCall] = (),
) -> Reading:
    """The accounts in one batch with the other calls. Of code that is remembered only the head is
    read. Raises NodeLags, UpstreamFailed and what else the node answers.
    """
    short = [key for key in keys if code_cache.knows(key)]
    whole = [key for key in keys if not code_cache.knows(key)] if short else list(keys)
    config: dict[str, Any] = {"encoding": "base64", "commitment": commitment.value}
    if at_least:
        config["minContextSlot"] = at_least
    pages = [(page, config) for page in _pages(whole)]
    heads = {**config, "dataSlice": {"offset": 0, "length": code_cache.HEAD}}
    pages += [(page, heads) for page in _pages(short)]
    calls: list[NodeCall] = [
        ("getMultipleAccounts", encode([[str(key) for key in page], each])) for page, each in pages
    ]
    answers = [_result(answer) for answer in forward([*calls, *extra], node=node, seconds=seconds)]
    accounts: dict[Pubkey, Account | None] = {}
    slots, api_version = set(), None
    try:
        for (page, each), answer in zip(pages, answers, strict=False):
            found = _read(bytes(answer))
            slots.add(found.context.slot)
            api_version = found.context.api_version
            for key, value in zip(page, found.value, strict=True):
                if value is None:
                    accounts[key] = None
                elif each is config:
                    accounts[key] = account = _account(value)
                    code_cache.remember(key, account, found.context.slot)
                elif (code := _with_code(key, value)) is not None:
                    accounts[key] = code
    except (msgspec.MsgspecError, ValueError):
        raise UpstreamAnswerUnreadable(200) from None
    return Reading(accounts, frozenset(slots), api_version, answers[len(pages) :])


def _pages(keys: Sequence[Pubkey]) -> list[Sequence[Pubkey]]:
    return [keys[start : start + _PAGE] for start in range(0, len(keys), _PAGE)]


def _result(answer: Encoded | RpcError) -> Encoded:
    if isinstance(answer, NodeError):
        try:
            code = _read_error(encode(answer.as_object())).code
        except msgspec.MsgspecError:
            code = 0
        if code == _MIN_CONTEXT_SLOT_NOT_REACHED:
            raise NodeLags
    if isinstance(answer, RpcError):
        raise answer
    return answer


def _account(value: _Account) -> Account:
    return Account(
        value.lamports,
        binascii.a2b_base64(value.data[0]),
        Pubkey.from_string(value.owner),
        value.executable,
        value.rent_epoch,
    )


def _with_code(key: Pubkey, value: _Account) -> Account | None:
    return code_cache.restored(key, _account(value), value.space)
