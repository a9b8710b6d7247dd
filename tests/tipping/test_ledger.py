"""The tip ledger: balance changes by finalized transactions, each lamport once."""

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from hypothesis import HealthCheck, given
from hypothesis import settings as rules
from hypothesis import strategies as st
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from spl.token import instructions as token
from spl.token import models
from spl.token.constants import TOKEN_PROGRAM_ID

from chain.blocks import SlotRecord, TransactionRecord
from chain.derived_keys import derived_keypair
from chain.encodings import b58encode
from chain.transactions import Header, Lookup, Wire, encode_wire
from chain.units import Slot
from historical.models import Block
from ingest.services.slots import own_addresses
from priority.fates.store.settling import keys_of
from priority.models import Submission
from tests.clients.minted import Minted
from tests.examples import examples
from tests.ingest.following import follower, worker
from tests.localnet.wallets import SOL, landed, pay, send, signed, wallet
from tests.localnet_process import Localnet, running_localnet
from tests.patience import PATIENCE_SECONDS, wait
from tests.rewind.samples import blockhash
from tests.tipping.balance_chain import SEED
from tipping.models import Edge, TipAddress, TipBatch, TipEntry, TipSweep, TtlClass
from tipping.services import ledger

STATIC, TREASURY = Keypair(), Keypair()


@pytest.fixture(autouse=True)
def named(settings: Any) -> None:
    settings.TIP_ADDRESSES = [STATIC.pubkey()]
    settings.TREASURY_ADDRESS = TREASURY.pubkey()


def issued(pubkeys: list[Pubkey], *, expired: bool = False) -> TipBatch:
    """A batch that has these addresses."""
    now = timezone.now()
    ends = now + timedelta(hours=-1 if expired else 1)
    ttl, _ = TtlClass.objects.get_or_create(ttl_seconds=900, defaults={"window_seconds": 60})
    batch = TipBatch.objects.create(
        ttl_class=ttl,
        number=TipBatch.objects.count() + 1,
        ttl_seconds=ttl.ttl_seconds,
        size=len(pubkeys),
        state=TipBatch.State.CLOSED,
        prepared_at=now,
        opened_at=now,
        window_ends_at=ends,
        expires_at=ends,
        closed_at=now,
        swept_at=now if expired else None,
    )
    edge = Edge.objects.get_or_create(name="edge-1", defaults={"first_seen_at": now})[0]
    for position, pubkey in enumerate(pubkeys):
        TipAddress.objects.create(
            pubkey=pubkey, batch=batch, position=position, edge=edge, issued_at=now
        )
    return batch


def moved(
    number: int,
    changes: dict[bytes, int],
    *,
    loaded: tuple[bytes, ...] = (),
    err: Any = None,
    version: Any = "legacy",
) -> TransactionRecord:
    """A transaction that changed these balances; those of `loaded` keys came by a table."""
    static = [key for key in changes if key not in loaded]
    keys = [*static, *loaded]
    before = {key: max(0, -changes[key]) + 7 for key in keys}
    wire = Wire(
        signatures=[signature(number)],
        version=0 if loaded else version,
        header=Header(1, 0, 0),
        account_keys=static,
        recent_blockhash=bytes(32),
        instructions=[],
        lookups=[Lookup(bytes([3]) * 32, bytes(range(len(loaded))), b"")] if loaded else [],
    )
    meta = {
        "err": err,
        "fee": 5_000,
        "preBalances": [before[key] for key in keys],
        "postBalances": [before[key] + changes[key] for key in keys],
        "loadedAddresses": {"writable": [b58encode(key) for key in loaded], "readonly": []},
    }
    return TransactionRecord(encode_wire(wire), meta)


def signature(number: int) -> bytes:
    return number.to_bytes(64)


def block(slot: int, *transactions: TransactionRecord) -> SlotRecord:
    return SlotRecord(
        slot=Slot(slot),
        parent_slot=Slot(slot - 1),
        blockhash=blockhash(slot),
        previous_blockhash=blockhash(slot - 1),
        block_time=None,
        block_height=slot,
        transactions=list(transactions),
    )


def record(*records: SlotRecord) -> int:
    return ledger.record(records, own=own_addresses(), submitters=keys_of, now=timezone.now())


def entries() -> list[tuple[int, bytes, str, int, bool]]:
    """(number of the transaction, pubkey, kind, lamports, is static), by both."""
    return sorted(
        (
            int.from_bytes(bytes(each.signature)),
            bytes(each.pubkey),
            each.kind,
            each.lamports,
            each.is_static,
        )
        for each in TipEntry.objects.all()
    )


PAYER, STRANGER = bytes([1]) * 32, bytes([2]) * 32
STATIC_KEY, TREASURY_KEY = bytes(STATIC.pubkey()), bytes(TREASURY.pubkey())
ONE, TWO = (bytes(Keypair().pubkey()) for _ in range(2))


