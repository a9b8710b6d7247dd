"""A backup that was changed, forged or holds links is refused before anything is made of it."""

import contextlib
import hashlib
import json
import os
import shutil
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config.backup.backups import make_backup, restore_localnet, restore_secrets
from config.backup.seals import (
    MANIFEST,
    SIGNATURE,
    BadBackup,
    check_seal,
    files_below,
    seal,
    signing_key,
)
from tests.config.test_backup import manage
from tests.databases import this_database
from tests.examples import examples

KEY = signing_key("a secret of this installation")
FILES = {"tip_seed": b"00" * 32, "database/toc.dat": b"toc", "database/1.dat.gz": b"\0" * 100}


@contextlib.contextmanager
def a_backup() -> Iterator[Path]:
    with TemporaryDirectory(prefix="tidemark-seal-") as folder:
        backup = Path(folder) / "backup"
        write(backup)
        seal(backup, {"made_at": "now"}, KEY)
        yield backup


@pytest.fixture
def backup() -> Iterator[Path]:
    with a_backup() as folder:
        yield folder


def write(folder: Path) -> None:
    (folder / "database").mkdir(parents=True)
    for name, content in FILES.items():
        (folder / name).write_bytes(content)


def seal_again(folder: Path, change: Callable[[dict[str, Any]], None], key: bytes = KEY) -> None:
    """A manifest that says something else, with a signature that fits."""
    manifest = json.loads((folder / MANIFEST).read_text())
    change(manifest)
    (folder / MANIFEST).unlink()
    (folder / SIGNATURE).unlink()
    seal(folder, manifest, key)


def test_what_was_signed_is_taken_by_its_key_alone(backup: Path) -> None:
    found = check_seal(backup, KEY)
    assert found["made_at"] == "now"
    assert found["files"].keys() == FILES.keys()
    assert found["bytes"] == sum(map(len, FILES.values()))
    for name in (MANIFEST, SIGNATURE):
        assert stat.S_IMODE((backup / name).stat().st_mode) == 0o600
    with pytest.raises(BadBackup, match="signed with another key"):
        check_seal(backup, signing_key("another secret"))
    assert check_seal(backup, None) == found


def test_a_backup_without_a_signature_is_taken_only_when_asked(backup: Path) -> None:
    (backup / SIGNATURE).unlink()
    with pytest.raises(BadBackup, match=r"is not signed.*--unsigned"):
        check_seal(backup, KEY)
    assert check_seal(backup, None)["made_at"] == "now"
    (backup / "tip_seed").write_bytes(b"11" * 32)
    with pytest.raises(BadBackup, match="tip_seed is not as it was written"):
        check_seal(backup, None)


@settings(max_examples=examples(60))
@given(
    name=st.sampled_from([*FILES, MANIFEST, SIGNATURE]),
    place=st.floats(0, 1, exclude_max=True),
    bits=st.integers(1, 255),
)
def test_no_byte_can_be_changed(name: str, place: float, bits: int) -> None:
    with a_backup() as folder:
        content = bytearray((folder / name).read_bytes())
        at = int(place * len(content))
        if name == SIGNATURE and chr(content[at]).isspace():
            return  # what separates its words has no meaning
        content[at] ^= bits
        (folder / name).write_bytes(content)
        with pytest.raises(BadBackup):
            check_seal(folder, KEY)


@settings(max_examples=examples(30))
@given(name=st.sampled_from([*FILES, MANIFEST, SIGNATURE]), length=st.floats(0, 1))
def test_no_file_can_be_cut_left_out_or_made_longer(name: str, length: float) -> None:
    for change in ("cut", "longer", "gone"):
        with a_backup() as folder:
            content = (folder / name).read_bytes()
            cut = content[: int(length * (len(content) - 1))]
            (folder / name).unlink()
            if change != "gone":
                (folder / name).write_bytes(cut if change == "cut" else content + b"0")
            with pytest.raises(BadBackup):
                check_seal(folder, KEY)


@pytest.mark.parametrize("name", ["more", "database/more", ".hidden", "signature.before"])
def test_no_file_can_be_added(backup: Path, name: str) -> None:
    (backup / name).write_text("more")
    with pytest.raises(BadBackup, match="is not as it was written"):
        check_seal(backup, KEY)


@pytest.mark.parametrize(
    "manifest",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"files": 7}',
        b'{"files": ["tip_seed"]}',
        b"[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_a_manifest_that_is_none_is_refused_signed_or_not(backup: Path, manifest: bytes) -> None:
    (backup / MANIFEST).write_bytes(manifest)
    for key in (KEY, None):
        with pytest.raises(BadBackup):
            check_seal(backup, key)


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "database/../tip_seed", "", "."])
def test_a_name_that_leads_out_of_the_folder_is_refused(backup: Path, name: str) -> None:
    def lead_out(manifest: dict[str, Any]) -> None:
        manifest["files"][name] = hashlib.sha256(b"00" * 32).hexdigest()

    (backup.parent / "outside").write_bytes(b"00" * 32)
    text = json.loads((backup / MANIFEST).read_text())
    lead_out(text)
    (backup / MANIFEST).write_text(json.dumps(text))
    with pytest.raises(BadBackup, match="is missing"):
        check_seal(backup, None)


