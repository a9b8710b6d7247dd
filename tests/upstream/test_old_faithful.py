"""An archive of CAR epochs, read by ranges: formats, faults, the cache."""

import contextlib
import shutil
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chain.blocks import SlotRecord
from columns.caches import ByteCache
from tests.examples import examples
from tests.patience import PATIENCE_SECONDS
from tests.upstream import old_faithful_files as files
from tests.upstream import sample_blocks as sample
from tests.upstream.range_server import RangeServer, serving
from tests.upstream.test_car import MESSAGE, RECORD
from upstream.archives.block_files import open_block_file
from upstream.old_faithful import layout
from upstream.old_faithful.compact_index import CompactIndex, bucket_of
from upstream.old_faithful.errors import Damaged, RemoteFault, Unreachable
from upstream.old_faithful.history import History
from upstream.old_faithful.ranges import Archive

MIB = 1_048_576
BEFORE, PARENT, AFTER, LAST = files.empty_blocks((100, 99), (101, 100), (105, 103), (107, 105))
FIRST = files.empty_blocks((99, 98))[0]
SIGNATURES = [each.signature for each in RECORD.transactions]


def block_of_sample() -> files.Content:
    """The sample's block, after PARENT."""
    return files.confirmed(RECORD, MESSAGE)


def linked() -> list[SlotRecord]:
    """What the archive of these tests holds, as it should be read."""
    own = replace(RECORD, previous_blockhash=PARENT.blockhash)
    after = replace(AFTER, previous_blockhash=RECORD.blockhash)
    return [BEFORE, PARENT, own, after, LAST]


@pytest.fixture(scope="module")
def _published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published")
    contents = [*map(files.bare, (FIRST, BEFORE, PARENT)), block_of_sample()]
    files.publish(folder, [*contents, files.bare(AFTER), files.bare(LAST)])
    return folder