@pytest.mark.django_db
def test_every_kind_of_change_is_an_entry_of_its_kind() -> None:
    issued([Pubkey.from_bytes(ONE)])
    issued([Pubkey.from_bytes(TWO)], expired=True)
    TipSweep.objects.create(
        signature=signature(5), wire=b"", treasury=TREASURY_KEY, lamports=9, fee=1,
        planned_at=timezone.now(),
    )  # fmt: skip
    record(
        block(
            9,
            moved(1, {PAYER: -30, ONE: 10, STRANGER: 20}),
            moved(2, {PAYER: -30, ONE: 11, TWO: 12, STATIC_KEY: 7}),
            moved(3, {PAYER: -30, TWO: 13}, loaded=(TWO,), version=0),
            moved(4, {PAYER: -5}, err="AccountInUse"),
            moved(5, {ONE: -10, TWO: 0, TREASURY_KEY: 9}, version=1),
            moved(6, {TREASURY_KEY: -5, STRANGER: 1}),
            moved(7, {PAYER: -5, TREASURY_KEY: 4}),
            TransactionRecord(moved(8, {PAYER: -5, ONE: 1}).wire, None),
        )
    )  # fmt: skip
    assert entries() == sorted(
        [
            (1, ONE, "tip", 10, False),
            (2, ONE, "tip", 11, False),
            (2, TWO, "tip", 12, False),
            (2, STATIC_KEY, "tip", 7, True),
            (3, TWO, "tip", 13, False),
            (5, ONE, "sweep", -10, False),
            (5, TREASURY_KEY, "sweep", 9, False),
            (6, TREASURY_KEY, "other", -5, False),
            (7, TREASURY_KEY, "other", 4, False),
        ]
    )
    assert ledger.balance_of([ONE, TWO, STRANGER]) == {ONE: 11, TWO: 25, STRANGER: 0}


@pytest.mark.django_db
def test_a_treasury_that_is_a_tip_address_gets_tips(settings: Any) -> None:
    settings.TREASURY_ADDRESS = STATIC.pubkey()
    record(block(9, moved(1, {PAYER: -30, STATIC_KEY: 10}), moved(2, {STATIC_KEY: -4, PAYER: 1})))
    assert [(kind, lamports) for _, _, kind, lamports, _ in entries()] == [
        ("tip", 10),
        ("other", -4),
    ]


@pytest.mark.django_db
def test_an_entry_has_the_submitting_key(issue: Callable[..., Any]) -> None:
    key = issue().key
    Submission.objects.create(
        signature=signature(1), kind="transaction", key=key, blockhash=bytes(32),
        accepted_at=timezone.now(),
    )  # fmt: skip
    record(block(9, *(moved(number, {PAYER: -9, STATIC_KEY: 1}) for number in (1, 2, 3))))
    ledger.attribute({signature(2): key.pk, signature(1): key.pk})
    owners = TipEntry.objects.order_by("signature").values_list("key_id", flat=True)
    assert list(owners) == [key.pk, key.pk, None]
    of_key = TipEntry.objects.filter(key=key.pk, kind="tip", is_static=True)
    assert sum(entry.lamports for entry in of_key) == 2


@pytest.mark.django_db
def test_a_late_tip_opens_its_swept_batch_again() -> None:
    batch = issued([Pubkey.from_bytes(ONE)], expired=True)
    record(block(9, moved(1, {PAYER: -9, STATIC_KEY: 1})))
    batch.refresh_from_db()
    assert batch.swept_at is not None
    record(block(10, moved(2, {PAYER: -9, ONE: 1})))
    batch.refresh_from_db()
    assert batch.swept_at is None


