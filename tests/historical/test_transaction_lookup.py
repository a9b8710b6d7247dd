"""A transaction takes one statement, and none where two of its block were asked for before it."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from solders.signature import Signature

from chain.commitment import TransactionEncoding
from chain.encodings import b58encode
from columns import caches
from historical.models import Block, IndexRun, PackedIndex
from historical.recording.services.recording import record_blocks
from historical.recording.services.removal import remove_blocks
from historical.sealed.packed_index import SignatureIndex, packed_place, signature_key
from historical.transactions.services import transactions
from historical.transactions.store import transaction_lookup
from tests.cluster import one_machine
from tests.conftest import Rpc
from tests.databases import embedded
from tests.rewind.round_trips import counted

from .conftest import import_path
from .made_blocks import made_block
from .sealed_reads import NOW, seal

SLOT = 254170887
FILE = "mainnet-254170887.base64.json.gz"
VERSIONS = {"maxSupportedTransactionVersion": 0}

Ask = Callable[[str], tuple[Any, int]]


@pytest.fixture(autouse=True)
def _no_rereading_by_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cached values are reread after a minute, which these tests may take on a busy machine."""
    monkeypatch.setattr(caches, "LONGEST_SECONDS", 3_600.0)


@pytest.fixture
def block(rpc: Rpc, fixtures: Path, transactional_db: None) -> Iterator[dict[str, Any]]:
    """Signature → transaction, from getBlock, of a block of mainnet that is recorded anew: of this
    recording nothing is known, and the connection has its statements prepared.
    """
    import_path(fixtures / "blocks" / FILE)
    whole = rpc("/historical", "getBlock", SLOT, VERSIONS)["result"]
    found = {each["transaction"]["signatures"][0]: each for each in whole["transactions"]}
    for each in [*found][:3]:
        rpc("/historical", "getTransaction", each, VERSIONS)
    remove_blocks(SLOT, SLOT)
    import_path(fixtures / "blocks" / FILE)
    yield found
    remove_blocks(SLOT, SLOT)


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """A transaction as the ledger gives it, and how often PostgreSQL was waited for."""

    def asked(signature: str) -> tuple[Any, int]:
        with counted(tmp_path) as trips:
            found = transactions.transaction(
                Signature.from_string(signature), encoding=TransactionEncoding.JSON, max_version=0
            )
        return None if found is None else json.loads(bytes(found)), trips[0]

    return asked


def is_of(found: dict[str, Any], signature: str, block: dict[str, Any]) -> bool:
    members = {name: found[name] for name in ("meta", "transaction", "version")}
    return members == block[signature] and found["slot"] == SLOT


@embedded
@one_machine
def test_the_third_of_a_block_takes_no_statement_and_its_place_is_right(
    block: dict[str, Any], ask: Ask
) -> None:
    assert len(block) > 500
    # The index of a block begins with its second transaction, wherever those stand.
    order = sorted(block)
    found = [ask(each) for each in order]
    assert [trips for _, trips in found[:2]] == [1, 2]
    indexes = set()
    for signature, (answer, _) in zip(order, found, strict=True):
        assert is_of(answer, signature, block)
        indexes.add(answer["transactionIndex"])
    assert indexes == set(range(len(block)))
    # A body of this size is read frame by frame; those of the first two are known.
    frames = len(Block.objects.values_list("frames", flat=True).get(slot=SLOT))
    assert frames - 2 <= sum(trips for _, trips in found[2:]) <= frames
    assert [ask(each)[1] for each in order[:20]] == [0] * 20


@embedded
@one_machine
def test_a_small_body_comes_with_the_places(
    block: dict[str, Any], ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction_lookup, "_LARGEST_BODY", 1 << 30)
    first, second, *others = block
    assert (ask(first)[1], ask(second)[1]) == (1, 2)
    for each in others:
        answer, trips = ask(each)
        assert (is_of(answer, each, block), trips) == (True, 0)


@embedded
@one_machine
def test_of_a_block_with_too_many_each_takes_one(
    block: dict[str, Any], ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction_lookup, "_MOST_TRANSACTIONS", len(block) - 1)
    for number, each in enumerate(list(block)[:8]):
        answer, trips = ask(each)
        assert trips == 1 + number % 2  # every second look finds that it is too large
        assert is_of(answer, each, block)
    assert ask(next(iter(block)))[1] == 0


def test_what_was_removed_is_not_found_and_what_is_recorded_anew_is(
    block: dict[str, Any], ask: Ask, fixtures: Path
) -> None:
    signatures = list(block)[:5]
    for each in signatures:
        assert is_of(ask(each)[0], each, block)
    remove_blocks(SLOT, SLOT)
    assert [ask(each)[0] for each in signatures] == [None] * 5
    import_path(fixtures / "blocks" / FILE)
    for each in signatures:
        assert is_of(ask(each)[0], each, block)


