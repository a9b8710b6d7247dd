"""A snapshot's manifest: the live lengths in it, what contradicts them, and damage."""

import io
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.upstream.manifests import MIDDLE, NEW, OLD, manifest
from tests.upstream.test_snapshots import STORAGES, account, archive, entry, tar_of
from upstream.archives.bincode import Bincode, Misfit
from upstream.archives.errors import BadSnapshot
from upstream.archives.snapshot_manifest import read_manifest
from upstream.archives.snapshots import Snapshot

AGES = pytest.mark.parametrize("age", [OLD, MIDDLE, NEW], ids=["old", "middle", "new"])
LENGTHS = {"90.7": 288, "95.8": 136, "95.9": 0, "100.4294967296": 2**34}
TOLD = manifest(LENGTHS, age=MIDDLE)
TRUE = [
    (90, account(1, data=b"seven b")),
    (90, account(2, lamports=0)),
    (95, account(1, lamports=20, executable=True, version=3)),
]


def lengths_in(told, slot=100):
    return read_manifest(io.BytesIO(told), len(told), slot).lengths


@AGES
def test_each_storages_length_is_read(age):
    assert lengths_in(manifest(LENGTHS, age=age)) == {
        (90, 7): 288,
        (95, 8): 136,
        (95, 9): 0,
        (100, 2**32): 2**34,
    }


def test_a_manifest_may_name_no_storage():
    assert lengths_in(manifest({}, slot=0), slot=0) == {}


@AGES
def test_a_manifest_cut_before_its_extras_is_refused(age):
    whole = manifest(LENGTHS, age=age)
    end = whole.index(struct.pack("<5Q", 5, 4, 3, 2, 1)) + 40
    for cut in range(end):
        with pytest.raises(Misfit):
            lengths_in(whole[:cut])
    assert lengths_in(whole[:end]) == lengths_in(whole)


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (b"", "byte 0: it ends, and 8 more bytes are expected"),
        (manifest({}, bank_slot=99), "the bank's slot is given as 99, not 100"),
        (manifest({}, database_slot=7), "the accounts database's slot is given as 7, not 100"),
        (manifest({}, parent_slot=101), "the parent of slot 100 is given as 101"),
        (manifest({"101.1": 8}), "a storage of slot 101, which comes later"),
        (manifest({"9.1": 8, "09.1": 8}), "a storage named twice, or of 8 bytes"),
        (manifest({"9.1": 2**34 + 8}), f"a storage named twice, or of {2**34 + 8} bytes"),
        (bytes(8) + b"\x02" + TOLD, "byte 9: 2 where 0 or 1 is expected"),
        (bytes(9) + b"\xff" * 8, f"byte 17: a list of {2**64 - 1}, longer than what is left"),
    ],
)
def test_what_is_no_manifest_of_this_slot_is_told(told, reason):
    with pytest.raises(Misfit) as misfit:
        lengths_in(told)
    assert reason in str(misfit.value)


def test_a_vote_account_beyond_any_accounts_size_is_refused():
    data = b"\x01\x00\x00\x00" + bytes(range(1, 250))
    head = struct.pack("<Q", len(data)) + data
    assert head in TOLD
    big = TOLD.replace(head, struct.pack("<Q", 11 << 20) + bytes(11 << 20))
    with pytest.raises(Misfit, match=f"a vote account of {11 << 20} bytes"):
        lengths_in(big)


def test_a_source_that_ends_before_its_size_is_a_misfit():
    with pytest.raises(Misfit, match="it ends too early"):
        Bincode(io.BytesIO(bytes(9)), 100).skip(10)


@settings(max_examples=examples(300))
@given(
    at=st.integers(0, len(TOLD) - 1),
    what=st.binary(min_size=1, max_size=24) | st.just(b"\xff" * 8),
    cut=st.booleans(),
)
def test_damage_is_read_or_a_misfit_and_nothing_else(at, what, cut):
    try:
        lengths = lengths_in(TOLD[:at] + (b"" if cut else what + TOLD[at + len(what) :]))
    except Misfit:
        return
    assert all(slot <= 100 and length <= 2**34 for (slot, _), length in lengths.items())


@given(st.binary(max_size=600))
def test_any_bytes_are_a_misfit(told):
    with pytest.raises(Misfit):
        lengths_in(told)


def open_(tmp_path, content):
    path = tmp_path / "snapshot.tar"
    path.write_bytes(content)
    with Snapshot(path) as snapshot:
        return list(snapshot), snapshot.warning


RUBBISH = b"\xff" * 200
HALF = {"90.7": STORAGES["90.7"] + entry(account(3))[:-9], "95.8": STORAGES["95.8"] + RUBBISH}
LIVE = {name: len(content) for name, content in STORAGES.items()}


@AGES
def test_what_is_behind_the_live_length_is_passed_over(tmp_path, age):
    content = archive(HALF, told=manifest(LIVE, age=age))
    assert open_(tmp_path, content) == (TRUE, None)


def test_an_account_behind_the_live_length_is_no_account(tmp_path):
    two = entry(account(1)) + entry(account(2))
    stored, _ = open_(tmp_path, archive({"9.1": two}, lengths={"9.1": 136}))
    assert stored == [(9, account(1))]


def test_a_live_length_may_end_with_the_data_of_the_last_account(tmp_path):
    odd = entry(account(1, data=b"12345"))
    for length in range(141, 145):
        stored, warning = open_(tmp_path, archive({"9.1": odd}, lengths={"9.1": length}))
        assert (stored, warning) == ([(9, account(1, data=b"12345"))], None)