@pytest.fixture
def archive(_published: Path, tmp_path: Path) -> Path:
    """Epoch 0 with slots 99, 100, 101, 103, 105 and 107; slots 99 to 107 else are skipped."""
    shutil.copytree(_published, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def server(archive: Path) -> Iterator[RangeServer]:
    with serving(archive) as found:
        yield found


def history(url: str, *, seconds: int = 20, cache: int = 64 * MIB, **options: Any) -> History:
    found = Archive(url, timeout_seconds=seconds, cache_bytes=cache)
    return History(found, **{"network": "mainnet", **options})


@pytest.mark.parametrize("store", ["file", "http"])
def test_blocks_are_those_of_the_whole_file(store: str, archive: Path, server: RangeServer) -> None:
    found = history(f"file://{archive}" if store == "file" else server.url)
    assert [found.block(each.slot) for each in linked()] == linked()
    with open_block_file(archive / "0" / "epoch-0.car") as blocks:
        assert list(blocks) == linked()
    assert found.block_time(105) == (AFTER.block_time,)
    assert found.block(104) is None and found.block_time(104) is None
    assert found.slots_between(90, 500, 100) == [99, 100, 101, 103, 105, 107]
    assert found.slots_between(101, 105, 2) == [101, 103]
    assert [found.parent_of_next_block(slot) for slot in (99, 102, 104, 106)] == [99, 101, 103, 105]
    assert found.parent_of_next_block(107) is None
    assert found.first_slot() == 99


def test_an_object_store_is_read_like_any_other(
    server: RangeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (
        ("ENDPOINT_URL", server.url.removesuffix("/files")),
        ("ACCESS_KEY_ID", "a key"),
        ("SECRET_ACCESS_KEY", "a secret"),
        ("REGION", "here"),
    ):
        monkeypatch.setenv(f"AWS_{name}", value)
    found = history("s3://files")
    assert [found.block(each.slot) for each in linked()] == linked()
    assert not found.has_epoch(432_000)


def test_old_faithfuls_own_file_is_read_by_ranges(fixtures: Path, tmp_path: Path) -> None:
    path = fixtures / "blocks" / "mainnet-0-9.old-faithful.car"
    car = path.read_bytes()
    *_, (_, _, root, _) = files.sections(car)
    files.publish_car(tmp_path, 0, car, root)
    found = history(f"file://{tmp_path}")
    with open_block_file(path) as blocks:
        expected = list(blocks)
    assert [found.block(slot) for slot in range(10)] == expected
    assert found.slots_between(0, 431_999, 1_000) == list(range(10))
    assert found.first_slot() == 0 and found.block(10) is None
    for record in expected:
        for index, transaction in enumerate(record.transactions):
            one = found.transaction(transaction.signature, [0])
            assert one is not None and (one.slot, one.index) == (record.slot, index)
            assert one.record == transaction and one.block_time == record.block_time


@pytest.mark.parametrize("options", [{}, {"frame": 70}, {"with_index": False}])
def test_a_transaction_is_found_by_its_signature(options: Any, tmp_path: Path) -> None:
    contents = [files.bare(PARENT), block_of_sample()]
    files.publish(tmp_path, [files.bare(BEFORE), *contents], **options)
    found = history(f"file://{tmp_path}")
    for index, signature in enumerate(SIGNATURES):
        one = found.transaction(signature, [7, 0])
        assert one is not None and (one.slot, one.index) == (sample.SLOT, index)
        assert one.record == RECORD.transactions[index] and one.block_time == RECORD.block_time
    assert found.transaction(bytes(64), [0]) is None
    assert found.transaction(SIGNATURES[0], [1]) is None


def test_the_first_block_of_an_epoch_has_its_parent_in_the_one_before(tmp_path: Path) -> None:
    below, first, second = files.empty_blocks(
        (431_998, 431_997), (432_001, 431_998), (432_003, 432_001)
    )
    files.publish(tmp_path, [files.bare(first), files.bare(second)])
    alone = history(f"file://{tmp_path}")
    assert alone.block(432_003) == second
    with pytest.raises(RemoteFault, match="no block 431998, the parent of 432001"):
        alone.block(432_001)
    before = files.empty_blocks((431_997, 431_996))
    files.publish(tmp_path, [files.bare(before[0]), files.bare(below)])
    whole = history(f"file://{tmp_path}")
    assert whole.block(432_001) == first
    assert whole.slots_between(431_998, 432_001, 10) == [431_998, 432_001]
    assert whole.parent_of_next_block(431_999) == 431_998


def test_an_epoch_that_is_not_there_has_no_blocks(archive: Path) -> None:
    found = history(f"file://{archive}")
    assert found.block(432_000) is None and not found.has_epoch(432_000) and found.has_epoch(0)
    assert found.slots_between(106, 500_000, 10) == [107]
    later = history(f"file://{archive}", first_epoch=1)
    assert later.block(101) is None and later.first_slot() is None


FAULTS = [
    ("404", Unreachable, "no such file"),
    ("500", Unreachable, "status 500"),
    ("short", Unreachable, "bytes instead of"),
    ("broken off", Unreachable, "not complete"),
    ("no ranges", Unreachable, "does not send parts of files"),
]


@pytest.mark.parametrize("part", [".car", "slot-to-cid.index", "cid-to-offset-and-size.index"])
@pytest.mark.parametrize(("fault", "kind", "words"), FAULTS)
def test_a_fault_is_named_and_passes(
    fault: str, kind: type[Exception], words: str, part: str, server: RangeServer
) -> None:
    found = history(server.url)
    server.faults[part] = fault
    if fault == "short" and part != ".car":
        kind, words = RemoteFault, "damaged|bytes instead of|not an index"
    with pytest.raises(kind, match=words):
        found.block(103)
    server.faults.clear()
    assert found.block(103) == linked()[2]


def test_redirects_are_followed(server: RangeServer) -> None:
    server.faults["/"] = "redirect"
    found = history(server.url)
    assert found.block(103) == linked()[2]
    assert {path.split("/")[1] for path, _ in server.requests} == {"files", "moved"}


def test_a_remote_that_hangs_is_given_up(server: RangeServer) -> None:
    found = history(server.url, seconds=1)
    server.faults[".car"] = "hang"
    with pytest.raises(Unreachable, match=r"epoch-0\.car"):
        found.block(103)

    def is_left_alone() -> bool:
        """For a second. A busy machine may be later: then it hangs once more."""
        number = len(server.requests)
        with pytest.raises(Unreachable) as again:
            found.block(103)
        is_at_once = "did not respond a moment ago" in str(again.value)
        return is_at_once and len(server.requests) == number

    assert any(is_left_alone() for _ in range(20))
    server.faults.clear()
    server.release.set()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(Unreachable):
            assert found.block(103) == linked()[2]
            return
        time.sleep(0.05)


def test_nothing_is_read_after_the_deadline(archive: Path) -> None:
    found = history(f"file://{archive}", seconds=1)
    reading = found.archive.reading()
    reading._deadline -= 2
    with pytest.raises(Unreachable, match="not read within 1 s"):
        reading.cached("0/epoch-0.car", 0, 10)


def test_a_remote_that_is_not_there_is_unreachable() -> None:
    with serving(Path("/nowhere")) as gone:
        url = gone.url
    with pytest.raises(Unreachable):
        history(url, seconds=2).block(1)


def test_a_folder_that_is_not_mounted_is_unreachable_until_it_is(archive: Path) -> None:
    away = archive.rename(archive.with_name(f"{archive.name}-away"))
    found = history(f"file://{archive}")
    with pytest.raises(Unreachable, match="folder does not exist"):
        found.block(103)
    away.rename(archive)
    assert found.block(103) == linked()[2]


def test_a_flipped_bit_in_the_car_is_never_served(archive: Path) -> None:
    path = archive / "0" / "epoch-0.car"
    car = path.read_bytes()
    spans = {at: (size, data) for at, size, _cid, data in files.sections(car)}
    expected = linked()[2]
    for at, (size, _data) in spans.items():
        files.damaged(path, at + size // 2, bit=3)
        found = history(f"file://{archive}")
        with contextlib.suppress(Damaged, Unreachable):
            assert found.block(103) == expected
        path.write_bytes(car)
        assert found.block(103) == expected  # what was damaged is not in the cache


@settings(max_examples=examples(36))
@given(data=st.data())
def test_a_damaged_index_gives_the_block_or_an_error_or_none(data: Any, archive: Path) -> None:
    kind = data.draw(st.sampled_from(["slot-to-cid", "cid-to-offset-and-size"]))
    (path,) = (archive / "0").glob(f"*{kind}.index")
    content = path.read_bytes()
    files.damaged(path, data.draw(st.integers(0, len(content) - 1)), data.draw(st.integers(0, 7)))
    found = history(f"file://{archive}")
    try:
        with contextlib.suppress(RemoteFault):
            # A damaged hash hides the slot: the next block's parent link shows one is missing.
            assert found.block(103) in (linked()[2], None)
        with contextlib.suppress(RemoteFault):
            assert found.slots_between(0, 1_000, 100) == [99, 100, 101, 103, 105, 107]
    finally:
        path.write_bytes(content)


def test_an_index_of_something_else_is_refused(archive: Path) -> None:
    target = archive / "0"
    (slots,) = target.glob("*slot-to-cid.index")
    (places,) = target.glob("*offset-and-size.index")
    content = slots.read_bytes()
    for changed, words in (
        (places.read_bytes(), "another version or kind"),
        (content.replace(b"slot-to-cid", b"slot-to-car"), "another kind"),
        (content.replace(b"mainnet", b"testnet"), "another network"),
        (content.replace(b"compiszd", b"rdcecidx"), "not an index"),
        (content[:20], "header is damaged"),
        (b"", "."),
    ):
        slots.write_bytes(changed)
        with pytest.raises(RemoteFault, match=words):
            history(f"file://{archive}").block(103)
    slots.write_bytes(content)
    (target / "epoch-0.cid").write_text("no cid")
    with pytest.raises(Damaged, match="no CID"):
        history(f"file://{archive}").block(103)
    assert history(f"file://{archive}", network="devnet", first_epoch=1).block(103) is None


def test_warm_blocks_are_not_read_again(server: RangeServer) -> None:
    found = history(server.url)
    found.block(103)
    number = len(server.requests)
    assert found.block(103) == linked()[2]
    assert len(server.requests) == number
    # The next one needs two more ranges at most: its slot's bucket of entries, and the CAR's.
    found.block(105)
    assert len(server.requests) - number <= 3


def test_the_cache_keeps_to_its_bytes(server: RangeServer) -> None:
    found = history(server.url, cache=3_000)
    for _ in range(2):
        assert [found.block(each.slot) for each in linked()] == linked()
    assert found.archive.cache.size <= 3_000


def test_many_threads_read_each_range_once(server: RangeServer) -> None:
    found = history(server.url)
    slots = [each.slot for each in linked()] * 8
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(found.block, slots)) == linked() * 8
    indexes = [each for each in server.requests if each[0].endswith(".index")]
    assert len(indexes) == len(set(indexes))


def test_those_who_wait_for_a_value_get_its_error_and_the_next_tries_again() -> None:
    cache, begun, go_on = ByteCache(1_000), threading.Event(), threading.Event()

    def fail() -> bytes:
        begun.set()
        go_on.wait()
        raise Unreachable("a file", "no")

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(cache.get, "key", fail)
        begun.wait()
        second = pool.submit(cache.get, "key", fail)
        go_on.set()
        for each in (first, second):
            with pytest.raises(Unreachable):
                each.result()
    assert cache.get("key", lambda: b"value") == b"value" == cache.find("key")
    cache.drop(["key", "another"])
    assert cache.find("key") is None and cache.size == 0


@settings(max_examples=examples(100))
@given(
    keys=st.sets(st.binary(min_size=8, max_size=8), max_size=200),
    others=st.sets(st.binary(min_size=8, max_size=8), max_size=20),
    items=st.sampled_from([1, 30_000, 432_000]),
)
def test_an_index_finds_every_key_and_says_no_more_than_values_that_it_has(
    keys: set[bytes], others: set[bytes], items: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("index")
    pairs = {key: (b"%d" % number).rjust(9) for number, key in enumerate(sorted(keys))}
    (folder / "an.index").write_bytes(files.index_file(pairs, {"kind": b"any"}, items, 9))
    reading = Archive(f"file://{folder}", timeout_seconds=20, cache_bytes=MIB).reading()
    index = CompactIndex("an.index", reading, 9)
    assert index.metadata == {"kind": b"any"}
    assert all(index.find(key, reading) == value for key, value in pairs.items())
    assert all(index.find(key, reading) in {None, *pairs.values()} for key in others - keys)


@settings(max_examples=examples(150))
@given(content=st.binary(max_size=200), whole=st.booleans())
def test_any_bytes_are_an_index_or_are_refused(
    content: bytes, whole: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    head = b"compiszd" + (max(len(content), 14)).to_bytes(4, "little") if whole else b""
    (folder / "any.index").write_bytes(head + content)
    reading = Archive(f"file://{folder}", timeout_seconds=20, cache_bytes=MIB).reading()
    with contextlib.suppress(RemoteFault):
        CompactIndex("any.index", reading, 36).find(b"key", reading)


def test_buckets_and_names() -> None:
    assert {bucket_of(bytes([each]), 44) for each in range(250)} == set(range(44))
    root = b"\x01\x71\x12\x20" + bytes(range(32))
    assert layout.cid_bytes(layout.cid_text(root)) == root
    for text in ("", "b", "bafy", "zzz", layout.cid_text(root)[:-1], layout.cid_text(root) + "a"):
        assert layout.cid_bytes(text) is None
