"""A node's JSON-RPC: blocks and what else ingest and the proxy ask of it."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import urllib3

from chain.blocks import SlotRecord
from chain.encodings import b58encode
from chain.epochs import EpochSchedule
from chain.units import Slot
from upstream.archives.errors import Unreadable
from upstream.archives.getblock_json import json_block

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
    """The node says skipped or missing, and cannot tell which: no proof either."""


class BadBlock(NodeError):
    """The node's block cannot be read."""

    def __init__(self, text: str) -> None:
        super().__init__(0, text)


class SignatureStatus(NamedTuple):
    """Where the node has a transaction; `err` is JSON as the node gives it."""

    slot: int
    err: Any
    is_finalized: bool


class Node:
    """One node. Connections stay open; for any number of threads."""

    def __init__(self, url: str, *, timeout_seconds: float = 30.0, connections: int = 8) -> None:
        self._url = url
        self._pool = urllib3.PoolManager(
            maxsize=connections,
            block=False,
            retries=urllib3.Retry(0, connect=0, read=0, redirect=0),
            timeout=urllib3.Timeout(connect=min(5.0, timeout_seconds), read=timeout_seconds),
            headers={"Content-Type": "application/json", "Accept-Encoding": "gzip"},
        )

    @property
    def name(self) -> str:
        """The node's host, for people: an address may hold a key in its path or query."""
        return urllib3.util.parse_url(self._url).netloc or self._url

    def call_raw(self, body: bytes) -> bytes:
        """The answer's bytes to a JSON-RPC body, whatever it says. Raises NodeUnreachable."""
        try:
            response = self._pool.request("POST", self._url, body=body)
        except urllib3.exceptions.HTTPError as error:
            raise NodeUnreachable(f"{self.name}: {_plain(error)}") from None
        if response.status != 200 and not response.data.lstrip().startswith((b"{", b"[")):
            raise NodeUnreachable(f"{self.name}: HTTP status {response.status}")
        return response.data

    def call(self, method: str, *params: Any) -> Any:
        """The result of a method; NodeError with the node's own code and text."""
        answer = _answer(self.name, self.call_raw(self._body(method, params)))
        return answer.get("result")

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
            return json_block(data, told=slot, name="")[0]
        except Unreadable as fault:
            raise BadBlock(f"{self.name}: block {slot}: {fault}") from None

    def blocks(self, first: Slot, last: Slot) -> list[Slot]:
        """The finalized slots with a block in the range, both ends inclusive, ascending."""
        found = self.call("getBlocks", first, last, {"commitment": "finalized"})
        if not isinstance(found, list) or not all(type(slot) is int for slot in found):
            raise NodeUnreachable(f"{self.name}: getBlocks answered no list of slots")
        return [Slot(slot) for slot in found if first <= slot <= last]

    def first_available_block(self) -> Slot:
        """The lowest slot whose block the node has; below it an absence proves nothing."""
        return self._slot("getFirstAvailableBlock")

    def slot(self, commitment: str = "finalized") -> Slot:
        """The node's newest slot."""
        return self._slot("getSlot", {"commitment": commitment})

    def block_height(self) -> int:
        """Of its newest finalized block."""
        return self._slot("getBlockHeight", {"commitment": "finalized"})

    def signature_statuses(self, signatures: Sequence[bytes]) -> list[SignatureStatus | None]:
        """In their order, however old; None where the node knows of none. 256 at most."""
        asked = [b58encode(each) for each in signatures]
        answer = self.call("getSignatureStatuses", asked, {"searchTransactionHistory": True})
        found = answer.get("value") if isinstance(answer, dict) else None
        if not isinstance(found, list) or len(found) != len(asked):
            raise NodeUnreachable(f"{self.name}: getSignatureStatuses answered no list of them")
        try:
            return [
                None
                if each is None
                else SignatureStatus(
                    int(each["slot"]), each["err"], each.get("confirmationStatus") == "finalized"
                )
                for each in found
            ]
        except (KeyError, TypeError, ValueError, AttributeError):
            raise NodeUnreachable(f"{self.name}: getSignatureStatuses answered no status") from None

    def epoch_schedule(self) -> EpochSchedule:
        """How the chain's slots are divided into epochs."""
        found = self.call("getEpochSchedule")
        names = ("slotsPerEpoch", "firstNormalEpoch", "firstNormalSlot")
        values = [found.get(name) for name in names] if isinstance(found, dict) else [None]
        if not all(type(value) is int and value >= 0 for value in values) or not values[0]:
            raise NodeUnreachable(f"{self.name}: getEpochSchedule answered no schedule")
        return EpochSchedule(*values)

    def genesis_hash(self) -> str:
        """What tells one chain from another."""
        return self._text("getGenesisHash")

    def health(self) -> str:
        """`ok`; NodeError with the node's words when it is behind."""
        return self._text("getHealth")

    def version(self) -> str:
        """The node's software version."""
        found = self.call("getVersion")
        return str(found.get("solana-core", "")) if isinstance(found, dict) else ""

    def _slot(self, method: str, *params: Any) -> Slot:
        found = self.call(method, *params)
        if type(found) is not int or found < 0:
            raise NodeUnreachable(f"{self.name}: {method} answered no slot")
        return Slot(found)

    def _text(self, method: str) -> str:
        found = self.call(method)
        if not isinstance(found, str):
            raise NodeUnreachable(f"{self.name}: {method} answered no text")
        return found

    def _body(self, method: str, params: tuple[Any, ...]) -> bytes:
        return msgspec.json.encode(
            {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        )


def _answer(name: str, data: bytes) -> dict[str, Any]:
    try:
        answer = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise NodeUnreachable(f"{name}: the answer is no JSON") from None
    if not isinstance(answer, dict):
        raise NodeUnreachable(f"{name}: the answer is no JSON-RPC")
    error = answer.get("error")
    if error is not None:
        told = error.get("code") if isinstance(error, dict) else None
        code = told if type(told) is int else 0
        text = str(error.get("message", "") if isinstance(error, dict) else error)[:300]
        if code in _SLOT_SKIPPED:
            raise SlotSkipped(code, text)
        if code in _ABSENT:
            raise SlotNotAvailable(code, text)
        raise NodeError(code, text)
    return answer


def _plain(error: Exception) -> str:
    """The error's reason without addresses of objects and without the request's path."""
    reason = getattr(error, "reason", None) or error
    text = re.sub(r"<[^>]*>:? ?|\w*\([^)]*\): |with url: \S+ ?", "", str(reason))
    return text.strip() or type(error).__name__