def test_a_storage_of_no_live_bytes_is_empty(tmp_path):
    assert open_(tmp_path, archive({"9.1": RUBBISH}, lengths={"9.1": 0})) == ([], None)


def test_without_a_known_manifest_the_files_lengths_count_and_it_is_said(tmp_path):
    stored, warning = open_(tmp_path, archive(STORAGES, told=b"a manifest"))
    assert stored == TRUE
    assert warning == (
        "the manifest cannot be followed (byte 9: 115 where 0 or 1 is expected); each storage is"
        " read to the end of its file"
    )
    with pytest.raises(BadSnapshot, match=r"accounts/95\.8, byte 136: no account stands here"):
        open_(tmp_path, archive({"95.8": HALF["95.8"]}, told=b"a manifest"))


def test_where_the_manifest_names_no_storages_each_ends_where_its_file_ends(tmp_path):
    path = tmp_path / "snapshot.tar"
    path.write_bytes(archive(STORAGES, told=manifest({})))
    with Snapshot(path) as snapshot:
        assert (list(snapshot), snapshot.warning) == (TRUE, None)
        assert snapshot.manifest is not None
        assert (snapshot.names_storages, snapshot.is_whole) == (False, False)
    for name, reason in (
        ("90.7", r"90\.7, byte 280: the storage ends inside an account"),
        ("95.8", r"95\.8, byte 136: no account stands here"),
    ):
        with pytest.raises(BadSnapshot, match=reason):
            open_(tmp_path, archive({**STORAGES, name: HALF[name]}, told=manifest({})))


def test_a_manifest_behind_the_storages_is_not_followed(tmp_path):
    members = [("version", b"1.2.0"), *((f"accounts/{name}", STORAGES[name]) for name in STORAGES)]
    late = tar_of([*members, ("snapshots/100/100", manifest(LIVE))])
    stored, warning = open_(tmp_path, late)
    assert stored == TRUE
    assert "it comes after the first storage" in warning


def test_an_incremental_archive_may_lack_the_storages_below_its_own(tmp_path):
    content = archive(STORAGES, lengths={"0.1": 136, "89.6": 272})
    assert open_(tmp_path, content) == (TRUE, None)


@pytest.mark.parametrize(
    ("content", "is_whole"),
    [
        (archive(STORAGES, told=manifest(LIVE)), True),
        (archive(STORAGES, lengths={"89.6": 272}), False),
        (archive(STORAGES, told=b"a manifest"), False),
    ],
)
def test_an_archive_is_whole_when_all_came_that_its_manifest_names(tmp_path, content, is_whole):
    path = tmp_path / "snapshot.tar"
    path.write_bytes(content)
    with Snapshot(path) as snapshot:
        assert not snapshot.is_whole
        assert list(snapshot)
        assert snapshot.is_whole is is_whole


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            archive(STORAGES, lengths={"91.2": 8}),
            "accounts/91.2: the archive is without it, and 1 stor",
        ),
        (archive({}, lengths={"91.2": 8}), "accounts/91.2: the archive is without it"),
        (archive({"0.1": b""}, lengths={"91.2": 8}), "accounts/91.2: the archive is without it"),
        (archive(STORAGES, lengths={"90.7": 8}), "90.7, byte 0: no account stands here"),
        (archive(STORAGES, told=manifest({"95.8": 136})), "accounts/90.7: the manifest does not"),
        (
            archive(STORAGES, lengths={"90.7": 281}),
            "it has 280 bytes where the manifest declares 281",
        ),
        (archive(STORAGES, lengths={"90.7": 140}), "90.7, byte 0: the storage ends inside an acc"),
        (archive(STORAGES, lengths={"90.7": 145}), "90.7, byte 144: no account stands here"),
        (archive(STORAGES, lengths={"90.7": 279}), "byte 144: the storage ends inside an account"),
        (
            archive({"9.1": entry(account(1)) + bytes(136)}),
            "9.1, byte 136: no account stands here",
        ),
        (
            tar_of([("version", b"1.2.0"), *[("snapshots/7/7", manifest({}, slot=7))] * 2]),
            "snapshots/7/7: there is another manifest before it",
        ),
        (
            tar_of(
                [
                    ("version", b"1.2.0"),
                    ("snapshots/100/100", manifest({"9.1": 136})),
                    *[("accounts/9.1", entry(account(1)))] * 2,
                ]
            ),
            "accounts/9.1: the manifest does not name it, or it came before",
        ),
    ],
)
def test_an_archive_that_contradicts_its_manifest_is_refused(tmp_path, content, reason):
    with pytest.raises(BadSnapshot) as refusal:
        open_(tmp_path, content)
    assert reason in str(refusal.value)


@settings(max_examples=examples(200))
@given(
    at=st.integers(0, len(manifest(LIVE)) - 1),
    what=st.binary(min_size=1, max_size=24),
    cut=st.booleans(),
)
def test_a_damaged_manifest_never_gives_an_account_that_is_none(tmp_path, at, what, cut):
    whole = manifest(LIVE)
    told = whole[:at] + (b"" if cut else what + whole[at + len(what) :])
    try:
        stored, _ = open_(tmp_path, archive(HALF, told=told))
    except BadSnapshot:
        return
    assert [each for each in TRUE if each in stored] == stored
