"""JSON files of getBlock's results as people write them: what stands around a block, several blocks
in a file, and answers without one → SlotRecord.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from chain.blocks import SlotRecord
from upstream.archives.compression import ByteStream
from upstream.archives.errors import Unreadable
from upstream.archives.getblock_json import record_of

Block = tuple[SlotRecord, bool]

_MOST_WRAPPERS = 8
_WARNINGS_KEPT = 1_000
_LONGEST_TEXT = 200
# RFC 7464 begins each text with a separator; what is cut out of an array ends with a comma.
_AROUND_LINES = b" \t\r\n\x1e,"
# A request's id that lies so little above the parent's slot is the slot that was asked for. Ids
# that are counted from 1 come near the slots of young chains.
_LEAST_ID = 1_000_000
_FARTHEST_ID = 10_000
_NAMES_SHOWN = 6
_NULL = "null: the node had no such block"


class NoBlock(Exception):
    """An answer without a block, as when a slot was skipped: `fault` is what it is where a block is
    needed, `reason` where others stand beside it.
    """

    def __init__(self, place: str, text: str, reason: str = "") -> None:
        super().__init__(reason or text)
        self.fault = Unreadable(place, text)
        self.reason = reason or text


@dataclass(frozen=True, slots=True)
class Found:
    """A block's result, where it stands in the file, and its slot if what surrounds it says it:
    `asked` is what its request's id suggests, which counts if nothing else is known.
    """

    place: str
    block: dict[str, Any]
    slot: int | None
    asked: int | None = None


def json_block(data: bytes, *, given: int | None, name: str) -> Block:
    """The block of a getBlock answer, and whether its slot was only guessed."""
    return _single("", _document(data), given, name)


def json_blocks(
    stream: ByteStream, most: int, *, given: int | None, name: str, warn: Callable[[str], None]
) -> Iterator[Block]:
    """The same of each block of a file: an answer, a result, `{slot, block}`, a notification of
    blockSubscribe; an array of them, an object of them by slot, or one a line. Without a slot of
    its own a block among others has the one that the block after it names as its parent's. Among
    others, answers without a block are passed over with a warning.
    """
    line = stream.line_ahead(most)
    if not _is_blank_after(stream, len(line)) and _is_json(line):
        found = _passing_over(_lines(stream, most), name, warn)
        yield from _with_neighbours(found, given)
        return
    documents = _documents(stream.read_all(most))
    entries = [entry for place, document in documents for entry in _flat(place, document)]
    if len(documents) == 1 and not _is_many(documents[0][1]):
        yield _single(*entries[0], given, name)
        return
    if not entries:
        raise Unreadable("", "expected a getBlock response, found an array without any")
    yield from _with_links(list(_passing_over(entries, name, warn)), given)


def _single(place: str, value: Any, given: int | None, name: str) -> Block:
    try:
        found = _unwrapped(place, value)
    except NoBlock as none:
        raise none.fault from None
    return _recorded(found, given, name)


def _recorded(found: Found, given: int | None, name: str) -> Block:
    with _placed(found.place):
        if None not in (given, found.slot) and given != found.slot:
            raise Unreadable("slot", f"the block says {found.slot}, not {given}")
        known = (each for each in (given, found.slot, found.asked) if each is not None)
        return record_of(found.block, given=next(known, None), name=name)


def _with_links(blocks: list[Found], given: int | None) -> Iterator[Block]:
    """Of blocks in any order."""
    if given is not None and len(blocks) > 1:
        raise Unreadable("", f"slot {given} is given, but the file has {len(blocks)} blocks")
    slots = {_previous_of(each): each.block.get("parentSlot") for each in blocks}
    for each in blocks:
        yield _recorded(_named(each, slots.get(_hash_of(each))), given, "")


def _with_neighbours(blocks: Iterable[Found], given: int | None) -> Iterator[Block]:
    """Of blocks in ascending or descending order; two are in memory."""
    before: Found | None = None
    pending: Found | None = None
    for each in blocks:
        if given is not None and pending is not None:
            raise Unreadable("", f"slot {given} is given, but the file has more than one block")
        if pending is not None:
            yield _recorded(_named_by(pending, before, each), given, "")
        before, pending = pending, each
    if pending is not None:
        yield _recorded(_named_by(pending, before, None), given, "")


def _named_by(found: Found, *neighbours: Found | None) -> Found:
    for each in neighbours:
        if each is not None and _previous_of(each) == _hash_of(found):
            return _named(found, each.block.get("parentSlot"))
    return found


def _named(found: Found, slot: Any) -> Found:
    """With the slot that another block names, unless it has one, or that is its own parent's."""
    known = type(slot) is int and slot != found.block.get("parentSlot")
    return replace(found, slot=slot) if found.slot is None and known else found


def _hash_of(found: Found) -> str:
    return str(found.block.get("blockhash"))


def _previous_of(found: Found) -> str:
    return str(found.block.get("previousBlockhash", found.place))


def _passing_over(
    entries: Iterable[tuple[str, Any]], name: str, warn: Callable[[str], None]
) -> Iterator[Found]:
    passed, taken, first = 0, 0, ""
    for place, value in entries:
        try:
            with _placed(place):
                found = _unwrapped(place, value)
        except NoBlock as none:
            passed += 1
            first = first or f"{place}: {none.reason}"
            if passed <= _WARNINGS_KEPT:
                warn(f"{name}: {place}: {none.reason}: passed over")
            continue
        taken += 1
        yield found
    if not taken:
        raise Unreadable("", f"no block in it ({first})" if first else "no block in it")


