"""Accounts told by the node: never kept for a time at which they were another."""

import json
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from solders.pubkey import Pubkey

from chain.encodings import b64encode
from historical.transactions.services.recorded_transactions import recorded
from rewind.accounts.services import seeding
from rewind.accounts.services.loading import states_at
from rewind.accounts.services.position_lookup import resolve_position
from rewind.models import AccountChange
from rewind.positions import CARRIED, Asked
from rewind.recording.services import filters
from rewind.replay.services.replay import replay
from tests.priority.odd_nodes import odd_node
from tests.rewind.little_chain import SOL, LittleChain
from tests.rewind.samples import PROGRAM, block, key, signature, write
from tests.rewind.simulating import call, stored, upgradeable
from tests.simulator.elf import RETURNS_DATA

GENESIS = "11111111111111111111111111111112"
KEYS = range(1, 7)
SEEN, CALLED = Pubkey(bytes([77]) * 32), Pubkey(bytes([80]) * 32)
# (slot, index) → account → lamports: what the chain did. 0 is a closed account.
History = dict[tuple[int, int], dict[int, int]]


@pytest.fixture(autouse=True)
def chain_known(db: None) -> Iterator[None]:
    filters.apply_defaults(GENESIS)
    seeding.forget()
    yield
    seeding.forget()


def truth(history: History, account: int, before: tuple[int, int]) -> int:
    """The account's lamports before the place."""
    written = [(at, each[account]) for at, each in history.items() if account in each]
    return max((each for each in written if each[0] < before), default=((0, 0), 0))[1]


def slot_of(history: History, slot: int, parent: int | None = None) -> Any:
    writes = [
        write(account, signature(slot, index), version=index, lamports=lamports)
        for (at, index), each in sorted(history.items())
        if at == slot
        for account, lamports in each.items()
    ]
    return block(slot, parent, writes)


@contextmanager
def node_at(
    history: History, slot: int, settings: Any, meanwhile: Callable[[], None] = lambda: None
) -> Iterator[list[bytes]]:
    """A node whose finalized slot is this one; the bodies that it was sent."""

    def account(pubkey: str) -> Any:
        number = next(each for each in KEYS if str(Pubkey(key(each))) == pubkey)
        lamports = truth(history, number, (slot + 1, -1))
        if not lamports:
            return None
        owner = str(Pubkey(PROGRAM))
        held = {"executable": False, "rentEpoch": 2**64 - 1, "space": 0, "owner": owner}
        return {"lamports": lamports, "data": ["", "base64"], **held}

    def answer(body: bytes) -> tuple[int, bytes]:
        asked = json.loads(body)
        if asked["method"] == "getGenesisHash":
            result: Any = GENESIS
        else:
            assert asked["params"][1]["commitment"] == "finalized"
            result = {"context": {"slot": slot}, "value": list(map(account, asked["params"][0]))}
            meanwhile()
        return 200, json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode()

    with odd_node(answer) as node:
        settings.UPSTREAM_RPC_URL = node.url
        yield node.bodies


def seeded(slot: int, *accounts: int, index: int | None = None) -> dict[int, int | None]:
    """The lamports of each account there; None where nothing tells them."""
    placed = resolve_position(Asked(slot=slot, index=index))
    states, unknown = states_at([key(each) for each in accounts], placed)
    assert set(unknown) == {key(each) for each in accounts} - states.keys()
    return {each: states[key(each)].lamports if key(each) in states else None for each in accounts}


def bases() -> dict[tuple[int, int], int]:
    """(account, slot) → lamports of each row of kind base."""
    number = {key(each): each for each in KEYS}
    rows = AccountChange.objects.filter(kind=AccountChange.Kind.BASE)
    assert all(row.position == CARRIED for row in rows)
    return {(number[bytes(row.pubkey)], row.slot): row.lamports for row in rows}


def test_what_nobody_wrote_is_what_the_node_says(record: Any, settings: Any) -> None:
    history: History = {(2, 0): {1: 5}, (12, 1): {3: 7}, (14, 0): {4: 9}}
    record(*(slot_of(history, slot) for slot in range(10, 16)))
    with node_at(history, 13, settings) as bodies:
        # 1 was made long ago, 2 never; 3 and 4 are written later.
        assert seeded(11, 1, 2, 3, 4) == {1: 5, 2: 0, 3: None, 4: None}
        assert len(bodies) == 2  # the node's chain, and the accounts
        assert bases() == {(1, 10): 5, (2, 10): 0}
        assert seeded(10, 1, 2, 4) == seeded(13, 1, 2, 4) == {1: 5, 2: 0, 4: None}
        assert seeded(15, 1, 2, 4) == {1: 5, 2: 0, 4: 9}
        assert len(bodies) == 2  # kept once and for all


def test_behind_a_gap_nothing_is_asked(record: Any, settings: Any) -> None:
    history: History = {(2, 0): {1: 5}}
    record(*(slot_of(history, slot) for slot in (10, 11, 13, 14)))
    with node_at(history, 14, settings) as bodies:
        assert seeded(11, 1) == {1: None}
        assert bodies == []
        assert seeded(14, 1) == {1: 5}
        assert bases() == {(1, 13): 5}  # what was before the gap is as unknown as it was


