"""The index of the signatures that exist: what it spares, and what it must not hide."""

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.upstream import old_faithful_files as files
from tests.upstream.range_server import RangeServer, serving
from tests.upstream.test_old_faithful import (
    BEFORE,
    PARENT,
    SIGNATURES,
    block_of_sample,
    history,
)
from upstream.old_faithful.errors import Damaged, RemoteFault
from upstream.old_faithful.ranges import Archive
from upstream.old_faithful.signature_filter import SignatureFilter

METADATA = {"epoch": bytes(8)}


def published(folder: Path, *, exists: bool = True) -> Path:
    """Epoch 0 with the sample's transactions, and epochs 1 and 2 with none."""
    files.publish(folder, [*map(files.bare, (BEFORE, PARENT)), block_of_sample()], exists=exists)
    for epoch in (1, 2):
        first, last = (epoch * files.SLOTS + each for each in (1, 2))
        blocks = files.empty_blocks((first, first - 1), (last, first))
        target = files.publish(folder, [*map(files.bare, blocks)], exists=exists)
    return target


def asked(server: RangeServer, epoch: int) -> set[str]:
    """The kinds of the indexes of signatures that were read of the epoch."""
    names = (path for path, _ in server.requests if f"epoch-{epoch}-" in path)
    found = (kind for name in names for kind in ("sig-to-cid", "sig-exists") if kind in name)
    return set(found)


def test_an_epoch_without_the_signature_is_passed_over(tmp_path: Path) -> None:
    published(tmp_path)
    with serving(tmp_path) as server:
        found = history(server.url).transaction(SIGNATURES[1], [1, 2, 0])
        assert found is not None and found.record == block_of_sample()[0].transactions[1]
        assert [asked(server, epoch) for epoch in (0, 1, 2)] == [
            {"sig-exists", "sig-to-cid"},
            {"sig-exists"},
            {"sig-exists"},
        ]


@pytest.mark.parametrize("change", ["none", "missing", "another version"])
def test_where_there_is_no_filter_the_index_is_read(change: str, tmp_path: Path) -> None:
    published(tmp_path, exists=change != "missing")
    if change == "another version":
        for path in tmp_path.glob("*/*sig-exists.index"):
            content = path.read_bytes()
            path.write_bytes(content[:12] + b"\x01" + content[13:])
    with serving(tmp_path) as server:
        found = history(server.url)
        for signature in SIGNATURES:
            one = found.transaction(signature, [1, 0])
            assert one is not None and one.record.signature == signature
        assert found.transaction(bytes(64), [1, 0]) is None
        requests = [path for path, _ in server.requests if "sig-exists" in path]
        if change == "missing":
            assert len(requests) <= 2 * 3, "that it is not there is not asked for each call"


def test_one_epoch_is_read_without_its_filter(tmp_path: Path) -> None:
    published(tmp_path)
    with serving(tmp_path) as server:
        assert history(server.url).transaction(SIGNATURES[0], [0]) is not None
        assert asked(server, 0) == {"sig-to-cid"}


def test_a_filter_of_another_epoch_is_refused(tmp_path: Path) -> None:
    published(tmp_path)
    (own,), (other,) = (tmp_path.glob(f"{each}/*sig-exists.index") for each in (0, 1))
    other.write_bytes(own.read_bytes())
    with pytest.raises(Damaged, match="an index of another epoch"):
        history(f"file://{tmp_path}").transaction(SIGNATURES[0], [1, 0])
    other.write_bytes(b"x" * 100_000)
    with pytest.raises(Damaged, match="not an index of the format bucketteer"):
        history(f"file://{tmp_path}").transaction(SIGNATURES[0], [1, 0])


@settings(max_examples=examples(16))
@given(
    spread=st.sets(st.binary(min_size=64, max_size=64), max_size=60),
    near=st.sets(st.tuples(st.integers(0, 3), st.binary(min_size=62, max_size=62)), max_size=60),
)
def test_it_has_what_was_written_and_hardly_anything_else(
    spread: set[bytes], near: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("filter")
    # Prefixes with many hashes, the first and the last of the table among them.
    close = {bytes([255, 255 if number % 2 else 0]) + rest for number, rest in near}
    written = spread | close | {bytes(64), b"\xff" * 64}
    (folder / "filter").write_bytes(files.filter_file(written, METADATA))
    archive = Archive(f"file://{folder}", timeout_seconds=20, cache_bytes=1 << 20)
    reading = archive.reading()
    found = SignatureFilter("filter", reading)
    assert found.metadata == METADATA
    assert all(found.may_have(each, reading) for each in written)
    others = {each[:2] + each[2:][::-1] for each in written} - written
    assert not any(found.may_have(each, reading) for each in others)


@settings(max_examples=examples(24))
@given(data=st.data())
def test_a_damaged_filter_hides_a_signature_or_is_an_error(
    data: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("archive")
    contents = [*map(files.bare, (BEFORE, PARENT)), block_of_sample()]
    (path,) = files.publish(folder, contents, exists=True).glob("*sig-exists.index")
    files.damaged(
        path, data.draw(st.integers(0, path.stat().st_size - 1)), data.draw(st.integers(0, 7))
    )
    found = history(f"file://{folder}")
    with contextlib.suppress(RemoteFault):
        one = found.transaction(SIGNATURES[0], [0, 7])
        assert one is None or one.record.signature == SIGNATURES[0]
