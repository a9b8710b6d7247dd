"""Sealed transactions and statuses on the web server's loop: threads do what would block it."""

import json
from collections.abc import Callable, Coroutine, Iterator, Sequence
from functools import partial
from typing import Any

import pytest
from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.commitment import TransactionEncoding
from chain.encodings import b58encode
from eventloop.faces import complete
from historical.blocks.services.text_caches import recent_answers, recent_opened
from historical.errors import SealedDataDamaged
from historical.models import IndexRun, PackedIndex, PackedTexts
from historical.recording.services.recording import record_blocks
from historical.sealed.packed_index import SignatureIndex, packed_place, signature_key
from historical.sealed.store.frames import recent_frames
from historical.transactions.services import transactions
from historical.transactions.services.addresses import signatures_for_address
from historical.transactions.services.whole_lists import whole_list
from tests.cluster import one_machine
from tests.databases import embedded
from tests.loop_calls import Queries

from .made_blocks import ACCOUNTS, made_block
from .sealed_reads import NOW, seal

pytestmark = [pytest.mark.django_db(transaction=True), one_machine]
_NOWHERE = b58encode(bytes(64))


@pytest.fixture
def sealed(empty_ledger: None) -> list[str]:
    """Signatures, three a block, of the slots 10, 12 and so on."""
    blocks = [made_block(slot, slot - 2, transactions=3, seed=4) for slot in range(10, 100, 2)]
    record_blocks([*blocks, made_block(200, 198, transactions=3, seed=4)], now=NOW)
    seal(128)
    return [b58encode(entry.signature) for block in blocks for entry in block.transactions]


@pytest.fixture
def loop(sealed: list[str]) -> Iterator[Queries]:
    loop = Queries()
    loop.connected()
    try:
        # Reads the dictionary, and learns that most are sealed.
        _transactions(loop, sealed[:2])
        yield loop
    finally:
        loop.stop()


def _transactions(loop: Queries, signatures: Sequence[str]) -> list[Any]:
    """What each gives or raises; all are asked for at once."""

    def asked(signature: str) -> Callable[[], Any]:
        return lambda: transactions.atransaction(
            Signature.from_string(signature), encoding=TransactionEncoding.JSON, max_version=0
        )

    return loop.run(*map(asked, signatures))


def _statuses(loop: Queries, signatures: Sequence[str]) -> list[int | None]:
    """The slots of the statuses."""
    asked = [Signature.from_string(each) for each in signatures]
    (found,) = loop.run(lambda: transactions.asignature_statuses(asked))
    return [each and each.slot for each in found]


def _places(answers: Sequence[Any]) -> list[tuple[str, int]]:
    read = [json.loads(bytes(each)) for each in answers]
    return [(each["transaction"]["signatures"][0], each["slot"]) for each in read]


def _expected(signatures: Sequence[str], sealed: list[str]) -> list[tuple[str, int]]:
    return [(each, 10 + sealed.index(each) // 3 * 2) for each in signatures]


def test_the_first_of_a_block_takes_no_thread(loop: Queries, sealed: list[str]) -> None:
    jobs, asked = loop.jobs, sealed[5::3]
    assert _places(_transactions(loop, asked)) == _expected(asked, sealed)
    assert _transactions(loop, [_NOWHERE]) == [None]
    assert loop.jobs == jobs


def test_frames_that_memory_dropped_take_no_thread(loop: Queries, sealed: list[str]) -> None:
    assert _places(_transactions(loop, sealed)) == _expected(sealed, sealed)
    for cache in (recent_answers, recent_opened, recent_frames):
        cache.forget()
    jobs = loop.jobs
    assert _places(_transactions(loop, sealed)) == _expected(sealed, sealed)
    assert loop.jobs == jobs


def _listing(address: Pubkey, **wanted: Any) -> Coroutine[Any, Any, Any]:
    """As getSignaturesForAddress does, with the holes of its range."""
    return whole_list(partial(signatures_for_address, address, **wanted), {}, strict=False)


@embedded
def test_lists_of_an_address_take_no_thread(loop: Queries, sealed: list[str]) -> None:
    """The newest of its transactions is not sealed."""
    asked = [
        (address, limit, before, until)
        for address in ACCOUNTS[:3]
        for limit in (1, 7, 100)
        for before, until in ((None, None), (sealed[100], None), (sealed[90], sealed[30]))
    ]

    def listing(
        address: bytes, limit: int, before: str | None, until: str | None
    ) -> Coroutine[Any, Any, Any]:
        ends = [None if each is None else Signature.from_string(each) for each in (before, until)]
        return _listing(Pubkey(address), limit=limit, before=ends[0], until=ends[1])

    expected = [json.loads(bytes(complete(listing(*each)))) for each in asked]
    assert {200, 98} <= {entry["slot"] for found in expected for entry in found}
    jobs = loop.jobs
    found = loop.run(*(partial(listing, *each) for each in asked))
    assert [json.loads(bytes(each)) for each in found] == expected
    assert loop.jobs == jobs


@embedded
def test_a_long_list_of_an_address_takes_one(loop: Queries, sealed: list[str]) -> None:
    record_blocks([made_block(202, 200, transactions=800, seed=4)], now=NOW)

    def listing() -> Coroutine[Any, Any, Any]:
        return _listing(Pubkey(ACCOUNTS[0]), limit=1_000, before=None, until=None)

    expected = json.loads(bytes(complete(listing())))
    jobs = loop.jobs
    (found,) = loop.run(listing)
    assert json.loads(bytes(found)) == expected
    assert len(expected) > 128 and expected[-1]["slot"] < 100
    assert loop.jobs == jobs + 1


@pytest.mark.parametrize(("count", "threads"), [(16, 0), (17, 1)])
def test_statuses_of_a_few_take_no_thread(
    loop: Queries, sealed: list[str], count: int, threads: int
) -> None:
    jobs, asked = loop.jobs, sealed[30 : 30 + count - 1]
    expected = [slot for _, slot in _expected(asked, sealed)]
    assert _statuses(loop, [*asked, _NOWHERE]) == [*expected, None]
    assert loop.jobs == jobs + threads


def test_another_with_the_same_key_takes_a_thread(loop: Queries, sealed: list[str]) -> None:
    """The index names its place, the higher one."""
    asked = sealed[3:4]
    key = signature_key(bytes(Signature.from_string(*asked)))
    runs = IndexRun.objects.filter(kind=SignatureIndex.kind).values("id")
    for row in PackedIndex.objects.filter(run__in=runs):
        made = sorted([*SignatureIndex.unpack(bytes(row.block)), key + packed_place(98, 0)])
        ((_, block),) = SignatureIndex.pack(made)
        assert PackedIndex.objects.filter(pk=row.pk).update(block=block)
    jobs = loop.jobs
    assert _places(_transactions(loop, asked)) == _expected(asked, sealed)
    assert loop.jobs > jobs
    assert _statuses(loop, asked) == [12]


def test_damage_is_an_error_there_too(loop: Queries, sealed: list[str]) -> None:
    for row in PackedTexts.objects.all():
        PackedTexts.objects.filter(pk=row.pk).update(frame=bytes(row.frame)[:-1] + b"\0")
    for cache in (recent_opened, recent_frames):
        cache.forget()
    found = _transactions(loop, sealed[-1:])
    assert [type(each) for each in found] == [SealedDataDamaged]
