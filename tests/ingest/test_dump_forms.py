"""Dumps as people write them: each form of one block, or of several, and what becomes of it."""

import base64
import bz2
import gzip
import io
import json
import lzma
import zipfile
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from historical.models import Block
from tests.examples import examples
from tests.ingest.test_every_file import file, linked_blocks, refused, run, slots
from tests.ingest.test_import_blocks import empty_ledger
from tests.upstream import sample_blocks as sample

__all__ = ["empty_ledger"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_ledger")]

S = sample.SLOT
B = sample.block_json("base64")
R = {"jsonrpc": "2.0", "id": 1, "result": B}
# Blocks of slots 103, 105 and 106.
B3 = [
    {**block, "transactions": B["transactions"] if number == 0 else []}
    for number, block in enumerate(linked_blocks(103, 105, 106))
]
R3 = [{"jsonrpc": "2.0", "id": number, "result": block} for number, block in enumerate(B3)]
SKIPPED = {
    "jsonrpc": "2.0",
    "id": 7,
    "error": {"code": -32007, "message": "Slot 104 was skipped"},
}
LIMITED = {"jsonrpc": "2.0", "id": 8, "error": {"code": 429, "message": "Too many requests"}}
NULL = {"jsonrpc": "2.0", "id": 9, "result": None}
CONFIRMED = {"jsonrpc": "2.0", "result": 23, "id": 1}


def text(value: Any, **options: Any) -> bytes:
    return json.dumps(value, **options).encode()


def lines(*values: Any, end: bytes = b"\n", between: bytes = b"\n") -> bytes:
    return between.join(each if isinstance(each, bytes) else text(each) for each in values) + end


def notification(slot: int, block: Any, err: Any = None, **more: Any) -> dict[str, Any]:
    """As the node and this service write it."""
    value = {"slot": slot, "block": block, "err": err}
    result = {"context": {"slot": slot}, "value": value}
    params = {"result": result, "subscription": 1, **more}
    return {"jsonrpc": "2.0", "method": "blockNotification", "params": params}


def in_base58(block: dict[str, Any]) -> dict[str, Any]:
    return {**block, "transactions": sample.block_json("base58")["transactions"]}


def zipped(content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("block.json", content)
    return out.getvalue()


N3 = [notification(slot, block) for slot, block in zip((103, 105, 106), B3, strict=True)]
SLOT_NOTE = {
    "jsonrpc": "2.0",
    "method": "slotNotification",
    "params": {"result": {"parent": 1, "root": 0, "slot": 2}, "subscription": 2},
}

# The content, the slots that are stored, and a part of each warning.
TAKEN: dict[str, tuple[bytes, list[int], list[str]]] = {
    "a response": (text(R), [S], []),
    "a result": (text(B), [S], []),
    "indented": (text(R, indent=2), [S], []),
    "white space around": (b"\n\t " + text(R) + b" \r\n\n", [S], []),
    "encoding json": (text({**R, "result": sample.block_json("json")}), [S], []),
    "encoding base58": (text(in_base58(B)), [S], []),
    "a byte order mark": (b"\xef\xbb\xbf" + text(R), [S], []),
    "UTF-16 with a mark": (text(R).decode().encode("utf-16"), [S], []),
    "UTF-16, the other order": (b"\xfe\xff" + text(R).decode().encode("utf-16-be"), [S], []),
    "UTF-16 without a mark": (text(R).decode().encode("utf-16-le"), [S], []),
    "gzip": (gzip.compress(text(R)), [S], []),
    "zstd": (zstandard.compress(text(R)), [S], []),
    "gzip with a mark": (gzip.compress(b"\xef\xbb\xbf" + lines(*R3)), [103, 105, 106], []),
    "a tar": (sample.tar_file({"103.json": text(R)}), [S], []),
    "a tar of lines": (sample.tar_file({"a.ndjson": lines(*R3)}), [103, 105, 106], []),
    "slot and block": (text({"slot": S, "block": B}), [S], []),
    "slot and response": (text({"slot": S, "block": R}), [S], []),
    "a slot in the block": (text({"slot": S, **B}), [S], []),
    "the slot as the id": (text({**R, "id": S}), [S], []),
    "a notification": (text(notification(S, B)), [S], []),
    "a notification's result": (text(notification(S, B)["params"]["result"]), [S], []),
    "a notification's value": (text({"slot": S, "block": B, "err": None}), [S], []),
    "an array of responses": (text(R3), [103, 105, 106], []),
    "an array of results": (text(B3), [103, 105, 106], []),
    "an indented array": (text(R3, indent=1), [103, 105, 106], []),
    "an array of pages": (text([R3[:2], R3[2:]]), [103, 105, 106], []),
    "an array with errors": (
        text([R3[0], SKIPPED, R3[1], LIMITED, R3[2], NULL]),
        [103, 105, 106],
        ["[1]: Slot 104 was skipped", "[3]: Too many requests", "[5]: null: the node had no"],
    ),
    "an array of notifications": (text(N3), [103, 105, 106], []),
    "an array of slot and block": (
        text([{"slot": 103, "block": B3[0]}, {"slot": 104, "block": None}]),
        [103],
        ["[1]: slot 104: null"],
    ),
    "blocks by slot": (
        text({"103": B3[0], "104": None, "105": R3[1]}),
        [103, 105],
        ["[104]: slot 104: null"],
    ),
    "a response a line": (lines(*R3), [103, 105, 106], []),
    "a result a line": (lines(*B3), [103, 105, 106], []),
    "lines without a last end": (lines(*R3, end=b""), [103, 105, 106], []),
    "lines of Windows": (lines(*R3, between=b"\r\n"), [103, 105, 106], []),
    "lines with blank ones": (lines(*R3, between=b"\n\n"), [103, 105, 106], []),
    "lines with commas": (lines(*R3, between=b",\n"), [103, 105, 106], []),
    "lines from the newest": (lines(*R3[::-1]), [103, 105, 106], []),
    "lines with errors": (
        lines(R3[0], SKIPPED, R3[1], NULL, R3[2], LIMITED),
        [103, 105, 106],
        ["line 2: Slot 104 was skipped", "line 4: null", "line 6: Too many requests"],
    ),
    "lines that begin with an error": (
        lines(SKIPPED, *R3),
        [103, 105, 106],
        ["line 1: Slot 104 was skipped"],
    ),
    "lines of null": (lines(None, *B3), [103, 105, 106], ["line 1"]),
    "a batch a line": (lines(R3[:2], R3[2:]), [103, 105, 106], []),
    "a notification a line": (lines(*N3), [103, 105, 106], []),
    "all that a WebSocket brought": (
        lines(CONFIRMED, SLOT_NOTE, *N3, notification(107, None, {"BlockNotAvailable": 107})),
        [103, 105, 106],
        ["line 1: expected a block", "line 2: a message slotNotification", "line 6: slot 107"],
    ),
    "slot and block a line": (
        lines(
            *({"slot": slot, "block": block} for slot, block in zip((103, 105), B3, strict=False))
        ),
        [103, 105],
        [],
    ),
    "JSON text sequences": (
        b"".join(b"\x1e" + text(each) + b"\n" for each in R3),
        [103, 105, 106],
        [],
    ),
    "documents of jq": (
        b"\n".join(text(each, indent=2) for each in R3),
        [103, 105, 106],
        [],
    ),
    "documents without an end": (b"".join(map(text, R3)), [103, 105, 106], []),
    "zstd of lines in two frames": (
        zstandard.compress(lines(*R3[:1])) + zstandard.compress(lines(*R3[1:])),
        [103, 105, 106],
        [],
    ),
}

# The content, and a part of the reason.
NOT_READ: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "the file is empty"),
    "white space": (b" \n\n ", "nothing but white space"),
    "an error": (text(SKIPPED), "the node answered with an error: Slot 104 was skipped"),
    "null": (text(NULL), "null: the node had no such block"),
    "only null": (b"null\n", "null: the node had no such block"),
    "lines of errors": (lines(SKIPPED, LIMITED), "no block in it (line 1: Slot 104 was skipped)"),
    "an array of errors": (text([SKIPPED, NULL]), "no block in it ([0]: Slot 104 was skipped)"),
    "cut short": (text(R)[:-20], "not whole JSON"),
    "lines, the last cut short": (lines(*R3)[:-20], "line 3: not whole JSON"),
    "lines with words between": (lines(R3[0], b"done", R3[1]), "line 2: not whole JSON"),
    "another message": (text(SLOT_NOTE), "a message slotNotification, no block"),
    "a confirmation": (text(CONFIRMED), "expected a block, found the answer of another method"),
    "a notification of an error": (
        text(notification(S, None, {"BlockNotAvailable": S})),
        "slot 103: no block",
    ),
    "an object of something else": (
        text({"data": [B], "meta": 1}),
        "no block: an object of `data`, `meta`",
    ),
    "a transaction": (
        text({"slot": S, "transaction": B["transactions"][0]["transaction"], "meta": None}),
        "one transaction and not its block; fetch getBlock 103",
    ),
    "a list of slots": (text({"jsonrpc": "2.0", "id": 1, "result": [1, 2]}), "expected a block"),
    "a wrong slot": (text({"slot": 90, "block": B}), "slot 90 is not after the block's parentSlot"),
    "xz": (lzma.compress(text(R)), "xz data, which is not read: unpack it first"),
    "bzip2": (bz2.compress(text(R)), "bzip2 data, which is not read: unpack it first"),
    "a zip": (zipped(text(R)), "a zip archive, which is not read: unpack it first"),
    "packed twice": (gzip.compress(zstandard.compress(text(R))), "zstd data inside of packed data"),
    "Parquet": (b"PAR1" + bytes(600), "a Parquet file, which is not read"),
    "what curl -i writes": (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + text(R),
        "an HTTP response with its headers",
    ),
    "a page": (b"<!doctype html><title>429</title>", "an HTML or XML page"),
    "events": (b"data: " + text(R) + b"\n\n", "a stream of events"),
    "JSON in quotes": (text(text(R).decode()), "a JSON text (in quotes)"),
    "base64": (base64.b64encode(sample.protobuf_file()), "text that may be base64"),
    "UTF-16 that is cut": (text(R).decode().encode("utf-16")[:-1], "the UTF-16 text is damaged"),
}


