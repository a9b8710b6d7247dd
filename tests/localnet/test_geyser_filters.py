"""What each filter of the Geyser stream lets through, and which ones are refused."""

from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.signature import Signature

from chain.encodings import b58encode
from localnet.faults import Faults
from localnet.feed import ChainEvent, SlotStatus
from localnet.servers import geyser_filters
from localnet.servers.geyser_order import Order
from tests.localnet.geyser_client import Service, client_of
from tests.localnet.geyser_events import (
    ALICE,
    BOB,
    CAROL,
    PROGRAM,
    TABLE,
    VOTE_PROGRAM,
    a_slot,
    address,
    block,
    entry,
    ran,
    status,
    token_balance,
    written,
)
from upstream.geyser.request_filters import BadFilter, Filters
from upstream.protobuf import geyser_pb2 as schema

Ask = Callable[[Any], object]
SIGNATURE = bytes([8]) * 64
# SPL Token and Token-2022 accounts, a mint, and a multisig that looks like a token account.
TOKEN = bytes(108) + b"\1" + bytes(56)
TOKEN_2022 = TOKEN + b"\2" + bytes(20)
UNINITIALIZED = bytes(165)
MINT_2022 = bytes(108) + b"\1" + bytes(56) + b"\1"
MULTISIG = (TOKEN + b"\2").ljust(355, b"\0")


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as service:
        yield service


def updates(service: Service, request: Any, *happenings: ChainEvent) -> list[Any]:
    """What a stream that asked for this gets of these."""
    with client_of(service, request) as client:
        service.publish(*happenings)
        return client.rest()


# --- accounts -----------------------------------------------------------------------------------

WRITES = [
    written(1, ALICE, 1, lamports=5, data=b"abcdef"),
    written(1, BOB, 2, lamports=6, data=b"abXdef", owner=TABLE),
    written(1, CAROL, 3, lamports=7, data=b"abc", signature=SIGNATURE),
]


def state(**fields: Any) -> Ask:
    return lambda each: each.filters.add(**fields)


def states(*asks: Ask) -> Ask:
    def ask(each: Any) -> None:
        for one in asks:
            one(each)

    return ask


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        (lambda each: None, [1, 2, 3]),
        (lambda each: each.account.append(address(BOB)), [2]),
        (lambda each: each.account.extend([address(ALICE), address(CAROL)]), [1, 3]),
        (lambda each: each.owner.append(address(TABLE)), [2]),
        (lambda each: each.owner.extend([address(TABLE), address(PROGRAM)]), [1, 2, 3]),
        (
            lambda each: (each.owner.append(address(TABLE)), each.account.append(address(ALICE))),
            [],
        ),
        (lambda each: setattr(each, "nonempty_txn_signature", True), [3]),
        (lambda each: setattr(each, "nonempty_txn_signature", False), [1, 2]),
        (state(memcmp={"offset": 2, "bytes": b"cd"}), [1]),
        (state(memcmp={"offset": 0, "base58": b58encode(b"abc")}), [1, 3]),
        (state(memcmp={"offset": 1, "base64": b64encode(b"bX").decode()}), [2]),
        (state(memcmp={"offset": 3, "bytes": b"def"}), [1, 2]),
        (state(memcmp={"offset": 2**64 - 1, "bytes": b"d"}), []),
        (state(datasize=6), [1, 2]),
        (state(datasize=0), []),
        (state(lamports={"eq": 6}), [2]),
        (state(lamports={"ne": 6}), [1, 3]),
        (state(lamports={"lt": 6}), [1]),
        (state(lamports={"gt": 5}), [2, 3]),
        (states(state(datasize=6), state(lamports={"gt": 5})), [2]),
        (states(state(lamports={"gt": 5}), state(lamports={"lt": 7})), [2]),
    ],
)
def test_an_account_filter(service: Service, ask: Ask, expected: list[int]) -> None:
    request = schema.SubscribeRequest()
    ask(request.accounts["a"])
    got = updates(service, request, *WRITES)
    assert [each.account.account.write_version for each in got] == expected


def test_token_accounts_are_told_by_their_data(service: Service) -> None:
    request = schema.SubscribeRequest()
    request.accounts["a"].filters.add(token_account_state=True)
    sorts = [TOKEN, TOKEN_2022, UNINITIALIZED, MINT_2022, MULTISIG, b""]
    got = updates(service, request, *(written(1, data=data) for data in sorts))
    assert [each.account.account.data for each in got] == [TOKEN, TOKEN_2022]


