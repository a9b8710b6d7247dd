"""A bit that flipped in what is sealed is found and named, and nothing of it is served."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from solders.signature import Signature

from chain.encodings import b58encode
from historical.blocks.services import text_caches
from historical.models import PackedTexts
from historical.recording.services.recording import record_blocks
from historical.recording.services.removal import remove_blocks
from historical.sealed.packed_index import signature_key
from historical.sealed.packed_texts import OpenFrame
from historical.sealed.services import scrubbing
from historical.sealed.store import frames, sealed_blocks
from tests.conftest import Rpc

from .frames_of_before import pack_as_before
from .made_blocks import ACCOUNTS, made_block
from .sealed_reads import HISTORICAL, NOW, V0, every_read, seal

pytestmark = pytest.mark.usefixtures("empty_ledger")
SLOTS = range(10, 60)


@pytest.fixture
def signatures() -> list[str]:
    """Of sealed blocks; and nothing is remembered of them."""
    blocks = [made_block(slot, slot - 1, transactions=9, seed=1) for slot in SLOTS]
    record_blocks([*blocks, made_block(1_000, 59, transactions=1, seed=1)], now=NOW)
    seal(64)
    return [b58encode(each.signature) for block in blocks for each in block.transactions]


@pytest.fixture(autouse=True)
def _nothing_cached(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for cache in ("recent_texts", "recent_opened", "recent_answers"):
        monkeypatch.setattr(getattr(text_caches, cache), "_capacity", 0)
    monkeypatch.setattr(frames.recent_frames, "_capacity", 0)
    sealed_blocks.recent_dictionaries.forget()
    yield
    sealed_blocks.recent_dictionaries.forget()


def flip(table: str, column: str, byte: int = 40) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {table} SET {column} = set_byte({column}, %s, get_byte({column}, %s) # 4)",
            (byte, byte),
        )
        assert cursor.rowcount


def refused(response: dict[str, Any]) -> str:
    error = response["error"]
    assert (error["code"], error["data"]["reason"]) == (-32603, "sealed_data_damaged")
    return str(error["data"]["damaged"])


@pytest.mark.parametrize(
    ("table", "column", "name"),
    [
        ("historical_packedtexts", "frame", "frame "),
        ("historical_sealedrange", "keys", "the dictionary of sealed range "),
        ("historical_sealedrange", "dictionary", "the dictionary of sealed range "),
        ("historical_sealedblock", "entries", "the entries of block 20"),
    ],
)
def test_a_block_is_not_served(
    rpc: Rpc, signatures: list[str], table: str, column: str, name: str
) -> None:
    assert "result" in rpc(HISTORICAL, "getBlock", 20, V0)
    _forget()
    flip(table, column, 2 if column == "dictionary" else 40)
    assert refused(rpc(HISTORICAL, "getBlock", 20, V0)).startswith(name)
    assert rpc(HISTORICAL, "getBlock", 1_000, V0)["result"]["blockhash"]


def test_a_signature_that_names_a_damaged_place_is_refused_as_declared(
    rpc: Rpc, client: Any, signatures: list[str]
) -> None:
    flip("historical_sealedblock", "entries")
    declared = {
        (each["x-path"], each["name"]): str(each["errors"])
        for each in client.get("/openrpc.json").json()["methods"]
    }
    place = {"signature": signatures[0]}
    for name, *params in (
        ("getAccountInfo", "1" * 32, {"anchor": place}),
        ("getMultipleAccounts", ["1" * 32], {"anchor": place}),
        ("getAccountDiff", "1" * 32, {"anchorA": place, "anchorB": place}),
    ):
        assert "entr" in refused(rpc("/rewind", name, *params)), name
        assert "sealed_data_damaged" in declared["/rewind", name], name


def test_one_section_that_is_damaged_does_not_hide_the_others(
    rpc: Rpc, signatures: list[str]
) -> None:
    before = rpc(HISTORICAL, "getTransaction", signatures[0], V0)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE historical_packedtexts SET frame = set_byte(frame, octet_length(frame) - 9,"
            " get_byte(frame, octet_length(frame) - 9) # 4)"
        )
    assert rpc(HISTORICAL, "getTransaction", signatures[0], V0) == before
    name = refused(rpc(HISTORICAL, "getTransaction", signatures[-1], V0))
    assert name.startswith("frame ")
    assert refused(rpc(HISTORICAL, "getBlock", SLOTS[-1], V0)) == name
    faults = scrubbing.faults_of("texts", int(name.split()[1]))
    assert [each.reason for each in faults] == ["the checksum of a section differs"]


def test_frames_of_before_are_served(rpc: Rpc, signatures: list[str]) -> None:
    reads: dict[str, Any] = {"slots": [*SLOTS][::9], "signatures": signatures[::40]}
    reads |= {"addresses": [b58encode(ACCOUNTS[0])]}
    before = every_read(rpc, **reads)
    for stored in PackedTexts.objects.all():
        dictionary = sealed_blocks.dictionary(stored.sealed_range)
        packed = pack_as_before(OpenFrame(bytes(stored.frame), dictionary).each(), dictionary)
        assert PackedTexts.objects.filter(pk=stored.pk).update(frame=packed)
        assert not scrubbing.faults_of("texts", stored.pk)
    assert every_read(rpc, **reads) == before
    flip("historical_packedtexts", "frame")
    assert refused(rpc(HISTORICAL, "getTransaction", signatures[0], V0)).startswith("frame ")


def _forget() -> None:
    sealed_blocks.recent_dictionaries.forget()


def test_a_damaged_index_is_not_taken_for_an_absent_transaction(
    rpc: Rpc, signatures: list[str]
) -> None:
    address = b58encode(ACCOUNTS[0])
    last = max(signatures, key=lambda each: signature_key(bytes(Signature.from_string(each))))
    other = next(each for each in signatures if each != last)
    assert rpc(HISTORICAL, "getTransaction", last, V0)["result"]
    assert rpc(HISTORICAL, "getSignaturesForAddress", address)["result"]
    # The last byte: the place of the last key, which is still found.
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE historical_packedindex SET block = set_byte(block, octet_length(block) - 1,"
            " get_byte(block, octet_length(block) - 1) # 1)"
        )
    name = "a block of index run "
    for _ in range(2):
        assert refused(rpc(HISTORICAL, "getTransaction", last, V0)).startswith(name)
        assert refused(rpc(HISTORICAL, "getSignatureStatuses", [other, last])).startswith(name)
        assert rpc(HISTORICAL, "getTransaction", other, V0)["result"]
    assert refused(rpc(HISTORICAL, "getSignaturesForAddress", address)).startswith(name)


def test_a_changed_signature_error_or_memo_is_not_listed(rpc: Rpc, signatures: list[str]) -> None:
    address = b58encode(ACCOUNTS[0])
    for column in ("errs", "memos"):
        with connection.cursor() as cursor:
            cursor.execute(
                f"UPDATE historical_sealedblock SET {column} = array_replace({column},"
                f" {column}[1], '\"other\"') WHERE cardinality({column}) > 0"
            )
            assert cursor.rowcount
        for method in ("getSignaturesForAddress", "getTransactionsForAddress"):
            name = refused(rpc(HISTORICAL, method, address))
            assert name.startswith("the entry of transaction ")


def test_damaged_slots_can_be_fetched_again(rpc: Rpc, signatures: list[str]) -> None:
    reads = {
        "slots": [*SLOTS][::9],
        "signatures": signatures[::40],
        "addresses": [b58encode(ACCOUNTS[0])],
    }
    before = every_read(rpc, **reads)  # type: ignore[arg-type]
    flip("historical_packedtexts", "frame")
    assert refused(rpc(HISTORICAL, "getBlock", 20, V0))
    remove_blocks(10, 59)
    blocks = [made_block(slot, slot - 1, transactions=9, seed=1) for slot in SLOTS]
    record_blocks(blocks, now=NOW)
    assert every_read(rpc, **reads) == before  # type: ignore[arg-type]
    seal(64)
    assert every_read(rpc, **reads) == before  # type: ignore[arg-type]
