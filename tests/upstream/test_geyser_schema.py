"""The stream's messages: their bytes, and a slot's parts there and back."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.pubkey import Pubkey

from chain.accounts import AccountWrite
from chain.blocks import SlotRecord, TransactionRecord
from chain.encodings import b58encode, b64encode
from chain.transaction_errors import (
    UnknownTransactionError,
    transaction_error_bytes,
    transaction_error_json,
)
from chain.transactions import (
    BadTransaction,
    Config,
    Header,
    Instruction,
    Lookup,
    Wire,
    encode_wire,
)
from chain.units import Slot, UnixTimestamp
from tests.upstream.sample_blocks import METAS, REWARDS, WIRE_BYTES
from upstream.archives.block_files import open_block_file
from upstream.archives.errors import Unreadable
from upstream.archives.status_meta import reward_json
from upstream.geyser import messages
from upstream.geyser.stored_form import reward_message
from upstream.protobuf import geyser_pb2 as schema

U8 = st.integers(0, 255)
U32 = st.integers(0, 2**32 - 1)
U64 = st.integers(0, 2**64 - 1)
KEYS = st.binary(min_size=32, max_size=32)
ADDRESSES = KEYS.map(lambda key: str(Pubkey(key)))


def some(values: st.SearchStrategy[Any], most: int = 3) -> st.SearchStrategy[list[Any]]:
    return st.lists(values, max_size=most)


def errors() -> st.SearchStrategy[Any]:
    """Any error that stored bytes can tell."""

    def told(data: bytes) -> Any:
        try:
            return transaction_error_json(data)
        except UnknownTransactionError:
            return None

    number = st.integers(0, 60).map(lambda value: value.to_bytes(4, "little"))
    tails = st.one_of(
        st.just(b""),
        st.binary(min_size=1, max_size=1),
        st.tuples(st.binary(min_size=1, max_size=1), number).map(b"".join),
        st.tuples(st.binary(min_size=1, max_size=1), number, st.binary(min_size=4, max_size=4)).map(
            b"".join
        ),
    )
    return st.tuples(number, tails).map(lambda parts: told(b"".join(parts))).filter(bool)


INNER = st.fixed_dictionaries(
    {
        "programIdIndex": U8,
        "accounts": some(U8),
        "data": st.binary(max_size=40).map(b58encode),
        "stackHeight": st.none() | U32,
    }
)
TOKEN_BALANCES = st.fixed_dictionaries(
    {
        "accountIndex": U8,
        "mint": ADDRESSES,
        "uiTokenAmount": st.fixed_dictionaries(
            {
                "uiAmount": st.none() | st.floats(0.001, 1e12),
                "decimals": U8,
                "amount": U64.map(str),
                "uiAmountString": U64.map(str),
            }
        ),
    },
    optional={"owner": ADDRESSES, "programId": ADDRESSES},
)
REWARD = st.fixed_dictionaries(
    {
        "pubkey": ADDRESSES,
        "lamports": st.integers(-(2**63), 2**63 - 1),
        "postBalance": U64,
        "rewardType": st.sampled_from((None, "Fee", "Rent", "Staking", "Voting")),
        "commission": st.none() | U8,
    },
    optional={"commissionBps": st.integers(0, 65535)},
)


@st.composite
def wires(draw: st.DrawFn) -> Wire:
    keys = draw(st.lists(KEYS, min_size=1, max_size=4))
    version = draw(st.sampled_from(("legacy", 0, 1)))
    lookups = [
        Lookup(draw(KEYS), draw(st.binary(max_size=3)), draw(st.binary(max_size=3)))
        for _ in range(draw(st.integers(0, 2)) if version == 0 else 0)
    ]
    count = len(keys) + sum(len(each.writable) + len(each.readonly) for each in lookups)
    index = st.integers(0, count - 1)
    limits = st.none() | U32
    return Wire(
        signatures=[draw(st.binary(min_size=64, max_size=64))],
        version=version,
        header=Header(1, 0, draw(st.integers(0, len(keys) - 1))),
        account_keys=keys,
        recent_blockhash=draw(KEYS),
        instructions=[
            Instruction(draw(index), bytes(draw(some(index))), draw(st.binary(max_size=20)))
            for _ in range(draw(st.integers(0, 3)))
        ],
        lookups=lookups,
        config=Config(draw(st.none() | U64), draw(limits), draw(limits), draw(limits))
        if version == 1
        else None,
    )


@st.composite
def records(draw: st.DrawFn) -> TransactionRecord:
    wire = draw(wires())
    err = draw(st.none() | errors())
    balances = st.lists(U64, min_size=wire.key_count, max_size=wire.key_count)
    loaded = {
        "writable": [draw(ADDRESSES) for each in wire.lookups for _ in each.writable],
        "readonly": [draw(ADDRESSES) for each in wire.lookups for _ in each.readonly],
    }
    group = st.fixed_dictionaries({"index": U8, "instructions": some(INNER)})
    meta = {
        "err": err,
        "status": {"Ok": None} if err is None else {"Err": err},
        "fee": draw(U64),
        "preBalances": draw(balances),
        "postBalances": draw(balances),
        "innerInstructions": draw(st.none() | some(group)),
        "logMessages": draw(st.none() | some(st.text(max_size=20))),
        "preTokenBalances": draw(some(TOKEN_BALANCES)),
        "postTokenBalances": draw(some(TOKEN_BALANCES)),
        "rewards": draw(some(REWARD)),
        "loadedAddresses": loaded,
    }
    if draw(st.booleans()):
        data = [b64encode(draw(st.binary(max_size=20))), "base64"]
        meta["returnData"] = {"programId": draw(ADDRESSES), "data": data}
    for name in ("computeUnitsConsumed", "costUnits"):
        if draw(st.booleans()):
            meta[name] = draw(U64)
    return TransactionRecord(encode_wire(wire), meta)


WRITES = st.builds(
    AccountWrite,
    pubkey=KEYS,
    lamports=U64,
    owner=KEYS,
    data=st.binary(max_size=50),
    executable=st.booleans(),
    rent_epoch=U64,
    write_version=U64,
    signature=st.none() | st.binary(min_size=64, max_size=64),
)


def over_the_wire(message: Any) -> Any:
    return type(message).FromString(message.SerializeToString())


@given(records(), st.integers(0, 2**63))
def test_a_transaction_comes_out_of_the_stream_as_it_went_in(
    record: TransactionRecord, index: int
) -> None:
    info = over_the_wire(messages.transaction_info(index, record))
    assert info.index == index
    assert messages.transaction_of(info) == record


def test_a_transaction_without_a_meta_stays_one() -> None:
    record = TransactionRecord(WIRE_BYTES[0], None)
    assert messages.transaction_of(over_the_wire(messages.transaction_info(0, record))) == record


@given(WRITES)
def test_an_account_write_comes_out_of_the_stream_as_it_went_in(write: AccountWrite) -> None:
    assert messages.account_write(over_the_wire(messages.account_info(write))) == write


@given(REWARD)
def test_a_reward_comes_out_of_the_stream_as_it_went_in(reward: dict[str, Any]) -> None:
    assert reward_json(over_the_wire(reward_message(reward))) == reward


@given(errors())
def test_an_error_comes_out_of_the_stream_as_it_went_in(err: Any) -> None:
    assert transaction_error_json(transaction_error_bytes(err)) == err


@pytest.mark.parametrize(
    "err",
    [
        None,
        5,
        {},
        "NoSuchError",
        "InstructionError",
        {"InstructionError": [0]},
        {"InstructionError": [256, "GenericError"]},
        {"InstructionError": [0, "Custom"]},
        {"InstructionError": [0, {"Custom": 2**32}]},
        {"InstructionError": [0, {"GenericError": 1}]},
        {"AccountInUse": 1},
        {"DuplicateInstruction": -1},
        {"InsufficientFundsForRent": 1},
    ],
)
def test_what_is_no_error_is_refused(err: Any) -> None:
    with pytest.raises(UnknownTransactionError):
        transaction_error_bytes(err)


def test_the_text_of_an_old_error_is_kept_in_the_bytes() -> None:
    err = {"InstructionError": [1, {"BorshIoError": "Unknown"}]}
    assert transaction_error_bytes(err).endswith((7).to_bytes(8, "little") + b"Unknown")


def record_of_one_block() -> SlotRecord:
    return SlotRecord(
        slot=Slot(103),
        parent_slot=Slot(101),
        blockhash=str(Pubkey(bytes([5]) * 32)),
        previous_blockhash=str(Pubkey(bytes([4]) * 32)),
        block_time=UnixTimestamp(1_600_000_000),
        block_height=99,
        transactions=[
            TransactionRecord(wire, meta) for wire, meta in zip(WIRE_BYTES, METAS, strict=True)
        ],
        rewards=REWARDS,
        reward_partitions=3,
        account_writes=[
            AccountWrite(bytes([7]) * 32, 1, bytes(32), b"", False, 0, version, None)
            for version in (1, 2)
        ],
    )


def test_a_block_tells_of_itself_in_both_of_its_messages() -> None:
    record = record_of_one_block()
    meta = over_the_wire(messages.block_meta(record, entry_count=5))
    block = over_the_wire(messages.block(record, entry_count=5))
    assert block.updated_account_count == 1
    for message in (meta, block):
        assert (message.slot, message.parent_slot) == (103, 101)
        assert message.blockhash == record.blockhash
        assert message.parent_blockhash == record.previous_blockhash
        assert [reward_json(each) for each in message.rewards.rewards] == REWARDS
        assert message.rewards.num_partitions.num_partitions == 3
        assert message.block_time.timestamp == 1_600_000_000
        assert message.block_height.block_height == 99
        assert (message.executed_transaction_count, message.entries_count) == (2, 5)


def test_a_broken_message_is_named() -> None:
    good = messages.transaction_info(0, TransactionRecord(WIRE_BYTES[0], METAS[0]))
    for breakage, place in (
        (lambda info: info.ClearField("transaction"), "signatures"),
        (lambda info: setattr(info, "signature", bytes(64)), "signature"),
        (lambda info: setattr(info.meta.err, "err", b"\xff"), "meta.err"),
        (lambda info: info.meta.pre_balances.append(1), "meta.preBalances"),
    ):
        info = over_the_wire(good)
        breakage(info)
        with pytest.raises((Unreadable, BadTransaction)) as caught:
            messages.transaction_of(info)
        assert caught.value.place == place
    for name, value in (("pubkey", b"short"), ("owner", bytes(33)), ("txn_signature", b"")):
        info = schema.SubscribeUpdateAccountInfo(pubkey=bytes(32), owner=bytes(32))
        setattr(info, name, value)
        with pytest.raises(Unreadable):
            messages.account_write(info)


@pytest.mark.parametrize(
    "name",
    [
        "mainnet-332254855.confirmedblock.pb.zst",
        "mainnet-18144001.confirmedblock.pb",
        "mainnet-254170887.base64.json.gz",
        "mainnet-55065000-55065099.dbin.zst",
    ],
)
def test_recorded_transactions_come_out_of_the_stream_as_they_went_in(
    fixtures: Path, name: str
) -> None:
    with open_block_file(fixtures / "blocks" / name) as blocks:
        for record in blocks:
            for index, each in enumerate(record.transactions[:250]):
                told = over_the_wire(messages.transaction_info(index, each))
                assert messages.transaction_of(told) == each
            break


def test_votes_are_told_from_other_transactions(fixtures: Path) -> None:
    path = fixtures / "blocks" / "mainnet-332254855.confirmedblock.pb.zst"
    with open_block_file(path) as blocks:
        (record,) = blocks
    infos = [messages.transaction_info(0, each) for each in record.transactions]
    voted = [
        any("Program Vote111" in line for line in each.meta["logMessages"] or [])
        and each.meta["fee"] <= 10_000
        for each in record.transactions
        if each.meta is not None
    ]
    assert 0 < sum(info.is_vote for info in infos) < len(infos)
    assert [info.is_vote for info in infos] == voted


def test_the_bytes_are_the_ones_of_the_published_messages() -> None:
    request = schema.SubscribeRequest(commitment=schema.CommitmentLevel.CONFIRMED, from_slot=300)
    request.slots["all"].interslot_updates = True
    request.ping.id = 7
    # 2 slots {1 "all", 2 {2: 1}}; 6 commitment; 9 ping {1: 7}; 11 from_slot
    assert request.SerializeToString(deterministic=True) == (
        b"\x12\x09\x0a\x03all\x12\x02\x10\x01" + b"\x30\x01" + b"\x4a\x02\x08\x07" + b"\x58\xac\x02"
    )
    update = schema.SubscribeUpdate(filters=["all"])
    update.slot.slot = 5
    update.slot.parent = 0
    update.slot.status = schema.SlotStatus.SLOT_DEAD
    update.created_at.seconds = 1
    assert update.SerializeToString() == (
        b"\x0a\x03all" + b"\x1a\x06\x08\x05\x10\x00\x18\x06" + b"\x5a\x02\x08\x01"
    )
    assert update.WhichOneof("update_oneof") == "slot"
    assert not update.slot.HasField("dead_error")