def _unwrapped(place: str, value: Any) -> Found:
    """The block inside of what stands around it. Raises NoBlock, Unreadable."""
    slot: int | None = None
    asked: Any = None
    for _ in range(_MOST_WRAPPERS):
        if value is None:
            raise NoBlock("", _NULL)
        if not isinstance(value, dict):
            raise Unreadable("", "expected a getBlock response or its result")
        if value.get("error") is not None:
            raise _refusal(value["error"])
        if isinstance(value.get("method"), str) and "params" in value:
            value = _notified(value)
        elif "context" in value and "value" in value:
            value = value["value"]
        elif "block" in value and "blockhash" not in value:
            slot = _slot_in(value) if slot is None else slot
            if value.get("err") is not None:
                text = json.dumps(value["err"])[:_LONGEST_TEXT]
                raise NoBlock("err", f"slot {slot}: no block: {text}")
            if value["block"] is None:
                raise NoBlock("block", f"slot {slot}: {_NULL}")
            value = value["block"]
        elif "result" in value:
            asked = value.get("id")
            value = value["result"]
            if value is None:
                raise NoBlock("result", _NULL)
            if type(value) in (int, str, bool):
                raise NoBlock("result", "expected a block, found the answer of another method")
            if not isinstance(value, dict):
                raise Unreadable("result", "expected a block")
        else:
            break
    else:
        raise Unreadable("", f"a block inside of more than {_MOST_WRAPPERS} objects is not read")
    slot = _slot_in(value) if slot is None else slot
    _refuse_others(value)
    return Found(place, value, slot, _asked_for(asked, value))


def _notified(value: dict[str, Any]) -> Any:
    """What a notification notifies of."""
    if value["method"] != "blockNotification":
        raise NoBlock("method", f"a message {value['method'][:_LONGEST_TEXT]}, no block")
    params = value["params"]
    if not isinstance(params, dict) or "result" not in params:
        raise Unreadable("params", "expected the result of a blockNotification")
    return params["result"]


def _refusal(error: Any) -> NoBlock:
    given = error.get("message") if isinstance(error, dict) else error
    text = str(given)[:_LONGEST_TEXT]
    return NoBlock("error", f"the node answered with an error: {text}", text)


def _slot_in(value: dict[str, Any]) -> int | None:
    slot = value.get("slot")
    return slot if type(slot) is int else None


def _asked_for(asked: Any, block: dict[str, Any]) -> int | None:
    parent = block.get("parentSlot")
    if type(asked) is not int or type(parent) is not int or asked < _LEAST_ID:
        return None
    return asked if parent < asked <= parent + _FARTHEST_ID else None


def _refuse_others(value: dict[str, Any]) -> None:
    if value.keys() & {"parentSlot", "blockhash", "transactions", "transaction"}:
        return
    names = ", ".join(f"`{name[:40]}`" for name in [*value][:_NAMES_SHOWN])
    more = ", …" if len(value) > _NAMES_SHOWN else ""
    raise Unreadable("", f"no block: an object of {names or 'nothing'}{more}")


def _flat(place: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The entries of arrays, and of objects by slot, with their places."""
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from _flat(f"{place}[{index}]", each)
    elif _is_by_slot(value):
        for slot, each in value.items():
            yield f"{place}[{slot}]", {"slot": int(slot), "block": each}
    else:
        yield place, value


def _is_many(document: Any) -> bool:
    return isinstance(document, list) or _is_by_slot(document)


def _is_by_slot(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and bool(value)
        and all(name.isascii() and name.isdigit() and len(name) < 21 for name in value)
    )


def _lines(stream: ByteStream, most: int) -> Iterator[tuple[str, Any]]:
    number = 0
    while line := stream.line_ahead(most):
        stream.read(len(line))
        number += 1
        text = line.strip(_AROUND_LINES)
        if text:
            with _placed(f"line {number}"):
                value = _document(text)
            yield from _flat(f"line {number}", value)


def _documents(data: bytes) -> list[tuple[str, Any]]:
    """The file's only document, or several behind one another, as jq writes them."""
    try:
        return [("", _document(data))]
    except Unreadable:
        found = _concatenated(data)
        if len(found) < 2:
            raise
        return [(f"document {number}", each) for number, each in enumerate(found, 1)]


def _concatenated(data: bytes) -> list[Any]:
    """None where something else stands between or behind them."""
    decoder = json.JSONDecoder()
    found: list[Any] = []
    try:
        text = data.decode()
        at = 0
        while (at := _begin_after(text, at)) < len(text):
            value, at = decoder.raw_decode(text, at)
            found.append(value)
    except (ValueError, RecursionError):
        return []
    return found


def _begin_after(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n\x1e,":
        at += 1
    return at


def _document(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise Unreadable("", f"not whole JSON: {error}") from None
    except (UnicodeDecodeError, RecursionError):
        raise Unreadable("", "not JSON that can be read") from None


def _is_json(line: bytes) -> bool:
    try:
        _document(line.strip(_AROUND_LINES))
    except Unreadable:
        return False
    return True


def _is_blank_after(stream: ByteStream, size: int) -> bool:
    """Whether nothing but a little white space follows the next bytes."""
    return not stream.peek(size + 4_096)[size:].strip(_AROUND_LINES)


@contextmanager
def _placed(place: str) -> Iterator[None]:
    try:
        yield
    except Unreadable as fault:
        raise fault.inside(place) from None