def test_an_update_names_every_filter_that_it_passed(service: Service) -> None:
    request = schema.SubscribeRequest()
    request.accounts["all"].SetInParent()
    request.accounts["alice"].account.append(address(ALICE))
    request.accounts["bob"].account.append(address(BOB))
    got = updates(service, request, *WRITES)
    assert [sorted(each.filters) for each in got] == [["alice", "all"], ["all", "bob"], ["all"]]


def test_slices_cut_the_data_of_accounts_and_of_those_in_blocks(service: Service) -> None:
    request = schema.SubscribeRequest(
        accounts_data_slice=[{"offset": 0, "length": 2}, {"offset": 4, "length": 10}]
    )
    request.accounts["a"].SetInParent()
    request.blocks["b"].include_accounts = True
    got = updates(service, request, WRITES[0], block(1, WRITES[0]))
    assert got[0].account.account.data == b"abef"
    assert got[1].block.accounts[0].data == b"abef"
    whole = schema.SubscribeRequest()
    whole.accounts["a"].SetInParent()
    (update,) = updates(service, whole, WRITES[0])
    assert update.account.account.data == b"abcdef"


# --- slots --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("by_commitment", "interslot", "commitment", "expected"),
    [
        (False, False, 0, "PROCESSED CONFIRMED FINALIZED"),
        (
            False,
            True,
            2,
            "FIRST_SHRED_RECEIVED CREATED_BANK COMPLETED PROCESSED CONFIRMED FINALIZED DEAD",
        ),
        (True, False, 0, "PROCESSED"),
        (True, False, 1, "CONFIRMED"),
        (True, True, 2, "FINALIZED"),
    ],
)
def test_a_slot_filter(
    service: Service, by_commitment: bool, interslot: bool, commitment: int, expected: str
) -> None:
    request = schema.SubscribeRequest(commitment=commitment)
    request.slots["s"].filter_by_commitment = by_commitment
    request.slots["s"].interslot_updates = interslot
    reached = [3, 5, 4, 0, 1, 2, 6]
    got = updates(service, request, *(status(1, SlotStatus(each)) for each in reached))
    names = [schema.SlotStatus.Name(each.slot.status).removeprefix("SLOT_") for each in got]
    assert " ".join(names) == expected


# --- transactions -------------------------------------------------------------------------------

TRANSACTIONS = [
    ran(1, 0, keys=(ALICE, PROGRAM)),
    ran(1, 1, keys=(BOB, PROGRAM), err="InsufficientFundsForFee"),
    ran(1, 2, keys=(ALICE, VOTE_PROGRAM)),
    ran(1, 3, keys=(BOB, PROGRAM), loaded=CAROL),
    ran(
        1,
        4,
        keys=(TABLE, PROGRAM),
        before=[token_balance(0, ALICE, 5), token_balance(1, CAROL, 5)],
        after=[token_balance(0, ALICE, 4), token_balance(1, CAROL, 5)],
    ),
]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, [0, 1, 2, 3, 4]),
        ({"vote": False}, [0, 1, 3, 4]),
        ({"vote": True}, [2]),
        ({"failed": True}, [1]),
        ({"failed": False}, [0, 2, 3, 4]),
        ({"signature": str(Signature(bytes([1, 3]) * 32))}, [3]),
        ({"account_include": [address(ALICE)]}, [0, 2]),
        ({"account_include": [address(ALICE), address(CAROL)]}, [0, 2, 3]),
        ({"account_exclude": [address(PROGRAM)]}, [2]),
        ({"account_exclude": [address(CAROL), address(ALICE)]}, [1, 4]),
        ({"account_required": [address(BOB), address(CAROL)]}, [3]),
        ({"account_required": [address(BOB)], "failed": False}, [3]),
        ({"account_include": [address(ALICE)], "token_accounts": 0}, [0, 2, 4]),
        ({"account_include": [address(CAROL)], "token_accounts": 0}, [3, 4]),
        ({"account_include": [address(CAROL)], "token_accounts": 1}, [3]),
        ({"account_required": [address(ALICE), address(TABLE)], "token_accounts": 1}, [4]),
    ],
)
def test_a_transaction_filter(
    service: Service, fields: dict[str, Any], expected: list[int]
) -> None:
    request = schema.SubscribeRequest()
    for filters in (request.transactions, request.transactions_status):
        filters["t"].MergeFrom(type(filters["t"])(**fields))
    got = updates(service, request, *TRANSACTIONS)
    whole = [each.transaction for each in got if each.HasField("transaction")]
    short = [each.transaction_status for each in got if each.HasField("transaction_status")]
    assert [each.transaction.index for each in whole] == expected
    assert [each.index for each in short] == expected
    for long, brief in zip(whole, short, strict=True):
        assert (long.slot, brief.slot) == (1, 1)
        assert long.transaction.signature == brief.signature == bytes([1, brief.index]) * 32
        assert long.transaction.is_vote == brief.is_vote == (brief.index == 2)
        assert long.transaction.meta.err == brief.err
        assert brief.HasField("err") == (brief.index == 1)


