"""CAR epochs: what they hold, in every age's form, and everything that can be wrong with one."""

import contextlib
import copy
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.hash import Hash

from chain.blocks import SlotRecord
from tests.examples import examples
from tests.upstream import car_files
from tests.upstream import sample_blocks as sample
from tests.upstream.car_files import Bincode, Link, Writer, cbor, section
from upstream.archives.block_files import CAR, open_block_file
from upstream.archives.confirmed_block import slot_record
from upstream.archives.errors import BadBlockFile, Unreadable
from upstream.archives.frame_hashes import crc64, fnv1a
from upstream.archives.stored_meta import stored_meta, stored_rewards
from upstream.protobuf import confirmed_block_pb2 as schema

MESSAGE = sample.block_message()
RECORD = slot_record(MESSAGE, sample.SLOT)
PLAIN = car_files.of_confirmed(RECORD, MESSAGE)


def parent_known(slot: int) -> str | None:
    return sample.PREVIOUS if slot == sample.PARENT else None


def read(folder: Path, content: bytes, **options: Any) -> list[SlotRecord]:
    path = folder / "epoch-0.car"
    path.write_bytes(content)
    with open_block_file(path, **{"blockhash_of": parent_known, **options}) as blocks:
        assert blocks.format == CAR
        return list(blocks)


def refusal(folder: Path, content: bytes, **options: Any) -> str:
    with pytest.raises(BadBlockFile) as caught:
        read(folder, content, **options)
    return str(caught.value).partition(": ")[2]


def chain(*slots: tuple[int, int]) -> list[SlotRecord]:
    """Empty blocks of (slot, parent), each with a blockhash of its own."""

    def blockhash(slot: int) -> str:
        return str(Hash(hashlib.sha256(b"block %d" % slot).digest()))

    return [
        SlotRecord(
            slot=slot,
            parent_slot=parent,
            blockhash=blockhash(slot),
            previous_blockhash=blockhash(parent),
            block_time=1_600_000_000 + slot,
            block_height=slot,
            transactions=[],
            rewards=[],
        )
        for slot, parent in slots
    ]


def car_of(records: list[SlotRecord]) -> bytes:
    writer = Writer()
    for record in records:
        writer.block(record, [])
    return writer.finished(records[0].slot, records[-1].slot)


def test_mainnets_first_blocks_are_those_of_another_archive(fixtures: Path) -> None:
    with open_block_file(fixtures / "blocks" / "mainnet-0-9.old-faithful.car") as blocks:
        found = list(blocks)
        assert blocks.format == CAR and blocks.warnings == [] and blocks.known == 0
    with open_block_file(fixtures / "blocks" / "mainnet-genesis-1-194.tar.zst") as blocks:
        assert found[1:] == list(blocks)[:9]
    genesis = found[0]
    assert (genesis.slot, genesis.parent_slot, genesis.block_height) == (0, 0, 0)
    # What nodes answer for slot 0, which is its own parent.
    assert genesis.previous_blockhash == genesis.blockhash == found[1].previous_blockhash
    assert (genesis.transactions, genesis.block_time) == ([], None)


@pytest.mark.parametrize("packing", sample.PACKINGS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"with_index": False, "transactions_in_entry": 1},
        {"frame": 50},
        {"frame": 50, "hash_of": crc64},
        {"frame": 7, "hash_of": fnv1a},
        {"frame": 50, "hash_of": lambda data: crc64(data) - 2**64},
    ],
    ids=["whole", "no index", "frames", "crc64", "fnv1a", "a signed hash"],
)
def test_a_block_is_the_one_of_its_protobuf(
    options: dict[str, Any], packing: str, tmp_path: Path
) -> None:
    content = car_files.of_confirmed(RECORD, MESSAGE, **options)
    assert read(tmp_path, sample.PACKINGS[packing](content)) == [RECORD]


def test_the_checksums_are_the_published_ones() -> None:
    assert crc64(b"123456789") == 0xB90956C775A41001
    assert fnv1a(b"foobar") == 0x85944171F73967E8


def without(meta: Any, *names: str) -> Any:
    changed = copy.deepcopy(meta)
    for name in names:
        changed.ClearField(name)
    return changed


LATEST = ("loaded_writable_addresses", "loaded_readonly_addresses", "return_data")
COSTS = ("compute_units_consumed", "cost_units")