def a_symbolic_link(folder: Path) -> None:
    (folder / "tip_seed").rename(folder.parent / "seed")
    (folder / "tip_seed").symlink_to(folder.parent / "seed")


def a_dangling_link(folder: Path) -> None:
    (folder / "more").symlink_to("/nowhere")


def a_folder_elsewhere(folder: Path) -> None:
    (folder / "database").rename(folder.parent / "database")
    (folder / "database").symlink_to(folder.parent / "database")


def a_linked_manifest(folder: Path) -> None:
    (folder / MANIFEST).rename(folder.parent / MANIFEST)
    (folder / MANIFEST).symlink_to(folder.parent / MANIFEST)


def a_linked_signature(folder: Path) -> None:
    (folder / SIGNATURE).rename(folder.parent / SIGNATURE)
    (folder / SIGNATURE).symlink_to(folder.parent / SIGNATURE)


def a_hard_link(folder: Path) -> None:
    (folder.parent / "second").hardlink_to(folder / "tip_seed")


def a_named_pipe(folder: Path) -> None:
    (folder / "tip_seed").unlink()
    os.mkfifo(folder / "tip_seed")


def a_socket(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(folder / "s"))


def a_device(folder: Path) -> None:
    try:
        os.mknod(folder / "zero", stat.S_IFCHR | 0o600, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root makes devices")


def depths_without_end(folder: Path) -> None:
    deep = folder.joinpath(*["d"] * 50)
    deep.mkdir(parents=True)
    (deep / "file").write_text("")


@pytest.mark.parametrize(
    "put",
    [
        a_symbolic_link,
        a_dangling_link,
        a_folder_elsewhere,
        a_linked_manifest,
        a_linked_signature,
        a_hard_link,
        a_named_pipe,
        a_socket,
        a_device,
        depths_without_end,
    ],
)
def test_nothing_but_files_and_folders_is_taken(backup: Path, put: Callable[[Path], None]) -> None:
    put(backup)
    for key in (KEY, None):
        with pytest.raises(BadBackup):
            check_seal(backup, key)
    with pytest.raises(BadBackup):
        list(files_below(backup))


def test_a_file_that_changes_after_the_check_is_not_restored(backup: Path, tmp_path: Path) -> None:
    def name_the_chain(_manifest: dict[str, Any]) -> None:
        (backup / "localnet.sqlite3").write_bytes(b"chain")

    seal_again(backup, name_the_chain)
    manifest = check_seal(backup, KEY)
    (backup / "tip_seed").write_bytes(b"11" * 32)
    (backup / "localnet.sqlite3").unlink()
    (backup / "localnet.sqlite3").symlink_to("/etc/hostname")
    with pytest.raises(BadBackup, match="was changed while it was read"):
        restore_secrets(backup, tmp_path / "run", manifest=manifest, key=KEY)
    with pytest.raises(OSError, match="symbolic link"):
        restore_localnet(backup, tmp_path / "run" / "localnet" / "ledger", manifest=manifest)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_restore_writes_through_no_link_that_lies_in_the_run_directory(
    backup: Path, tmp_path: Path
) -> None:
    run_dir, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    run_dir.mkdir()
    elsewhere.write_text("another's")
    (run_dir / "tip_seed").symlink_to(elsewhere)
    kept = restore_secrets(backup, run_dir, manifest=check_seal(backup, KEY), key=KEY)
    assert kept == ["tip_seed"]
    assert elsewhere.read_text() == "another's"
    assert (run_dir / "tip_seed").read_bytes() == FILES["tip_seed"]
    assert not (run_dir / "tip_seed").is_symlink()
    assert (run_dir / "tip_seed.before").is_symlink()


@pytest.mark.parametrize("name", ["tip_seed", "localnet.sqlite3"])
def test_a_link_in_the_run_directory_is_not_followed_into_a_backup(
    tmp_path: Path, transactional_db: None, name: str
) -> None:
    from django.utils import timezone

    (tmp_path / "elsewhere").write_text("another's")
    (tmp_path / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadBackup, match="is a link"):
        make_backup(
            tmp_path / "backup",
            database_url=this_database(),
            run_dir=tmp_path,
            localnet=tmp_path / "localnet.sqlite3",
            key=KEY,
            jobs=1,
            now=timezone.now(),
        )
    assert not (tmp_path / "backup").exists()


def test_the_command_refuses_before_anything_is_made(backup: Path, tmp_path: Path) -> None:
    run_dir, secret = tmp_path / "run", tmp_path / "secret"
    secret.write_text("a secret of this installation\n")
    (backup / "tip_seed").write_bytes(b"11" * 32)
    for options, words in (
        (("--key-file", str(secret)), "tip_seed is not as it was written"),
        (("--key-file", str(backup / "tip_seed")), "lies in the backup itself"),
        ((), "is signed with another key than this installation's"),
    ):
        refused = manage(run_dir, "restore", str(backup), *options)
        assert refused.returncode != 0 and words in refused.stderr, refused.stderr
        assert "Traceback" not in refused.stderr
        assert not (run_dir / "postgres").exists()
    own = manage(run_dir, "restore", str(backup), BACKUP_KEY_FILE=str(secret))
    assert "tip_seed is not as it was written" in own.stderr
    shutil.rmtree(backup)
    gone = manage(run_dir, "restore", str(backup), "--unsigned")
    assert "is no backup: it has no manifest.json" in gone.stderr