# --- blocks and entries -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "transactions", "accounts", "entries"),
    [
        ({}, [0, 1], [], 0),
        ({"include_transactions": False}, [], [], 0),
        ({"include_accounts": True}, [0, 1], [11, 12], 0),
        ({"include_entries": True, "include_transactions": False}, [], [], 2),
        ({"include_accounts": True, "account_include": [address(BOB)]}, [1], [12], 0),
        ({"account_include": [address(CAROL)], "include_entries": True}, [], [], 2),
    ],
)
def test_a_block_filter(
    service: Service,
    fields: dict[str, Any],
    transactions: list[int],
    accounts: list[int],
    entries: int,
) -> None:
    request = schema.SubscribeRequest()
    request.blocks["b"].MergeFrom(type(request.blocks["b"])(**fields))
    (update,) = updates(service, request, *a_slot(1))
    told = update.block
    assert [each.index for each in told.transactions] == transactions
    assert [each.lamports for each in told.accounts] == accounts
    assert len(told.entries) == entries
    # The counts are the whole block's.
    assert (told.slot, told.parent_slot, told.block_height.block_height) == (1, 0, 1)
    assert (told.executed_transaction_count, told.entries_count) == (2, 2)
    assert told.updated_account_count == 2


def test_each_block_filter_has_a_block_of_its_own(service: Service) -> None:
    request = schema.SubscribeRequest()
    request.blocks["with"].include_accounts = True
    request.blocks["without"].include_transactions = False
    got = updates(service, request, *a_slot(1))
    assert {each.filters[0]: len(each.block.accounts) for each in got} == {"with": 2, "without": 0}
    assert all(len(each.filters) == 1 for each in got)


def test_block_metas_and_entries(service: Service) -> None:
    request = schema.SubscribeRequest()
    for name in ("one", "two"):
        request.blocks_meta[name].SetInParent()
    request.entry["entries"].SetInParent()
    got = updates(service, request, entry(3, 0, 2, 0), entry(3, 1, 0, 2), block(3))
    assert [each.WhichOneof("update_oneof") for each in got] == ["entry", "entry", "block_meta"]
    first, _, meta = got
    assert (first.entry.executed_transaction_count, first.entry.num_hashes) == (2, 1)
    assert first.entry.hash == bytes([3]) * 32
    assert got[1].entry.starting_transaction_index == 2
    assert sorted(meta.filters) == ["one", "two"]
    assert meta.block_meta.blockhash == address(bytes([3]) * 32)
    assert meta.block_meta.parent_blockhash == address(bytes([2]) * 32)


# --- refusals -----------------------------------------------------------------------------------


def slices(request: Any, *asked: tuple[int, int]) -> None:
    for offset, length in asked:
        request.accounts_data_slice.add(offset=offset, length=length)