def first_age(meta: Any) -> Any:
    changed = without(
        meta, *LATEST, *COSTS, "inner_instructions", "log_messages", "post_token_balances"
    )
    changed.inner_instructions_none = changed.log_messages_none = True
    changed.return_data_none = True
    return changed


def token_age(meta: Any, *, heights: bool = False, owner: bool = True, text: bool = False) -> Any:
    changed = without(meta, *LATEST, *COSTS)
    changed.return_data_none = True
    for inner in changed.inner_instructions[0].instructions:
        if not heights:
            inner.ClearField("stack_height")
    for balance in changed.post_token_balances:
        if not owner:
            balance.ClearField("owner")
            balance.ClearField("program_id")
        if text:
            balance.ui_token_amount.ui_amount_string = "1.5"
    return changed


LEGACY_META = MESSAGE.transactions[0].meta
AGES = {
    "balances alone": (Bincode(fields=4), first_age(LEGACY_META)),
    "token amounts": (Bincode(fields=9), token_age(LEGACY_META, owner=False)),
    "texts of amounts": (
        Bincode(fields=9, text_amount=True),
        token_age(LEGACY_META, owner=False, text=True),
    ),
    "owners": (
        Bincode(fields=9, owner=True),
        without(token_age(LEGACY_META), "cost_units"),
    ),
    "programs": (Bincode(fields=9, owner=True, program=True), token_age(LEGACY_META)),
    "all": (
        Bincode(owner=True, program=True, stack_height=True),
        without(LEGACY_META, "loaded_writable_addresses", "loaded_readonly_addresses"),
    ),
}


@pytest.mark.parametrize("age", AGES)
def test_a_meta_of_every_age_is_what_later_ages_made_of_it(age: str) -> None:
    written, meta = AGES[age]
    expected = copy.deepcopy(meta)
    if written.owner and not written.program:
        expected.post_token_balances[0].ClearField("program_id")
    assert stored_meta(written.meta(meta)) == expected


def test_a_block_with_metas_in_bincode_reads_as_with_protobuf(tmp_path: Path) -> None:
    block = copy.deepcopy(MESSAGE)
    del block.transactions[1:]
    block.transactions[0].meta.CopyFrom(AGES["token amounts"][1])
    record = slot_record(block, sample.SLOT)
    options = {
        "pack": Bincode(fields=9).meta,
        "pack_rewards": car_files.bincode_rewards,
    }
    block.ClearField("num_partitions")  # bincode never had them
    found = read(tmp_path, car_files.of_confirmed(record, block, **options))
    assert [each.transactions for each in found] == [record.transactions]
    assert found[0].rewards == record.rewards


@pytest.mark.parametrize("fields", [2, 3, 4, 5])
@pytest.mark.parametrize("count", [0, 1, 10])
def test_rewards_of_every_age(fields: int, count: int) -> None:
    rewards = schema.Rewards()
    for number in range(count):
        reward = rewards.rewards.add(pubkey=sample.BLOCKHASH, lamports=-number)
        reward.post_balance = number if fields > 2 else 0
        reward.reward_type = number % 5 if fields > 3 else 0
        reward.commission = "7" if fields > 4 and number % 2 else ""
    assert stored_rewards(car_files.bincode_rewards(rewards, fields)) == rewards


ERRORS = [
    b"\4\0\0\0",
    b"\x08\0\0\0\3\x19\0\0\0\x71\x17\0\0",
    b"\x08\0\0\0\3\x2c\0\0\0\2\0\0\0\0\0\0\0no",
    b"\x08\0\0\0\3\5\0\0\0",
    b"\x1e\0\0\0\2",
    b"\x1f\0\0\0\2",
]


@pytest.mark.parametrize("error", ERRORS)
def test_an_error_ends_where_it_ends(error: bytes) -> None:
    meta = first_age(LEGACY_META)
    meta.err.err = error
    assert stored_meta(Bincode(fields=4).meta(meta)).err.err == error


@given(st.binary(max_size=300))
def test_any_bytes_are_a_meta_or_are_refused(data: bytes) -> None:
    for read_stored in (stored_meta, stored_rewards):
        with contextlib.suppress(Unreadable):
            read_stored(data)


@given(st.sampled_from(list(AGES)), st.data())
def test_a_damaged_meta_is_a_meta_or_is_refused(age: str, data: Any) -> None:
    written, meta = AGES[age]
    content = bytearray(written.meta(meta))
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] = data.draw(st.integers(0, 255))
    with contextlib.suppress(Unreadable):
        stored_meta(bytes(content[: data.draw(st.integers(0, len(content)))]))