@embedded
@one_machine
def test_where_nothing_may_be_remembered_each_read_is_one_statement(
    block: dict[str, Any], ask: Ask, settings: Any
) -> None:
    settings.SHARED_MEMORY_DIR = None
    for each in [*list(block)[:3], *list(block)[:3]]:
        answer, trips = ask(each)
        assert (is_of(answer, each, block), trips) == (True, 1)


def recorded(first: int, last: int) -> list[str]:
    """Blocks of every second slot between the two, the last one apart; their signatures."""
    blocks = [made_block(slot, slot - 2, transactions=3, seed=4) for slot in range(first, last, 2)]
    record_blocks(blocks, now=NOW)
    return [b58encode(entry.signature) for block in blocks for entry in block.transactions]


@embedded
@one_machine
@pytest.mark.usefixtures("empty_ledger")
def test_a_sealed_one_takes_one_statement_after_another_and_two_after_a_row(ask: Ask) -> None:
    """In a transaction nothing is remembered but opened frames."""
    signatures = recorded(10, 100)
    (row,) = recorded(200, 202)[:1]
    seal(128)
    nowhere = b58encode(bytes(64))
    # Prepares the statements, opens frame and dictionary.
    for each in (signatures[0], row, nowhere, signatures[1]):
        ask(each)
    for each in signatures[3::30]:
        answer, trips = ask(each)
        assert answer["transaction"]["signatures"][0] == each
        assert trips == 1
    assert (ask(nowhere), ask(row)[1], ask(nowhere)) == ((None, 1), 1, (None, 1))
    assert [ask(each)[1] for each in signatures[-2:]] == [2, 1]


@embedded
@one_machine
@pytest.mark.usefixtures("empty_ledger")
def test_statuses_of_sealed_ones_take_one_statement(tmp_path: Path) -> None:
    signatures = [Signature.from_string(each) for each in recorded(10, 100)]
    (row,) = [Signature.from_string(each) for each in recorded(200, 202)[:1]]
    seal(128)
    asked = [signatures[5], row, Signature.default(), signatures[-1]]
    slots = [12, 200, None, 98]
    for expected in (None, 1, 1):
        with counted(tmp_path) as trips:
            found = transactions.signature_statuses(asked)
        assert [each and each.slot for each in found] == slots
        assert expected in (None, trips[0])


@embedded
@one_machine
@pytest.mark.usefixtures("empty_ledger")
def test_of_a_block_that_was_sealed_again_the_newest_entries_do_not_count(ask: Ask) -> None:
    """The first index that has its signatures is that of before, whose last slot is higher."""
    signatures = recorded(10, 100)
    recorded(200, 202)
    seal(128, most=2)  # begins the range, and seals
    remove_blocks(20, 20)
    block = made_block(20, 18, transactions=3, seed=4)
    record_blocks([replace(block, transactions=block.transactions[::-1])], now=NOW)
    while Block.objects.get(slot=20).body is not None:
        assert seal(128, most=1)
    again = signatures[15:18]
    assert again == [b58encode(entry.signature) for entry in block.transactions]
    for each in again:
        ask(each)
        answer, trips = ask(each)
        assert (answer["slot"], answer["transaction"]["signatures"][0]) == (20, each)
        # Where the old one names the middle, that is right by chance.
        assert trips == (1 if each == again[1] else 5)
    found = transactions.signature_statuses([Signature.from_string(each) for each in again])
    assert [each and each.slot for each in found] == [20, 20, 20]


@embedded
@one_machine
@pytest.mark.usefixtures("empty_ledger")
def test_signatures_with_the_same_key_are_told_apart(ask: Ask) -> None:
    """The index names another place of the key first."""
    signatures = recorded(10, 100)
    recorded(200, 202)
    seal(128)
    key = signature_key(bytes(Signature.from_string(signatures[-1])))
    runs = IndexRun.objects.filter(kind=SignatureIndex.kind).values("id")
    for row in PackedIndex.objects.filter(run__in=runs):
        entries = SignatureIndex.unpack(bytes(row.block))
        made = sorted([*entries, key + packed_place(10, 0), key + packed_place(12, 0)])
        ((_, block),) = SignatureIndex.pack(made)
        assert PackedIndex.objects.filter(pk=row.pk).update(block=block)
    for _ in range(2):
        answer, _ = ask(signatures[-1])
        assert (answer["slot"], answer["transaction"]["signatures"][0]) == (98, signatures[-1])
    (status,) = transactions.signature_statuses([Signature.from_string(signatures[-1])])
    assert status is not None and status.slot == 98
