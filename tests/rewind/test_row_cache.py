"""What a process remembers of large rows."""

from collections.abc import Iterator

import pytest

from columns.packed_data import pack
from rewind.accounts.store import row_cache
from rewind.accounts.store.row_cache import Version

VERSION = Version(1, 0, 1)


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    row_cache.forget()
    yield
    row_cache.forget()


def test_data_that_pack_well_are_remembered_too() -> None:
    """Else their account is made anew for each run, and sent to the engine again."""
    packed = pack(bytes(20_488))
    assert len(packed) < 512
    kept = row_cache.keep(b"a" * 32, VERSION, packed)
    assert kept is not None and row_cache.known(b"a" * 32) is kept
    assert row_cache.keep(b"b" * 32, VERSION, pack(bytes(511))) is None


def test_memory_is_bounded_by_the_accounts_and_not_by_what_they_pack_to() -> None:
    for number in range(20):
        row_cache.keep(bytes([number]) * 32, VERSION, pack(bytes(10 * 1024 * 1024)))
    known = [number for number in range(20) if row_cache.known(bytes([number]) * 32) is not None]
    assert known == list(range(14, 20))  # six of 10 MiB in 64 MiB


def test_the_row_that_was_read_last_takes_the_place_of_the_former() -> None:
    key = b"a" * 32
    former = row_cache.keep(key, VERSION, pack(bytes(600)))
    newer = row_cache.keep(key, Version(2, 0, 2), pack(bytes(700)))
    assert former is not None and newer is not None
    assert row_cache.known(key) is newer