def test_each_block_names_the_blockhash_of_its_parent(tmp_path: Path) -> None:
    records = chain((10, 9), (12, 10), (13, 12))
    assert read(tmp_path, car_of(records), blockhash_of={9: records[0].previous_blockhash}.get) == (
        records
    )


def test_a_block_whose_parent_is_nowhere_is_left_out_and_named(tmp_path: Path) -> None:
    path = tmp_path / "epoch-0-1.car"
    path.write_bytes(car_of(chain((10, 9), (12, 10), (15, 14), (16, 15))))
    with open_block_file(path) as blocks:
        assert [record.slot for record in blocks] == [12, 16]
    first, second = blocks.warnings
    assert "slot 10: not taken: its previous blockhash is that of slot 9" in first
    assert second.startswith("slot 15: not taken")


def test_blocks_that_are_known_are_passed_over_without_a_look_inside(tmp_path: Path) -> None:
    path = tmp_path / "epoch-0.car"
    writer = Writer()
    writer.block(RECORD, [each.meta for each in MESSAGE.transactions])
    (after,) = chain((104, 103))
    writer.block(after, [])
    content = writer.finished(103, 104)
    damaged = content.replace(RECORD.transactions[0].wire, bytes(len(RECORD.transactions[0].wire)))
    path.write_bytes(damaged)
    with open_block_file(path, blockhash_of={103: sample.BLOCKHASH}.get) as blocks:
        (found,) = blocks
        assert blocks.known == 1
    assert (found.slot, found.previous_blockhash) == (104, sample.BLOCKHASH)
    assert "do not have the hash" in refusal(tmp_path, damaged)


def test_a_block_that_differs_from_the_known_one_is_given(tmp_path: Path) -> None:
    records = chain((9, 8), (10, 9))
    stored = {8: records[0].previous_blockhash, 9: sample.BLOCKHASH}
    assert read(tmp_path, car_of(records), blockhash_of=stored.get) == records


def test_a_file_of_many_blocks_is_read_in_the_memory_of_one(tmp_path: Path) -> None:
    content = car_files.of_confirmed(RECORD, MESSAGE)
    body = content[len(car_files.header()) :]
    path = tmp_path / "epoch-0.car"
    path.write_bytes(car_files.header() + body * 300)
    most = len(content) + 100
    with open_block_file(path, largest_block=most, blockhash_of=parent_known) as blocks:
        assert sum(1 for _ in blocks) == 300
    assert "larger than 100 bytes" in refusal(tmp_path, content, largest_block=100)


def changed_node(kind: int, change: Any) -> bytes:
    """PLAIN's block with one node of the kind changed, and its CIDs made good again."""

    class Changing(Writer):
        done = False

        def node(self, value: Any) -> Link:
            if value[0] == kind and not self.done:
                self.done = True
                value = copy.deepcopy(value)
                change(value)
            return super().node(value)

    writer = Changing()
    metas = [each.meta for each in MESSAGE.transactions]
    writer.block(RECORD, metas, schema.Rewards(rewards=MESSAGE.rewards))
    return writer.finished(sample.SLOT, sample.SLOT)


def put(*path: Any) -> Any:
    *way, last, value = path

    def change(node: Any) -> None:
        for step in way:
            node = node[step]
        node[last] = value

    return change


CHANGES = [
    (0, put(1, 4, b"\1"), "slot 103, transactions[0].data"),
    (0, put(1, None), "transactions[0].data: expected a data frame"),
    (0, put(2, 4, b"nonsense"), "transactions[0].metadata: the zstd data is damaged"),
    (0, put(2, 4, zstandard.compress(b"\0")), "transactions[0]: neither protobuf nor any known"),
    (0, put(3, 104), "transactions[0].slot: 104 is declared"),
    (0, put(4, 1), "transactions[0].index: 1 is declared"),
    (0, put(1, 3, 3), "transactions[0].data.index: missing"),
    (0, put(1, 3, 10**6), "transactions[0].data: 1000000 frames are more"),
    (1, put(3, 0, Link(b"\x01\x71\x12\x20" + bytes(32))), "transactions[0]: the Transaction it"),
    (1, put(3, 7), "entries[0].transactions: expected a list of links"),
    (2, put(3, []), "a block without entries has no blockhash"),
    (2, put(3, 0, Link(b"\x01\x71\x12\x20" + bytes(32))), "entries[0]: the Entry it links to"),
    (2, put(1, "103"), "a block's slot: expected a number"),
    (2, put(4, None), "slot 103, meta: expected [parent_slot"),
    (2, put(4, 0, 103), "meta.parent_slot: 103 is not before the slot"),
    (2, put(4, 1, 2**63), "meta.blocktime: expected a number up to"),
    (5, put(2, 4, zstandard.compress(b"\0")), "rewards: neither protobuf nor any known"),
    (5, put(0, 6), "expected a node of kind Rewards"),
]


