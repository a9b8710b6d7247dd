"""Texts that are kept: made once for all who ask, bounded, and never of a block that is gone."""

import gzip
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from columns.caches import ByteCache
from historical.recording.services.removal import remove_blocks
from tests.patience import PATIENCE_SECONDS

from .conftest import import_path

SLOT = 147078735
DETAILS: list[dict[str, Any]] = [
    {"transactionDetails": "accounts"},
    {"transactionDetails": "full"},
    {"encoding": "base64"},
    {"encoding": "jsonParsed", "rewards": False},
]


def test_threads_that_want_one_text_make_it_once() -> None:
    cache, made = ByteCache(1_000), []
    begun, go_on = threading.Event(), threading.Event()
    found: list[bytes] = []

    def make() -> bytes:
        made.append(1)
        begun.set()
        assert go_on.wait(PATIENCE_SECONDS)
        return b"text"

    threads = [
        threading.Thread(target=lambda: found.append(cache.get("key", make))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    assert begun.wait(PATIENCE_SECONDS)
    assert cache.get("another", lambda: b"at once") == b"at once"
    go_on.set()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert (found, len(made)) == ([b"text"] * 8, 1)


def test_a_text_that_could_not_be_made_is_made_by_the_next() -> None:
    cache = ByteCache(1_000)

    def fail() -> bytes:
        raise KeyError("gone")

    for _ in range(2):
        with pytest.raises(KeyError):
            cache.get("key", fail)
    assert cache.get("key", lambda: b"text") == b"text"


def test_the_texts_that_were_not_asked_for_go_first() -> None:
    cache = ByteCache(100)
    for key in "abc":
        cache.get(key, lambda: b"x" * 30)
    cache.get("a", pytest.fail)
    cache.get("d", lambda: b"x" * 30)
    for key in "acd":
        cache.get(key, pytest.fail)
    assert cache.get("b", lambda: b"anew") == b"anew"
    # One that would push out most of the others is not kept.
    cache.get("large", lambda: b"x" * 60)
    assert cache.get("large", lambda: b"again") == b"again"


@pytest.mark.django_db(transaction=True)
def test_a_block_that_was_stored_anew_is_read_anew(
    rpc: Any, fixtures: Path, tmp_path: Path
) -> None:
    source = fixtures / "blocks" / f"solders-{SLOT}.json.json.gz"
    whole = json.loads(gzip.decompress(source.read_bytes()))
    other = json.loads(gzip.decompress(source.read_bytes()))
    other_block = other.get("result", other)
    other_block["transactions"][0]["meta"]["fee"] = 777
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(other))

    def fees() -> list[int]:
        found = []
        for config in DETAILS:
            asked = {**config, "maxSupportedTransactionVersion": 0}
            block = rpc("/historical", "getBlock", SLOT, asked)["result"]
            found.append(block["transactions"][0]["meta"]["fee"])
        return found

    def signatures() -> Any:
        answer = rpc("/historical", "getBlock", SLOT, {"transactionDetails": "signatures"})
        return answer.get("result", {}).get("signatures")

    block = whole.get("result", whole)
    names = [each["transaction"]["signatures"][0] for each in block["transactions"]]
    import_path(source, slot=SLOT)
    was = block["transactions"][0]["meta"]["fee"]
    assert was != 777
    assert fees() == fees() == [was] * len(DETAILS)
    assert signatures() == signatures() == names
    remove_blocks(SLOT, SLOT)
    assert signatures() is None
    import_path(changed, slot=SLOT)
    assert fees() == [777] * len(DETAILS)
    assert signatures() == names
