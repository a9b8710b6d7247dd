"""Snapshot archives and account files, made by hand; damaged ones are refused, and only that."""

import base64
import gzip
import io
import json
import struct
import tarfile

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from chain.accounts import AccountWrite
from chain.encodings import b58encode
from chain.lattice import LatticeHash
from tests.examples import examples
from tests.upstream.manifests import manifest
from upstream.archives.account_json import LARGEST_ACCOUNT, accounts_of
from upstream.archives.errors import BadSnapshot
from upstream.archives.snapshots import Snapshot

OWNER = bytes([2]) * 32


def account(number, *, lamports=10, data=b"", version=0, executable=False):
    pubkey = number.to_bytes(32)
    return AccountWrite(pubkey, lamports, OWNER, data, executable, 2**64 - 1, version, None)


def entry(each):
    head = struct.pack(
        "<QQ32sQQ32sB7x32x",
        each.write_version,
        len(each.data),
        each.pubkey,
        each.lamports,
        each.rent_epoch,
        each.owner,
        each.executable,
    )
    return head + each.data + bytes(-len(each.data) % 8)


def tar_of(members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            if content is None:
                info.type = tarfile.DIRTYPE
                tar.addfile(info)
            else:
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def newest(storages):
    """The newest state of each account, as far as they can be read."""
    found = {}
    for _name, content in sorted(storages.items(), key=lambda item: int(item[0].split(".")[0])):
        at = 0
        while at + 136 <= len(content):
            version, length, pubkey, *rest = struct.unpack_from("<QQ32sQQ32sB", content, at)
            lamports, rent_epoch, owner, executable = rest
            data = content[at + 136 : at + 136 + length]
            if executable < 2 and len(data) == length:
                found[pubkey] = AccountWrite(
                    pubkey, lamports, owner, data, executable == 1, rent_epoch, version, None
                )
            at += 136 + length + -length % 8
    return found


def held(*storages):
    """The lamports of all accounts; those of later ones are over those of earlier ones."""
    return sum(each.lamports for each in _over(storages).values()) % 2**64


def lattice(*storages):
    """The lattice hash of the same."""
    return bytes(LatticeHash.of(_over(storages).values()))


def _over(storages):
    found = {}
    for each in storages:
        found |= newest(each)
    return found


def archive(storages, *, slot=100, version=b"1.2.0", told=None, lengths=None):
    """The tar of a snapshot, members as a validator orders them. The manifest is `told`, or one
    that tells the storages' lengths, but for those in `lengths`.
    """
    if told is None:
        whole = {name: len(content) for name, content in storages.items()}
        told = manifest(
            whole | (lengths or {}),
            slot=slot,
            capitalization=held(storages),
            lattice=lattice(storages),
        )
    return tar_of(
        [
            ("version", version),
            ("snapshots/", None),
            (f"snapshots/{slot}/", None),
            (f"snapshots/{slot}/{slot}", told),
            ("snapshots/status_cache", b"a cache"),
            ("accounts/", None),
            *[(f"accounts/{name}", content) for name, content in storages.items()],
        ]
    )


STORAGES = {
    "90.7": entry(account(1, data=b"seven b")) + entry(account(2, lamports=0)),
    "95.8": entry(account(1, lamports=20, executable=True, version=3)),
}
PLAIN = archive(STORAGES)


def read(path):
    with Snapshot(path) as snapshot:
        return snapshot.slot, list(snapshot), snapshot.slot


@pytest.mark.parametrize("pack", [bytes, zstandard.compress, gzip.compress])
def test_every_stored_account_is_read_with_its_slot(tmp_path, pack):
    path = tmp_path / "snapshot"
    path.write_bytes(pack(PLAIN))
    before, stored, slot = read(path)
    assert (before, slot) == (None, 100)
    assert stored == [
        (90, account(1, data=b"seven b")),
        (90, account(2, lamports=0)),
        (95, account(1, lamports=20, executable=True, version=3)),
    ]


def test_where_the_end_is_not_told_zeros_behind_the_last_account_are_it(tmp_path):
    path = tmp_path / "snapshot.tar"
    storages = {"9.1": entry(account(1)) + bytes(4_096), "9.2": b""}
    path.write_bytes(archive(storages, told=b"unknown"))
    assert [each.account for each in read(path)[1]] == [account(1)]


def test_an_account_of_the_largest_size_is_read(tmp_path):
    path = tmp_path / "snapshot.tar"
    big = account(1, data=bytes(range(256)) * (LARGEST_ACCOUNT // 256))
    path.write_bytes(archive({"9.1": entry(big)}))
    assert [each.account for each in read(path)[1]] == [big]


def test_progress_is_told(tmp_path):
    path = tmp_path / "snapshot.tar"
    path.write_bytes(PLAIN)
    told = []
    with Snapshot(path, progress=lambda *at: told.append(at)) as snapshot:
        list(snapshot)
    assert told
    assert {size for _, size in told} == {len(PLAIN)}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no snapshot archive: expected a tar"),
        (b"\x04\x22\x4d\x18" + bytes(99), "lz4 is not read; unpack it first"),
        (b"some text" * 99, "no snapshot archive: expected a tar"),
        (archive({}, version=b"2.0.0"), "version: '2.0.0' is not known; expected '1.2.0'"),
        (
            tar_of([("accounts/9.1", entry(account(1)))]),
            "accounts/9.1: it comes before the version",
        ),
        (tar_of([("readme", b"")]), "there is no version in it"),
        (tar_of([("version", b"1.2.0")]), "the archive has no manifest"),
        (archive({"9.1": entry(account(1))[:-1]}), "byte 0: the storage ends inside an account"),
        (
            archive({"9.1": entry(account(1, data=b"12345678"))[:-8]}),
            "byte 0: the storage ends inside an account",
        ),
        (archive({"9.1": entry(account(1)) + b"\xff" * 200}), "byte 136: no account stands here"),
        (
            archive({"9.1": entry(account(1)) + bytes(136) + b"x"}),
            "byte 136: no account stands here",
        ),
        (
            archive({"9.1": entry(account(1)) + bytes(136) + b"x"}, told=b"unknown"),
            "byte 136: no account stands here",
        ),
        (archive({f"{2**63}.1": b""}, told=b""), "its slot is out of range"),
        (PLAIN[:5_000], "the tar ends"),
        (zstandard.compress(PLAIN)[:-9], "the zstd data ends too early"),
    ],
)
def test_what_is_no_snapshot_is_refused_with_the_place(tmp_path, content, reason):
    path = tmp_path / "snapshot"
    path.write_bytes(content)
    with pytest.raises(BadSnapshot) as refusal:
        read(path)
    assert reason in str(refusal.value)
    assert str(refusal.value).startswith(str(path))


@settings(max_examples=examples(150))
@given(
    at=st.integers(0, len(PLAIN) - 1),
    what=st.binary(min_size=1, max_size=40),
    cut=st.booleans(),
    pack=st.sampled_from([bytes, zstandard.compress]),
)
def test_damage_is_read_or_refused_and_nothing_else(tmp_path, at, what, cut, pack):
    path = tmp_path / "snapshot"
    damaged = PLAIN[:at] + (b"" if cut else what + PLAIN[at + len(what) :])
    path.write_bytes(pack(damaged))
    try:
        for each in read(path)[1]:
            assert len(each.account.pubkey) == 32
    except BadSnapshot:
        pass


def file_of(**changes):
    inner = {
        "lamports": 5,
        "data": [base64.b64encode(b"data").decode(), "base64"],
        "owner": "11111111111111111111111111111111",
        "executable": False,
        "rentEpoch": 2**64 - 1,
        "space": 4,
        **changes,
    }
    return json.dumps({"pubkey": "Vote111111111111111111111111111111111111111", "account": inner})


@pytest.mark.parametrize(
    "data",
    [
        [base64.b64encode(b"data").decode(), "base64"],
        [b58encode(b"data"), "base58"],
        [base64.b64encode(zstandard.compress(b"data")).decode(), "base64+zstd"],
    ],
)
def test_an_account_file_is_one_account(tmp_path, data):
    path = tmp_path / "account.json"
    path.write_text(file_of(data=data))
    (found,) = accounts_of(path)
    assert (found.data, found.lamports, found.rent_epoch) == (b"data", 5, 2**64 - 1)
    assert found.owner == bytes(32)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "truncated"),
        ("[" * 10_000, ""),
        ("{}", "pubkey"),
        (file_of(lamports=-1), "account.lamports: expected a u64"),
        (file_of(rentEpoch=2**64), "account.rent_epoch: expected a u64"),
        (file_of(owner="x"), "account.owner: no pubkey: 'x'"),
        (file_of(data=["!", "base64"]), "account.data: no base64"),
        (file_of(data=["AAAA", "base64+zstd"]), "account.data: no base64+zstd"),
        (file_of(data=["", "hex"]), "account.data: encoding 'hex'"),
    ],
)
def test_what_is_no_account_file_is_refused(tmp_path, text, reason):
    path = tmp_path / "account.json"
    path.write_text(text)
    with pytest.raises(BadSnapshot) as refusal:
        list(accounts_of(path))
    assert reason in str(refusal.value)


def test_a_folder_gives_every_account_below_it_and_none_twice(tmp_path):
    with pytest.raises(BadSnapshot, match=r"there is no \.json file"):
        list(accounts_of(tmp_path))
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "one.json").write_text(file_of())
    assert len(list(accounts_of(tmp_path))) == 1
    (tmp_path / "two.json").write_text(file_of())
    with pytest.raises(BadSnapshot, match=r"is in .*one\.json already"):
        list(accounts_of(tmp_path))


def test_real_account_files_are_read(fixtures):
    found = list(accounts_of(fixtures / "accounts" / "sanctum-infinity"))
    assert len(found) == 41
    assert all(each.lamports > 0 for each in found)