@pytest.mark.parametrize("form", TAKEN)
def test_a_form_that_is_read_is_stored_at_its_slots(tmp_path: Path, form: str) -> None:
    content, expected, warnings = TAKEN[form]
    _, err = run(file(tmp_path, content, "dump-103"), "--genesis", "mainnet")
    assert slots() == expected
    named = [line for line in err.splitlines() if "passed over" in line]
    assert len(named) == len(warnings)
    for line, part in zip(named, warnings, strict=True):
        assert part in line
    assert Block.objects.get(slot=S).transaction_count == 2


@pytest.mark.parametrize("form", NOT_READ)
def test_a_form_that_is_not_read_is_named_for_what_it_is(tmp_path: Path, form: str) -> None:
    content, reason = NOT_READ[form]
    assert reason in refused(file(tmp_path, content, "dump"), "--genesis", "mainnet")
    assert not slots()


def test_the_slot_of_a_notification_counts_whatever_a_name_or_a_caller_says(tmp_path: Path) -> None:
    path = file(tmp_path, text(notification(105, B)), "block-103.json")
    assert "the block says 105, not 104" in refused(path, "--genesis", "mainnet", "--slot", "104")
    run(path, "--genesis", "mainnet")
    assert slots() == [105]
    said = refused(file(tmp_path, lines(*R3)), "--genesis", "mainnet", "--slot", "103")
    assert "slot 103 is given, but the file has more than one block" in said