def account(ask: Ask) -> Ask:
    return lambda request: ask(request.accounts["x"])


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda request: setattr(request, "commitment", 3), "no commitment has the number 3"),
        (account(lambda each: each.account.append("0")), "accounts.x: account: '0' is no pubkey"),
        (account(lambda each: each.owner.append("")), "accounts.x: owner: '' is no pubkey"),
        (account(lambda each: each.filters.add()), "without memcmp, datasize"),
        (account(state(memcmp={"offset": 1})), "memcmp: neither bytes nor base58 nor base64"),
        (account(state(memcmp={"base58": "0"})), "memcmp: invalid base58"),
        (account(state(memcmp={"base64": "!"})), "memcmp: invalid base64"),
        (account(state(memcmp={"bytes": bytes(129)})), "at most 128 bytes"),
        (account(state(memcmp={"base58": "2" * 176})), "at most 128 bytes"),
        (account(state(memcmp={"base64": "A" * 176})), "at most 128 bytes"),
        (account(state(lamports={})), "neither eq, ne, lt nor gt"),
        (account(state(token_account_state=False)), "token_account_state can only be true"),
        (account(states(state(datasize=1), state(datasize=1))), "datasize used more than once"),
        (account(states(*[state(lamports={"ne": 1})] * 5)), "at most 4 filters"),
        (
            account(lambda each: each.cuckoo_accounts_filter.SetInParent()),
            "accounts.x: cuckoo_accounts_filter: entries_per_bucket must be 4, not 0",
        ),
        (
            lambda request: request.transactions["x"].cuckoo_account_include.SetInParent(),
            "transactions.x: cuckoo_account_include: entries_per_bucket must be 4, not 0",
        ),
        (
            lambda request: request.blocks["x"].cuckoo_account_include.SetInParent(),
            "blocks.x: cuckoo_account_include: entries_per_bucket must be 4, not 0",
        ),
        (
            lambda request: setattr(request.transactions["x"], "signature", "abc"),
            "transactions.x: 'abc' is no signature",
        ),
        (
            lambda request: request.transactions_status["x"].account_required.append("abc"),
            "transactions_status.x: account_required: 'abc' is no pubkey",
        ),
        (
            lambda request: setattr(request.transactions["x"], "token_accounts", 2),
            "no token_accounts mode has the number 2",
        ),
        (
            lambda request: request.blocks["x"].account_include.append("abc"),
            "blocks.x: account_include: 'abc' is no pubkey",
        ),
        (lambda request: request.slots["n" * 129].SetInParent(), "more than 128 bytes"),
        (
            lambda request: slices(request, (5, 2), (6, 2)),
            "out of order or overlapping",
        ),
        (
            lambda request: slices(request, *((each, 1) for each in range(6))),
            "at most 5",
        ),
    ],
)
def test_a_filter_that_cannot_be_served_ends_the_stream(
    service: Service, ask: Ask, text: str
) -> None:
    request = schema.SubscribeRequest()
    ask(request)
    with client_of(service) as client:
        client.send(request)
        code, told = client.end()
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert told.startswith("failed to create filter: ")
    assert text in told


TEXTS = st.lists(st.sampled_from(["", "0", address(ALICE)]) | st.text(max_size=5), max_size=2)
NUMBERS = st.integers(0, 2**64 - 1)
MEMCMPS = st.one_of(
    st.fixed_dictionaries({"offset": NUMBERS, sort: values})
    for sort, values in (
        ("bytes", st.binary(max_size=200)),
        ("base58", st.text(max_size=200)),
        (
            "base64",
            st.text(max_size=200)
            | st.binary(max_size=150).map(lambda data: b64encode(data).decode()),
        ),
    )
)
STATES = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"memcmp": MEMCMPS}),
    st.fixed_dictionaries({"datasize": NUMBERS}),
    st.fixed_dictionaries({"token_account_state": st.booleans()}),
    st.fixed_dictionaries(
        {"lamports": st.dictionaries(st.sampled_from(["eq", "lt"]), NUMBERS, max_size=1)}
    ),
)
ACCOUNTS = st.fixed_dictionaries(
    {"account": TEXTS, "owner": TEXTS, "filters": st.lists(STATES, max_size=5)}
)
TRANSACTION_FILTERS = st.fixed_dictionaries(
    {"account_include": TEXTS, "account_exclude": TEXTS, "account_required": TEXTS},
    optional={"signature": st.text(max_size=90), "token_accounts": st.integers(-1, 3)},
)
NAMES = st.text(max_size=130)


@given(
    st.integers(-1, 4),
    st.dictionaries(NAMES, ACCOUNTS, max_size=2),
    st.dictionaries(NAMES, TRANSACTION_FILTERS, max_size=2),
    st.lists(st.tuples(NUMBERS, NUMBERS), max_size=3),
)
def test_any_request_is_served_or_refused_as_a_bad_filter(
    commitment: int, accounts: Any, transactions: Any, asked: Any
) -> None:
    request = schema.SubscribeRequest(commitment=commitment)
    slices(request, *asked)
    for name, fields in accounts.items():
        request.accounts[name].MergeFrom(type(request.accounts[name])(**fields))
    for name, fields in transactions.items():
        request.transactions[name].MergeFrom(type(request.transactions[name])(**fields))
    try:
        filters = Filters(request)
    except BadFilter:
        return
    order = Order(Faults())
    for event in (WRITES[0], TRANSACTIONS[4]):
        for _, message in order.messages(event):
            for names, body in geyser_filters.updates(filters, message):
                schema.SubscribeUpdate.FromString(names + body)