@pytest.mark.django_db
@rules(max_examples=examples(30), suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_entries_add_up_whatever_order_blocks_come_in(data: st.DataObject) -> None:
    """Against plain sums over what each account went through."""
    TipEntry.objects.all().delete()
    if not TipAddress.objects.exists():
        issued([Pubkey.from_bytes(ONE), Pubkey.from_bytes(TWO)])
    accounts = [PAYER, STRANGER, ONE, TWO, STATIC_KEY, TREASURY_KEY]
    blocks, sums, number = [], dict.fromkeys(accounts, 0), 0
    for slot in range(1, data.draw(st.integers(1, 6)) + 1):
        transactions = []
        for _ in range(data.draw(st.integers(0, 5))):
            number += 1
            chosen = data.draw(st.lists(st.sampled_from(accounts), min_size=1, unique=True))
            changes = {each: data.draw(st.integers(-(10**15), 10**15)) for each in chosen}
            loaded = tuple(data.draw(st.sets(st.sampled_from(chosen[1:] or chosen))) - {chosen[0]})
            ordered = {key: changes[key] for key in [*chosen] if key not in loaded}
            ordered |= {key: changes[key] for key in loaded}
            transactions.append(moved(number, ordered, loaded=loaded))
            for each, change in changes.items():
                sums[each] += change
        blocks.append(block(slot, *transactions))
    order = data.draw(st.permutations(blocks))
    for at in range(0, len(order), 2):
        record(*order[at : at + 2])
    record(*data.draw(st.lists(st.sampled_from(blocks), unique_by=id)))
    ours = [ONE, TWO, STATIC_KEY, TREASURY_KEY]
    assert ledger.balance_of(ours) == {key: sums[key] for key in ours}


@pytest.mark.django_db(transaction=True)
def test_workers_at_once_record_each_tip_once() -> None:
    issued([Pubkey.from_bytes(ONE), Pubkey.from_bytes(TWO)])
    blocks = [
        block(slot, *(moved(10 * slot + place, {PAYER: -9, TWO: 1, ONE: 2}) for place in range(5)))
        for slot in range(1, 9)
    ]
    failures: list[BaseException] = []
    start = threading.Barrier(3)

    def work(offset: int) -> None:
        try:
            start.wait(PATIENCE_SECONDS)
            for place in range(len(blocks)):
                record(*blocks[(place + offset) % 8 :][:2])
        except BaseException as error:
            failures.append(error)
        finally:
            connection.close()

    workers = [threading.Thread(target=work, args=[3 * number]) for number in range(3)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    assert not failures
    assert ledger.balance_of([ONE, TWO]) == {ONE: 80, TWO: 40}


@pytest.fixture
def localnet(empty_redis: None) -> Iterator[Localnet]:
    with running_localnet(LOCALNET_SLOT_MS=40, LOCALNET_SKIP_PERCENT=10) as running:
        yield running


def to(pubkey: Pubkey) -> AccountMeta:
    return AccountMeta(pubkey, is_signer=False, is_writable=True)


@pytest.mark.django_db(transaction=True)
def test_the_ledger_says_what_localnet_s_accounts_hold(localnet: Localnet) -> None:
    """Tips by transfer, several in one transaction, by a program's own transfer, by the closing of
    an account; failed ones; and what goes out again.
    """
    payer, owner, mint = wallet(localnet, 1_000 * SOL), Keypair(), Keypair()
    dynamic = [derived_keypair(SEED, "tip", 1, 1, place) for place in range(4)]
    # The associated token program pays for the account that it makes, by a transfer of its own.
    paid_inside = token.get_associated_token_address(
        owner.pubkey(), mint.pubkey(), TOKEN_PROGRAM_ID
    )
    ours = [*(each.pubkey() for each in dynamic), paid_inside, STATIC.pubkey(), TREASURY.pubkey()]
    issued([each.pubkey() for each in dynamic[:2]] + [paid_inside])
    issued([each.pubkey() for each in dynamic[2:]], expired=True)
    minted = Minted(TOKEN_PROGRAM_ID, mint.pubkey(), payer, [owner])
    tip = [pay(payer, each, SOL + place) for place, each in enumerate(ours) if each != paid_inside]
    with worker(), follower(localnet.geyser_url, localnet.url):
        ways: list[tuple[list[Instruction], list[Keypair]]] = [
            *(([each], [payer]) for each in tip),
            (tip, [payer]),
            ([*tip[:2], pay(payer, Pubkey.new_unique(), 9_999 * SOL)], [payer]),
            (minted.create(), [payer, mint]),
            ([minted.account(payer, owner.pubkey())], [payer]),
            (
                [
                    token.close_account(
                        models.CloseAccountParams(
                            program_id=TOKEN_PROGRAM_ID,
                            account=paid_inside,
                            dest=dynamic[0].pubkey(),
                            owner=owner.pubkey(),
                        )
                    )
                ],
                [payer, owner],
            ),
            ([pay(dynamic[1], TREASURY.pubkey(), SOL // 2)], [dynamic[1]]),
            ([pay(TREASURY, Pubkey.new_unique(), SOL // 4)], [TREASURY]),
        ]
        slots = []
        for place, (instructions, signers) in enumerate(ways):
            if place == 3:
                localnet.call("setFaults", {"forkSlots": 3})
            transaction = signed(localnet, instructions, *signers)
            sent = send(localnet, transaction, skipPreflight=True)
            slots.append(landed(localnet, sent, "confirmed")["slot"])
        localnet.wait_for_slot(max(slots))
        wait(lambda: Block.objects.filter(slot__gte=max(slots)).exists(), "the last one stored")
        wait(lambda: Block.objects.filter(slot__in=slots).count() == len(set(slots)), "all stored")
    held = {
        bytes(key): localnet.call("getBalance", str(key), {"commitment": "finalized"})["value"]
        for key in ours
    }
    assert ledger.balance_of([bytes(key) for key in ours]) == held
    assert (
        held[bytes(paid_inside)] == 0 and TipEntry.objects.filter(pubkey=paid_inside).count() == 2
    )
    assert min(held[bytes(key)] for key in ours if key != paid_inside) > SOL