@pytest.mark.parametrize(("kind", "change", "words"), CHANGES)
def test_what_is_wrong_is_named_with_its_place(
    kind: int, change: Any, words: str, tmp_path: Path
) -> None:
    assert words in refusal(tmp_path, changed_node(kind, change))


def test_frames_must_be_all_there_and_have_their_hash(tmp_path: Path) -> None:
    wrong = car_files.of_confirmed(RECORD, MESSAGE, frame=50, hash_of=lambda data: 1)
    assert "does not have the hash of its first frame" in refusal(tmp_path, wrong)

    class Losing(Writer):
        def payload(self, data: bytes) -> list[Any]:
            frame = super().payload(data)
            return [*frame[:5], frame[5][:-1]] if len(frame) > 5 else frame

    writer = Losing(frame=50)
    writer.block(RECORD, [each.meta for each in MESSAGE.transactions])
    assert "frames of" in refusal(tmp_path, writer.finished(103, 103))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (PLAIN[:-1], "the file ends inside a section"),
        (PLAIN[: len(car_files.header()) + 300], "the file ends inside"),
        (car_files.header()[:-3], "the CAR header ends too early"),
        (car_files.header().replace(b"version\1", b"version\2"), "not a CAR of version 1"),
        (car_files.header() + b"\1\0", "a section of 1 bytes holds no node"),
        (car_files.header() + car_files.leb128(2**40), "is larger than any is"),
        (car_files.header() + b"\xff" * 20, "the length of a section is damaged"),
        (car_files.header() + section(cbor([9, 1]))[1], "no node of an epoch"),
        (car_files.header() + section(cbor({"a": 1}))[1], "no node of an epoch"),
        (car_files.header() + section(cbor([1, 1, b"", []]))[1], "ends inside the next block"),
    ],
)
def test_a_broken_container_is_refused(content: bytes, words: str, tmp_path: Path) -> None:
    assert words in refusal(tmp_path, content)


def test_a_flipped_bit_anywhere_in_a_block_does_not_go_unnoticed(tmp_path: Path) -> None:
    start = len(car_files.header())
    end = PLAIN.rindex(cbor([3, 103, 103, []])) - 40
    for place in range(start, end, 23):
        damaged = bytearray(PLAIN)
        damaged[place] ^= 1 << place % 8
        refusal(tmp_path, bytes(damaged))


ANY_NODE = st.recursive(
    st.none()
    | st.integers(-(2**63), 2**64 - 1)
    | st.binary(max_size=8)
    | st.text(max_size=4)
    | st.sampled_from([Link(b"\x01\x71\x12\x20" + bytes(32)), Link(b"\x01\x55\x00\x00")]),
    lambda inner: st.lists(inner, max_size=5),
    max_leaves=12,
)


@settings(max_examples=examples(150))
@given(st.integers(0, 6), st.integers(1, 5), ANY_NODE)
def test_a_node_of_any_shape_is_refused_in_one_way(
    tmp_path_factory: pytest.TempPathFactory, kind: int, index: int, value: Any
) -> None:
    def change(node: Any) -> None:
        if index < len(node):
            node[index] = value

    path = tmp_path_factory.getbasetemp() / "any.car"
    path.write_bytes(changed_node(kind, change))
    try:
        with open_block_file(path, blockhash_of=parent_known) as blocks:
            for record in blocks:
                json.dumps(record.rewards)
    except BadBlockFile:
        pass


@settings(max_examples=examples(150))
@given(st.data())
def test_damage_of_any_kind_is_refused_in_one_way(
    tmp_path_factory: pytest.TempPathFactory, data: Any
) -> None:
    content = bytearray(PLAIN)
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content) - 1))
        size = data.draw(st.integers(0, 40))
        content[start : start + size] = data.draw(st.binary(max_size=40))
    path = tmp_path_factory.getbasetemp() / "damaged.car"
    path.write_bytes(bytes(content))
    try:
        with open_block_file(path, blockhash_of=parent_known) as blocks:
            list(blocks)
    except BadBlockFile:
        pass
