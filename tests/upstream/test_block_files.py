"""Every format a file of blocks can have, well formed and broken."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from chain.blocks import CURRENT_FORM, Form, SlotRecord
from tests.examples import examples
from tests.upstream.sample_blocks import (
    BLOCKHASH,
    FILES,
    METAS,
    PACKINGS,
    PARENT,
    PREVIOUS,
    REWARDS,
    SLOT,
    WIRE_BYTES,
    block_json,
    block_message,
    dbin_file,
    json_file,
    protobuf_file,
    tar_file,
)
from upstream.archives.block_files import open_block_file
from upstream.archives.errors import BadBlockFile


def read(folder: Path, content: bytes, name: str = "block-103", **options: Any) -> list[SlotRecord]:
    path = folder / name
    path.write_bytes(content)
    with open_block_file(path, **options) as blocks:
        return list(blocks)


def refusal(folder: Path, content: bytes, name: str = "block-103", **options: Any) -> BadBlockFile:
    with pytest.raises(BadBlockFile) as caught:
        read(folder, content, name, **options)
    return caught.value


def with_change(change: Any, encoding: str = "json") -> bytes:
    block = block_json(encoding)
    block = json.loads(json.dumps(block))
    change(block)
    return json.dumps(block).encode()


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("form", FILES)
def test_a_block_reads_the_same_from_every_format_and_packing(
    form: str, packing: str, tmp_path: Path
) -> None:
    (record,) = read(tmp_path, PACKINGS[packing](FILES[form]))
    assert record == SlotRecord(
        slot=SLOT,
        parent_slot=PARENT,
        blockhash=BLOCKHASH,
        previous_blockhash=PREVIOUS,
        block_time=1_600_000_000,
        block_height=99,
        transactions=record.transactions,
        rewards=REWARDS,
        reward_partitions=3,
        form=CURRENT_FORM,
    )
    assert [each.wire for each in record.transactions] == WIRE_BYTES
    assert [each.meta for each in record.transactions] == METAS
    assert [list(each.meta or ()) for each in record.transactions] == [list(m) for m in METAS]


def test_the_format_is_told_by_content_and_progress_by_bytes(tmp_path: Path) -> None:
    path = tmp_path / "misnamed.txt"
    path.write_bytes(gzip.compress(dbin_file((103, 104, 109))))
    with open_block_file(path) as blocks:
        assert blocks.format == "dbin"
        assert blocks.size == path.stat().st_size
        assert [record.slot for record in blocks] == [103, 104, 109]
        assert blocks.position == blocks.size
        assert blocks.warnings == []


def test_several_gzip_members_and_zstd_frames_are_one_stream(tmp_path: Path) -> None:
    content = json_file()
    for pack in (gzip.compress, zstandard.compress):
        packed = b"".join(pack(content[at : at + 1]) for at in range(len(content)))
        assert read(tmp_path, packed)[0].slot == SLOT


@pytest.mark.parametrize(
    ("name", "slot", "expected", "warns"),
    [
        ("mainnet-103.base64.json.gz", None, 103, False),
        ("mainnet-103.json", 105, 105, False),
        ("block_00000104_v2.json", None, 104, False),
        ("base640.json", None, PARENT + 1, True),
        ("block.json", None, PARENT + 1, True),
        ("from-103-to-107.json", None, PARENT + 1, True),
        ("mainnet-99999999999.json", None, PARENT + 1, True),
    ],
)
def test_the_slot_comes_from_the_caller_then_the_name_then_the_parent(
    name: str, slot: int | None, expected: int, warns: bool, tmp_path: Path
) -> None:
    for content in (json_file(), protobuf_file()):
        path = tmp_path / name
        path.write_bytes(content)
        with open_block_file(path, slot=slot) as blocks:
            assert [record.slot for record in blocks] == [expected]
        assert len(blocks.warnings) == warns
        if warns:
            assert f"parentSlot + 1 = {PARENT + 1}" in blocks.warnings[0]


def test_a_slot_that_cannot_be_is_refused(tmp_path: Path) -> None:
    assert "not after" in refusal(tmp_path, json_file(), slot=PARENT).reason
    assert "many blocks" in refusal(tmp_path, dbin_file(), slot=SLOT).reason
    assert "many blocks" in refusal(tmp_path, FILES["tar"], slot=SLOT).reason


def test_fields_that_an_old_block_never_had_stay_none(tmp_path: Path) -> None:
    def age(block: dict[str, Any]) -> None:
        for name in ("rewards", "numRewardPartitions", "blockHeight"):
            del block[name]
        block["blockTime"] = None
        for entry in block["transactions"]:
            entry["meta"] = None
            del entry["version"]

    (record,) = read(tmp_path, with_change(age))
    assert (record.block_time, record.block_height) == (None, None)
    assert (record.rewards, record.reward_partitions) == (None, None)
    assert [each.meta for each in record.transactions] == [None, None]
    assert [each.wire for each in record.transactions] == WIRE_BYTES

    message = block_message()
    for name in ("block_time", "block_height", "num_partitions"):
        message.ClearField(name)
    message.transactions[0].ClearField("meta")
    never = message.transactions[1].meta
    never.Clear()
    never.inner_instructions_none = never.log_messages_none = True
    (record,) = read(tmp_path, message.SerializeToString())
    assert (record.block_time, record.block_height, record.reward_partitions) == (None,) * 3
    assert [each.meta for each in record.transactions] == [None, None]


def test_a_stored_meta_keeps_none_apart_from_empty(tmp_path: Path) -> None:
    message = block_message()
    meta = message.transactions[0].meta
    for name in ("err", "inner_instructions", "log_messages", "compute_units_consumed"):
        meta.ClearField(name)
    meta.ClearField("cost_units")
    meta.inner_instructions_none = meta.log_messages_none = meta.return_data_none = True
    balance = meta.post_token_balances[0]
    balance.owner = balance.program_id = ""
    balance.ui_token_amount.ui_amount = 0
    balance.ui_token_amount.amount = "10050000"
    other = meta.pre_token_balances.add(account_index=0, mint="m")
    other.ui_token_amount.amount = "0"
    other.ui_token_amount.decimals = 2
    told = read(tmp_path, message.SerializeToString())[0].transactions[0].meta
    assert told is not None
    assert told["err"] is None
    assert told["status"] == {"Ok": None}
    assert told["innerInstructions"] is None
    assert told["logMessages"] is None
    assert not told.keys() & {"returnData", "computeUnitsConsumed", "costUnits"}
    assert told["postTokenBalances"][0] == {
        "accountIndex": 1,
        "mint": balance.mint,
        "uiTokenAmount": {
            "uiAmount": None,
            "decimals": 6,
            "amount": "10050000",
            "uiAmountString": "10.05",
        },
    }
    assert told["preTokenBalances"][0]["uiTokenAmount"]["uiAmountString"] == "0"


def test_reward_types_and_commissions_are_told_as_the_node_does(tmp_path: Path) -> None:
    message = block_message()
    del message.rewards[:]
    kinds = [None, "Fee", "Rent", "Staking", "Voting", "DeactivatedStake"]
    for number, commission in enumerate(("", "0", "100", "255", "256", "x")):
        message.rewards.add(pubkey="p", reward_type=number, commission=commission)
    rewards = read(tmp_path, message.SerializeToString())[0].rewards
    assert rewards is not None
    assert [each["rewardType"] for each in rewards] == kinds
    assert [each["commission"] for each in rewards] == [None, 0, 100, 255, None, None]


@pytest.mark.parametrize(
    ("dropped", "expected"),
    [
        ((), CURRENT_FORM),
        (("top 1",), Form.LOADED_ADDRESSES | Form.STACK_HEIGHT),
        (("top", "inner"), Form.LOADED_ADDRESSES),
        (("top", "inner", "loaded"), Form(0)),
    ],
)
def test_the_form_tells_which_fields_the_node_was_young_enough_to_write(
    dropped: tuple[str, ...], expected: Form, tmp_path: Path
) -> None:
    def age(block: dict[str, Any]) -> None:
        for entry in block["transactions"]:
            for instruction in entry["transaction"]["message"]["instructions"]:
                if "top 1" in dropped:
                    instruction["stackHeight"] = None
                if "top" in dropped:
                    del instruction["stackHeight"]
            if "inner" in dropped:
                del entry["meta"]["innerInstructions"][0]["instructions"][0]["stackHeight"]
            if "loaded" in dropped:
                del entry["meta"]["loadedAddresses"]

    assert read(tmp_path, with_change(age))[0].form == expected


def transaction(block: dict[str, Any]) -> dict[str, Any]:
    found = block["transactions"][1]
    assert isinstance(found, dict)
    return found


def message(block: dict[str, Any]) -> dict[str, Any]:
    found = transaction(block)["transaction"]["message"]
    assert isinstance(found, dict)
    return found


BROKEN = [
    (lambda b: b.pop("parentSlot"), "parentSlot", "missing"),
    (lambda b: b.update(parentSlot=True), "parentSlot", "2^64-1"),
    (lambda b: b.update(parentSlot=2**64), "parentSlot", "2^64-1"),
    (lambda b: b.update(parentSlot=1.0), "parentSlot", "2^64-1"),
    (lambda b: b.update(blockhash="0" * 44), "blockhash", "base58 of 32"),
    (lambda b: b.update(previousBlockhash="abc"), "previousBlockhash", "base58 of 32"),
    (lambda b: b.update(blockTime=2**63), "blockTime", "2^63-1"),
    (lambda b: b.update(blockHeight=-1), "blockHeight", "2^64-1"),
    (lambda b: b.update(rewards={}), "rewards", "list"),
    (lambda b: b.pop("transactions"), "transactions", "transactionDetails full"),
    (lambda b: b.update(transactions=[1]), "transactions[0]", "object"),
    (lambda b: transaction(b).pop("transaction"), "transactions[1].transaction", "object"),
    (lambda b: transaction(b).update(version=2), "transactions[1].version", "legacy"),
    (
        lambda b: transaction(b)["transaction"].update(signatures=[]),
        "transactions[1].transaction.signatures",
        "no signatures",
    ),
    (
        lambda b: transaction(b)["transaction"].update(signatures=[""]),
        "transactions[1].transaction.signatures[0]",
        "64 bytes",
    ),
    (
        lambda b: message(b)["instructions"][0].update(data="0OIl"),
        "transactions[1].transaction.message.instructions[0].data",
        "not base58",
    ),
    (
        lambda b: message(b)["instructions"][0].update(accounts=[True]),
        "transactions[1].transaction.message.instructions[0].accounts",
        "0 to 255",
    ),
    (
        lambda b: message(b)["instructions"][0].update(programIdIndex=4),
        "transactions[1].transaction.message.instructions[0]",
        "outside the 4 keys",
    ),
    (
        lambda b: message(b)["header"].update(numRequiredSignatures=2),
        "transactions[1].transaction.signatures",
        "1 signatures where the header wants 2",
    ),
    (
        lambda b: message(b)["accountKeys"].__setitem__(0, {"pubkey": "x"}),
        "transactions[1].transaction.message.accountKeys[0]",
        "encoding json or base64",
    ),
    (
        lambda b: transaction(b)["meta"].update(preBalances=[1, 2, 3]),
        "transactions[1].meta.preBalances",
        "3 balances for the transaction's 4 keys",
    ),
    (
        lambda b: transaction(b)["meta"].update(postBalances=[1, 2, 3, 2**64]),
        "transactions[1].meta.postBalances",
        "2^64-1",
    ),
    (lambda b: transaction(b)["meta"].pop("fee"), "transactions[1].meta", "fee"),
    (lambda b: transaction(b)["meta"].update(fee="1"), "transactions[1].meta.fee", "int"),
    (
        lambda b: transaction(b)["meta"]["loadedAddresses"]["writable"].pop(),
        "transactions[1].meta.loadedAddresses.writable",
        "0 addresses where lookups load 1",
    ),
    (
        lambda b: transaction(b)["meta"]["innerInstructions"][0]["instructions"].append(
            {"programId": "x", "parsed": {}}
        ),
        "transactions[1].meta.innerInstructions[0].instructions[1]",
        "encoding json or base64",
    ),
]


@pytest.mark.parametrize(("change", "place", "reason"), BROKEN)
def test_a_fault_in_json_is_told_with_its_place(
    change: Any, place: str, reason: str, tmp_path: Path
) -> None:
    told = refusal(tmp_path, with_change(change))
    assert told.place == place
    assert reason in told.reason
    assert str(told) == f"{tmp_path / 'block-103'}: {place}: {told.reason}"


@pytest.mark.parametrize(
    ("content", "place", "reason"),
    [
        (b"", "", "empty"),
        (b"hello", "", "neither getBlock JSON"),
        (b"[]", "", "getBlock response"),
        (b'{"result":null}', "result", "no such block"),
        (b'{"result":7}', "result", "a block"),
        (
            b'{"error":{"code":-32007,"message":"Slot 5 was skipped"}}',
            "error",
            "Slot 5 was skipped",
        ),
        (json_file()[:-9], "", "not whole JSON"),
        (b"{" * 3000, "", "not "),
        (b'{"a":' * 100_000, "", "not "),
        (gzip.compress(json_file(), mtime=0)[:-9], "", "gzip data ends too early"),
        (gzip.compress(json_file(), mtime=0) + b"x", "", "gzip data"),
        (zstandard.compress(json_file())[:-9], "", "zstd data ends too early"),
        (zstandard.compress(json_file()) + b"xxxxxxxxx", "", "zstd data is damaged"),
        (protobuf_file()[:-3], "", "protobuf data is damaged"),
        (dbin_file()[:7], "", "dbin header"),
        (b"dbin\1SOL01" + dbin_file()[10:], "", "another sort"),
        (dbin_file((103, 104))[:-5], "block 2", "ends inside"),
        (dbin_file() + b"\0\0", "block 2", "ends inside"),
        (dbin_file() + b"\xff\xff\xff\xff", "block 2", "larger than"),
        (dbin_file() + b"\0\0\0\0", "block 2 (slot 0)", "payload kind"),
        (dbin_file((103, 100)), "block 2 (slot 100), parentSlot", "not before slot 100"),
        (FILES["tar"][:700], "member 103.dbin.zst", "ends inside this member"),
        (FILES["tar"][:-1024], "", "tar ends too early"),
        (tar_file({"a": b"nothing"}), "member a", "neither getBlock JSON"),
        (tar_file({"a": FILES["tar"]}), "member a", "tar inside a tar"),
        (
            tar_file({"1.json": json_file()[:50]}),
            "member 1.json",
            "not whole JSON",
        ),
    ],
)
def test_a_broken_file_is_told_with_place_and_reason(
    content: bytes, place: str, reason: str, tmp_path: Path
) -> None:
    told = refusal(tmp_path, content)
    assert told.place == place
    assert reason in told.reason


def test_blocks_before_the_fault_are_read(tmp_path: Path) -> None:
    path = tmp_path / "blocks"
    path.write_bytes(dbin_file((103, 104))[:-5])
    blocks = iter(open_block_file(path))
    assert next(blocks).slot == 103
    with pytest.raises(BadBlockFile, match=r"block 2: the file ends inside this block"):
        next(blocks)


def test_a_dbin_block_whose_two_slots_differ_is_refused(tmp_path: Path) -> None:
    content = dbin_file().replace(b"\xa0\x01\x67", b"\xa0\x01\x68")
    told = refusal(tmp_path, content)
    assert (told.place, told.reason) == ("block 1 (slot 103)", "the block inside says 104")


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_block_that_unpacks_beyond_the_bound_is_refused(pack: Any, tmp_path: Path) -> None:
    bomb = pack(b"{" + b" " * 50_000_000)
    assert len(bomb) < 100_000
    told = refusal(tmp_path, bomb, largest_block=1_000_000)
    assert "larger than 1000000 bytes" in told.reason


def test_a_packed_transaction_that_unpacks_beyond_the_bound_is_refused(tmp_path: Path) -> None:
    packed = base64.b64encode(zstandard.compress(bytes(1_000_000))).decode()

    def change(block: dict[str, Any]) -> None:
        transaction(block)["transaction"] = [packed, "base64+zstd"]

    told = refusal(tmp_path, with_change(change))
    assert told.place == "transactions[1].transaction"
    assert "larger" in told.reason


def test_an_unreadable_path_is_an_os_error(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(OSError, match=str(tmp_path)):
            open_block_file(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("broken")


def read_or_refuse(folder: Path, content: bytes) -> None:
    try:
        for record in read(folder, content, largest_block=1 << 20):
            assert isinstance(record, SlotRecord)
    except BadBlockFile as told:
        assert told.reason


@settings(max_examples=examples(400))
@given(form=st.sampled_from(sorted(FILES)), data=st.data())
def test_no_mutation_of_a_file_escapes_as_another_error(
    form: str, data: st.DataObject, folder: Path
) -> None:
    content = bytearray(FILES[form])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content))) :]
    read_or_refuse(folder, bytes(content))


@settings(max_examples=examples(150))
@given(
    start=st.sampled_from(
        [b"", b"{", b"dbin\0SOL01", b"\x0a\x2b", b"\x1f\x8b", b"\x28\xb5\x2f\xfd"]
    ),
    rest=st.binary(max_size=200),
)
def test_no_bytes_escape_as_another_error(start: bytes, rest: bytes, folder: Path) -> None:
    read_or_refuse(folder, start + rest)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@settings(max_examples=examples(400))
@given(encoding=st.sampled_from(["json", "base64"]), value=json_values, data=st.data())
def test_no_value_in_any_place_of_a_json_block_escapes_as_another_error(
    encoding: str, value: Any, data: st.DataObject, folder: Path
) -> None:
    block = json.loads(json.dumps(block_json(encoding)))
    where: Any = block
    while True:
        key = data.draw(
            st.sampled_from(sorted(where) if isinstance(where, dict) else range(len(where)))
        )
        if not where[key] or not isinstance(where[key], (dict, list)) or data.draw(st.booleans()):
            break
        where = where[key]
    where[key] = value
    read_or_refuse(folder, json.dumps(block).encode())
