"""Client of a node's JSON-RPC: blocks, and other calls of ingest and the proxy."""

from collections.abc import Sequence
from ipaddress import ip_address
from typing import Annotated, Any, NamedTuple

import msgspec

from chain.blocks import SlotRecord
from chain.encodings import b58decode, b58encode, b64decode
from chain.epochs import EpochSchedule
from chain.units import I64_MAX, Slot
from upstream.archives.errors import Unreadable
from upstream.archives.json_dumps import json_block
from upstream.foreign_text import fit
from upstream.head_bound import MOST_SLOT
from upstream.http.client import Client
from upstream.http.errors import FAILURES, BadAddress, BadAnswer, NotConnected
from upstream.networks import is_public

_MEGABYTE = 1_048_576
# A full block of 64 MB of shreds would be larger as JSON than any that was ever made.
_LARGEST_BLOCK = 128 * _MEGABYTE
# Accounts' data, every slot of 500,000 with a block, or all nodes of a large cluster.
_LARGEST_ANSWER = 64 * _MEGABYTE
# A number, a word or a small object, with room to spare.
_LARGEST_VALUE = _MEGABYTE
_LONGEST_TEXT = 200
# Chains double their first epochs' length, which can go on for as long as a slot fits 63 bits.
_MOST_WARM_UP_EPOCHS = 64
_HEADERS = {"Content-Type": "application/json", "Accept-Encoding": "gzip"}
# The newest transaction version that this service reads.
_NEWEST_VERSION = 1
# The node has no block to give, for one of many reasons.
_ABSENT = frozenset({-32001, -32004, -32011, -32014, -32019})
_SLOT_SKIPPED = frozenset({-32007, -32009})


class NodeError(Exception):
    """The node answered with an error: its code and text."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{text} ({code})")
        self.code = code


class NodeUnreachable(NodeError):
    """No answer came, or none of JSON-RPC: another try may help."""

    def __init__(self, text: str) -> None:
        super().__init__(0, text)


class SlotNotAvailable(NodeError):
    """The node has no block for the slot now; that proves nothing about the slot."""


class SlotSkipped(SlotNotAvailable):
    """The node answers "skipped or missing" without knowing which: that proves neither."""


class BadBlock(NodeError):
    """The node's block cannot be read."""

    def __init__(self, text: str) -> None:
        super().__init__(0, text)


class SignatureStatus(NamedTuple):
    """Where the node has a transaction; `err` is JSON as the node gives it."""

    slot: int
    err: Any
    is_finalized: bool


class NodeAccount(NamedTuple):
    """An account of the node: its lamports, its owner's 32 bytes, its data."""

    lamports: int
    owner: bytes
    data: bytes


class BlockHeader(msgspec.Struct, frozen=True, rename="camel"):
    """A block's hash, its parent's slot and hash; when it was made, Unix seconds, if known."""

    blockhash: Annotated[str, msgspec.Meta(max_length=_LONGEST_TEXT)]
    parent_slot: int
    previous_blockhash: Annotated[str, msgspec.Meta(max_length=_LONGEST_TEXT)]
    block_time: int | None = None


class _Account(msgspec.Struct):
    lamports: int
    owner: str
    data: tuple[str, str]


class _Context(msgspec.Struct):
    slot: int


class _Accounts(msgspec.Struct):
    context: _Context
    value: list[_Account | None]