@pytest.mark.usefixtures("empty_ledger")
@pytest.mark.parametrize("told_otherwise", [False, True])
def test_a_replay_behind_a_gap_asks_what_the_accounts_were(
    tmp_path: Path, settings: Any, told_otherwise: bool
) -> None:
    chain = LittleChain(tmp_path, given=upgradeable(CALLED, RETURNS_DATA, slot=0))
    chain.block(chain.payment(SEEN, SOL, payer=1))
    chain.block(chain.payment(SEEN, SOL, payer=1))  # lost, and never written again
    chain.block(chain.payment(chain.payers[1].pubkey(), SOL))
    reads = chain.signed([call(CALLED, SEEN)], chain.payers[0])
    record = chain.block(reads)
    chain.close()
    if told_otherwise:
        (entry,) = record.transactions
        meta = {**(entry.meta or {}), "computeUnitsConsumed": 1}
        record = replace(record, transactions=[replace(entry, meta=meta)])
    stored([*chain.records[:2], chain.records[3], record])
    found = recorded(reads.signatures[0])
    assert found is not None
    assert replay(found).verdict.reason == "behind_a_gap"

    newest = {
        str(Pubkey(each.pubkey)): each
        for block in chain.records
        for each in block.account_writes or []
    }

    def account(pubkey: str) -> Any:
        if (each := newest.get(pubkey)) is None:
            return None
        return {
            "lamports": each.lamports,
            "owner": str(Pubkey(each.owner)),
            "data": [b64encode(each.data), "base64"],
            "executable": each.executable,
            "rentEpoch": each.rent_epoch,
            "space": len(each.data),
        }

    def answer(body: bytes) -> tuple[int, bytes]:
        asked = json.loads(body)
        result: Any = GENESIS
        if asked["method"] != "getGenesisHash":
            value = [account(each) for each in asked["params"][0]]
            result = {"context": {"slot": record.slot}, "value": value}
        return 200, json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode()

    with odd_node(answer) as node:
        settings.UPSTREAM_RPC_URL = node.url
        verdict = replay(found).verdict
        asked = len(node.bodies)
        assert replay(found).verdict == verdict and len(node.bodies) == asked == 2
    if told_otherwise:
        assert [each.field for each in verdict.differences] == ["computeUnitsConsumed"]
    else:
        assert verdict.status == "verified"


@pytest.mark.parametrize("at", [9, 16])
def test_a_node_elsewhere_tells_nothing(record: Any, settings: Any, at: int) -> None:
    history: History = {(2, 0): {1: 5}}
    record(*(slot_of(history, slot) for slot in range(10, 16)))
    with node_at(history, at, settings):
        assert seeded(11, 1) == {1: None}
    assert bases() == {}


def test_filtered_accounts_are_not_asked_for(record: Any, settings: Any) -> None:
    history: History = {(2, 0): {1: 5}}
    filters.filter_owner(Pubkey(PROGRAM), filtered=True)
    record(slot_of(history, 10), slot_of({(11, 0): {1: 6}}, 11), slot_of(history, 12))
    with node_at(history, 12, settings):
        assert seeded(10, 1) == {1: None}
    assert bases() == {}


def test_another_chains_node_is_not_asked(record: Any, settings: Any) -> None:
    from rewind.models import ArchiveState

    ArchiveState.objects.update(filters_set_for=str(Pubkey(bytes([7]) * 32)))
    history: History = {(2, 0): {1: 5}}
    record(*(slot_of(history, slot) for slot in range(10, 16)))
    with node_at(history, 15, settings) as bodies:
        assert seeded(11, 1) == {1: None}
        assert len(bodies) == 1


@pytest.mark.parametrize("content", [b"", b"{}", b'{"result":{"context":{"slot":-1},"value":[]}}'])
def test_a_node_that_talks_nonsense_is_left_in_peace(
    record: Any, settings: Any, content: bytes
) -> None:
    record(*(slot_of({}, slot) for slot in range(10, 16)))
    with odd_node(lambda body: (200, content)) as node:
        settings.UPSTREAM_RPC_URL = node.url
        for _ in range(3):
            assert seeded(11, 1) == {1: None}
        assert len(node.bodies) == 1


@pytest.mark.parametrize("seed", range(10))
def test_no_row_is_kept_that_the_chain_contradicts(record: Any, settings: Any, seed: int) -> None:
    chance = random.Random(seed)
    history: History = {}
    for slot in range(1, 30):
        for index in range(chance.randrange(3)):
            history[slot, index] = {
                chance.choice(KEYS): chance.choice([0, 10 * slot + index + 1]) for _ in range(1)
            }
    first = chance.randrange(5, 15)
    slots = [slot for slot in range(first, 30) if chance.random() > 0.1]
    record(*(slot_of(history, slot) for slot in slots))
    for _ in range(12):
        slot = chance.choice(slots)
        with node_at(history, chance.randrange(first - 2, 31), settings):
            seeding.forget()
            seeded(slot, *KEYS, index=chance.choice([None, 0, 1]))
        for (account, at), lamports in bases().items():
            assert lamports == truth(history, account, (at, -1)), (account, at)
            assert at >= first


@pytest.mark.usefixtures("committed")
@pytest.mark.parametrize("writes", [{}, {(13, 0): {1: 6}}, {(14, 0): {1: 6}}])
def test_slots_that_come_while_the_node_answers_are_seen(
    record: Any, settings: Any, writes: History
) -> None:
    """The archive is at 11 when the node is asked, whose finalized slot is 13."""
    filters.apply_defaults(GENESIS)
    history: History = {(2, 0): {1: 5}, **writes}
    record(slot_of(history, 10), slot_of(history, 11))

    def goes_on() -> None:
        try:
            for slot in (12, 13, 14):
                record(slot_of(history, slot))
        finally:
            connection.close()

    thread = threading.Timer(0.1, goes_on)
    with node_at(history, 13, settings, meanwhile=thread.start):
        found = seeded(11, 1)
    thread.join()
    # Written in 13: the node says 6, which it was not at 11.
    assert found == ({1: None} if (13, 0) in writes else {1: 5})
    assert bases() == ({} if (13, 0) in writes else {(1, 10): 5})
