"""Accounts of 10 MiB, the most that one may have, in every form of the archive."""

import base64
import random
from functools import cache
from hashlib import sha256
from typing import Any

import pytest
import zstandard

from tests.conftest import Rpc
from tests.rewind.histories import text
from tests.rewind.samples import block, key, signature, write
from tests.rewind.sealed_forms import Form, move, seal, use_folder

pytestmark = pytest.mark.usefixtures("empty_redis")
MOST = 10 * 1024 * 1024
LARGE, OTHER = key(1), key(2)


@cache
def random_bytes() -> bytes:
    """Not a constant: each process that collects the tests would have it."""
    return random.Random(1).randbytes(MOST)


def states() -> dict[int, tuple[bytes | None, bytes | None]]:
    """What the two accounts are at the end of each slot."""
    last = random_bytes()[:-1] + b"\0"
    return {
        10: (random_bytes(), None),
        11: (last, bytes(MOST)),
        12: (last[: MOST - 5], bytes(MOST)),
        13: (b"", bytes(MOST)),
        14: (random_bytes(), bytes(MOST)),
        15: (None, bytes(MOST)),
    }


@pytest.fixture(params=[Form.HOT, Form.SEALED, Form.COLD], ids=lambda form: form.name.lower())
def archived(request: Any, record: Any) -> None:
    before: tuple[bytes | None, bytes | None] = (None, None)
    for slot, now in states().items():
        writes = [
            write(key, signature(slot, index), lamports=0 if data is None else 7, data=data or b"")
            for index, (key, data) in enumerate(zip((LARGE, OTHER), now, strict=True))
            if data != before[index]
        ]
        record(block(slot, slot - 1, writes=writes))
        before = now
    if request.param is not Form.HOT:
        seal()
    if request.param is Form.COLD:
        use_folder()
        move()


def read(rpc: Rpc, account: bytes, **config: Any) -> bytes | None:
    value = rpc("/rewind", "getAccountInfo", text(account), config)["result"]["value"]
    if value is None:
        return None
    data, encoding = value["data"]
    raw = base64.b64decode(data)
    if encoding == "base64":
        return raw
    return zstandard.ZstdDecompressor().decompress(raw, max_output_size=MOST)


PARTS = [(0, 1), (MOST - 1, 1), (MOST - 6, 100), (MOST, 1), (5_000_000, 77), (2**64 - 1, 2**64 - 1)]


def test_it_reads_as_it_was(rpc: Rpc, archived: None) -> None:
    """Whole ones of random bytes three times: the responses of one key have a limit."""
    for slot, wanted in states().items():
        for account, data in zip((LARGE, OTHER), wanted, strict=True):
            encoding = "base64" if slot in (10, 12) else "base64+zstd"
            assert read(rpc, account, slot=slot, encoding=encoding) == data, slot
            for offset, length in PARTS:
                part = {"offset": offset, "length": length}
                found = read(rpc, account, slot=slot, dataSlice=part)
                assert found == (None if data is None else data[offset : offset + length])


def test_its_changes_are_compared(rpc: Rpc, archived: None) -> None:
    end = {"offset": MOST - 8, "length": 8}
    own = {slot: state for slot, (state, _) in states().items()}
    for slot in (10, 11, 12, 13):
        a, b = own[slot] or b"", own[slot + 1] or b""
        config = {"slotA": slot, "slotB": slot + 1, "dataSlice": end}
        found = rpc("/rewind", "getAccountDiff", text(LARGE), config)["result"]["value"]["diff"]
        assert (found["dataChanged"], found["dataLenA"], found["dataLenB"]) == (
            True,
            len(a),
            len(b),
        )
    config = {"fromSlot": 10, "toSlot": 15, "includeData": True, "encoding": "base64+zstd"}
    changes: list[Any] = []
    while True:
        page = rpc("/rewind", "getAccountChanges", text(LARGE), config)["result"]["value"]
        changes += page["changes"]
        if page["next"] is None:
            break
        config["before"] = page["next"]
    assert [(each["slot"], each["space"], each["dataHash"]) for each in changes] == [
        (slot, len(data or b""), sha256(data or b"").hexdigest())
        for slot, data in reversed(own.items())
    ]


def test_several_are_cut(rpc: Rpc, archived: None) -> None:
    pair = [text(LARGE), text(OTHER)]
    found = rpc("/rewind", "getMultipleAccounts", pair, {"slot": 11})["result"]
    assert found["truncatedByBytes"] and found["context"]["reason"] == [None, "truncated"]
    assert [each and each["space"] for each in found["value"]] == [MOST, None]
    part = {"slot": 11, "dataSlice": {"offset": MOST - 2, "length": 5}}
    found = rpc("/rewind", "getMultipleAccounts", pair, part)["result"]
    ends = [base64.b64decode(each["data"][0]) for each in found["value"]]
    assert ends == [random_bytes()[-2:-1] + b"\0", bytes(2)]