def test_an_id_is_a_slot_only_where_it_can_be_no_count(tmp_path: Path) -> None:
    high = {**linked_blocks(103)[0], "parentSlot": 447_600_000}
    run(file(tmp_path, text({**R, "id": 447_600_003, "result": high})), "--genesis", "mainnet")
    assert slots() == [447_600_003]
    with_id = {**R, "id": 104}
    _, err = run(file(tmp_path, text(with_id), "dump"), "--genesis", "mainnet")
    assert "parentSlot + 1 = 102" in err


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from([*R3, SKIPPED, NULL, CONFIRMED, *N3, SLOT_NOTE]), min_size=1),
    st.sampled_from(["array", "lines", "documents"]),
    st.integers(0, 400),
)
def test_a_dump_of_any_answers_is_read_or_refused_with_its_place(
    tmp_path: Path, answers: list[Any], kind: str, cut: int
) -> None:
    from upstream.archives.block_files import open_block_file
    from upstream.archives.errors import BadBlockFile

    whole = {
        "array": text(answers),
        "lines": lines(*answers),
        "documents": b" ".join(text(each, indent=1) for each in answers),
    }[kind]
    held = sum(each in R3 or each in N3 for each in answers)
    path = tmp_path / "dump"
    path.write_bytes(whole)
    try:
        with open_block_file(path) as blocks:
            assert len(list(blocks)) == held > 0
            assert sum("passed over" in each for each in blocks.warnings) == len(answers) - held
    except BadBlockFile as fault:
        assert not held, fault
    path.write_bytes(whole[: len(whole) - cut])
    try:
        with open_block_file(path) as blocks:
            assert len(list(blocks)) <= held
    except BadBlockFile:
        pass