class Node:
    """One node. Connections stay open; for any number of threads."""

    def __init__(self, url: str, *, timeout_seconds: float = 30.0, connections: int = 8) -> None:
        self._client = Client(url, headers=_HEADERS, kept=connections)
        self._seconds = timeout_seconds
        self._peer = ""

    @property
    def name(self) -> str:
        """The node's host, for people: an address may hold a key in its path or query."""
        return self._client.name

    @property
    def is_private(self) -> bool:
        """Whether its newest answer came from a loopback, private or otherwise local address."""
        return bool(self._peer) and not is_public(ip_address(self._peer.partition("%")[0]))

    def call_raw(self, body: bytes, *, largest: int = _LARGEST_BLOCK) -> bytes:
        """The answer's bytes to a JSON-RPC body, whatever it says. Raises NodeUnreachable."""
        try:
            answer = self._client.post(body, seconds=self._seconds, largest=largest)
        except FAILURES as error:
            raise NodeUnreachable(f"{self.name}: {self._reason(error)}") from None
        self._peer = answer.peer
        if answer.status != 200 and answer.body.lstrip()[:1] not in (b"{", b"["):
            raise NodeUnreachable(f"{self.name}: HTTP status {answer.status}")
        return answer.body

    def call(self, method: str, *params: Any, largest: int = _LARGEST_ANSWER) -> Any:
        """The result of a method; NodeError with the node's own code and text. It is what the node
        sent: numbers in it may be of any size, and texts of any characters.
        """
        body = self._body(method, params)
        return _answer(self.name, self.call_raw(body, largest=largest)).get("result")

    def block(self, slot: Slot) -> SlotRecord:
        """The slot's finalized block with all its transactions. Raises SlotNotAvailable,
        BadBlock, NodeError.
        """
        config = {
            "encoding": "base64",
            "transactionDetails": "full",
            "rewards": True,
            "commitment": "finalized",
            "maxSupportedTransactionVersion": _NEWEST_VERSION,
        }
        data = self.call_raw(self._body("getBlock", (slot, config)))
        answer = _answer(self.name, data)
        if answer.get("result") is None:
            raise SlotNotAvailable(0, f"{self.name}: no block for slot {slot}")
        try:
            return json_block(data, given=slot, name="")[0]
        except Unreadable as fault:
            raise BadBlock(f"{self.name}: block {slot}: {fit(str(fault), 300)}") from None

    def header(self, slot: Slot) -> BlockHeader:
        """Of the slot's finalized block. Raises SlotNotAvailable, NodeError."""
        config = {
            "transactionDetails": "none",
            "rewards": False,
            "commitment": "finalized",
            "maxSupportedTransactionVersion": _NEWEST_VERSION,
        }
        found = self.call("getBlock", slot, config)
        if found is None:
            raise SlotNotAvailable(0, f"{self.name}: no block for slot {slot}")
        try:
            header = msgspec.convert(found, BlockHeader)
        except msgspec.ValidationError:
            raise BadBlock(f"{self.name}: block {slot} has no header") from None
        if not _is_slot(header.parent_slot):
            raise BadBlock(f"{self.name}: block {slot} has no header")
        return header

    def blocks(self, first: Slot, last: Slot) -> list[Slot]:
        """The finalized slots with a block in the range, both ends inclusive, ascending."""
        found = self.call("getBlocks", first, last, {"commitment": "finalized"})
        if not isinstance(found, list) or not all(type(slot) is int for slot in found):
            raise NodeUnreachable(f"{self.name}: getBlocks answered no list of slots")
        return sorted({Slot(slot) for slot in found if first <= slot <= last})

    def first_available_block(self) -> Slot:
        """The lowest slot whose block the node has; below it an absence proves nothing."""
        return self._slot("getFirstAvailableBlock")

    def slot(self, commitment: str = "finalized") -> Slot:
        """The node's newest slot."""
        return self._slot("getSlot", {"commitment": commitment})

    def block_height(self, commitment: str = "finalized") -> int:
        """Of its newest block."""
        return int(self._slot("getBlockHeight", {"commitment": commitment}))

    def signature_statuses(
        self, signatures: Sequence[bytes]
    ) -> tuple[Slot, list[SignatureStatus | None]]:
        """As of a slot, in their order, however old; None where the node knows of none. 256 at
        most.
        """
        asked = [b58encode(each) for each in signatures]
        config = {"searchTransactionHistory": True}
        answer = self.call("getSignatureStatuses", asked, config, largest=_LARGEST_VALUE)
        found = answer.get("value") if isinstance(answer, dict) else None
        if not isinstance(found, list) or len(found) != len(asked):
            raise NodeUnreachable(f"{self.name}: getSignatureStatuses answered no list of them")
        context = answer.get("context")
        slot: Any = context.get("slot") if isinstance(context, dict) else None
        if not _is_slot(slot):
            raise NodeUnreachable(f"{self.name}: getSignatureStatuses answered no slot")
        return Slot(slot), [None if each is None else self._status(each) for each in found]

    def _status(self, found: Any) -> SignatureStatus:
        if isinstance(found, dict) and "err" in found and _is_slot(found.get("slot")):
            is_finalized = found.get("confirmationStatus") == "finalized"
            return SignatureStatus(found["slot"], found["err"], is_finalized)
        raise NodeUnreachable(f"{self.name}: getSignatureStatuses answered no status")

    def accounts(self, pubkeys: Sequence[bytes]) -> tuple[Slot, list[NodeAccount | None]]:
        """At a finalized slot, in their order; None for one that does not exist. 100 at most."""
        asked = [b58encode(each) for each in pubkeys]
        config = {"encoding": "base64", "commitment": "finalized"}
        answer = self.call("getMultipleAccounts", asked, config)
        try:
            found = msgspec.convert(answer, _Accounts)
            accounts = [
                None
                if each is None
                else NodeAccount(each.lamports, b58decode(each.owner), b64decode(each.data[0]))
                for each in found.value
            ]
        except ValueError:
            raise NodeUnreachable(f"{self.name}: getMultipleAccounts answered none") from None
        if len(accounts) != len(asked) or not _is_slot(found.context.slot):
            raise NodeUnreachable(f"{self.name}: getMultipleAccounts answered no list of them")
        return Slot(found.context.slot), accounts

    def epoch_schedule(self) -> EpochSchedule:
        """How the chain's slots are divided into epochs."""
        found = self.call("getEpochSchedule", largest=_LARGEST_VALUE)
        names = ("slotsPerEpoch", "firstNormalEpoch", "firstNormalSlot")
        values: list[Any] = [found.get(name) for name in names] if isinstance(found, dict) else []
        if values and all(type(value) is int and 0 <= value <= I64_MAX for value in values):
            schedule = EpochSchedule(*values)
            if schedule.slots_per_epoch and schedule.first_normal_epoch <= _MOST_WARM_UP_EPOCHS:
                return schedule
        raise NodeUnreachable(f"{self.name}: getEpochSchedule answered no schedule")

    def genesis_hash(self) -> str:
        """What identifies a chain."""
        return self._text("getGenesisHash")

    def health(self) -> str:
        """`ok`; NodeError with the node's words when it is behind."""
        return self._text("getHealth")

    def version(self) -> str:
        """The node's software version."""
        found = self.call("getVersion", largest=_LARGEST_VALUE)
        version = found.get("solana-core") if isinstance(found, dict) else None
        return fit(version, _LONGEST_TEXT) if isinstance(version, str) else ""

    def _slot(self, method: str, *params: Any) -> Slot:
        found = self.call(method, *params, largest=_LARGEST_VALUE)
        if not _is_slot(found):
            raise NodeUnreachable(f"{self.name}: {method} answered no slot")
        return Slot(found)

    def _text(self, method: str) -> str:
        found = self.call(method, largest=_LARGEST_VALUE)
        if not isinstance(found, str) or fit(found, _LONGEST_TEXT) != found:
            raise NodeUnreachable(f"{self.name}: {method} answered no text")
        return found

    def _reason(self, error: Exception) -> str:
        match error:
            case NotConnected():
                return "no connection in time"
            case TimeoutError():
                return f"no answer within {self._seconds:g} s"
            case BadAnswer() | BadAddress():
                return str(error)
            case ConnectionRefusedError():
                return "Connection refused"
            case ConnectionError():
                return "the connection was closed without an answer"
        return fit(getattr(error, "strerror", "") or str(error) or type(error).__name__, 200)

    def _body(self, method: str, params: tuple[Any, ...]) -> bytes:
        return msgspec.json.encode(
            {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        )


def _answer(name: str, data: bytes) -> dict[str, Any]:
    try:
        answer = msgspec.json.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise NodeUnreachable(f"{name}: the answer is no JSON") from None
    if not isinstance(answer, dict):
        raise NodeUnreachable(f"{name}: the answer is no JSON-RPC")
    error = answer.get("error")
    if error is not None:
        code = error.get("code") if isinstance(error, dict) else None
        code = code if type(code) is int and abs(code) <= I64_MAX else 0
        text = fit(str(error.get("message", "") if isinstance(error, dict) else error), 300)
        if code in _SLOT_SKIPPED:
            raise SlotSkipped(code, text)
        if code in _ABSENT:
            raise SlotNotAvailable(code, text)
        raise NodeError(code, text)
    return answer


def _is_slot(found: Any) -> bool:
    """Whether it is a slot that a chain can have, or a height: no larger one fits a database."""
    return type(found) is int and 0 <= found <= MOST_SLOT
