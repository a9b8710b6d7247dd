"""Where the servers of a run directory listen."""

import os
import stat
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded.addresses import (
    BadDatabaseUrl,
    database_settings,
    database_url,
    embedded_addresses,
    is_embedded,
    needs_short_name,
    short_name,
)

SOCKET_PATH_MAX = 107
FOLDER_NAME = st.text(
    st.characters(blacklist_characters="/\0", blacklist_categories=["Cs"]), min_size=1, max_size=60
).filter(lambda name: name not in {".", ".."})


def test_a_run_directory_holds_both_sockets_and_the_secret_of_their_passwords(
    tmp_path: Path,
) -> None:
    run_dir = tmp_path / "run"
    addresses = embedded_addresses(run_dir)
    database, cache = urlsplit(addresses.database_url), urlsplit(addresses.redis_url)
    assert (database.username, database.path) == ("tidemark", "/tidemark")
    assert database.query == f"host={run_dir}/postgres&port=5432"
    assert (cache.scheme, cache.path, cache.query) == (
        "unix",
        f"{run_dir}/valkey/valkey.sock",
        "db=0",
    )
    assert database.password and cache.password and database.password != cache.password
    assert embedded_addresses(run_dir) == addresses
    assert stat.S_IMODE(run_dir.stat().st_mode) == 0o700
    assert stat.S_IMODE((run_dir / "servers_secret").stat().st_mode) == 0o600
    assert embedded_addresses(tmp_path / "another").database_url != addresses.database_url
    for password in (database.password, cache.password):
        assert password not in repr(addresses)


def test_a_url_is_the_embedded_servers_by_its_folder_alone(tmp_path: Path) -> None:
    found = embedded_addresses(tmp_path).database_url
    assert is_embedded(found, tmp_path)
    assert is_embedded(f"postgresql://tidemark@/tidemark?host={tmp_path}/postgres", tmp_path)
    assert not is_embedded(found, tmp_path / "another")
    assert not is_embedded("postgresql://tidemark@db.example/tidemark", tmp_path)


@given(st.lists(FOLDER_NAME, min_size=1, max_size=8))
def test_the_socket_path_fits_whatever_the_folder_is_called(names: list[str]) -> None:
    run_dir = Path("/", *names)
    folder = database_settings(database_url(run_dir, password="x"))["HOST"]
    assert len(f"{folder}/.s.PGSQL.5432".encode()) <= SOCKET_PATH_MAX
    expected = short_name(run_dir) if needs_short_name(run_dir) else run_dir
    assert folder == str(expected / "postgres")


def test_two_deep_run_directories_have_two_short_names() -> None:
    assert short_name(Path("/a" * 90)) != short_name(Path("/b" * 90))


def test_a_url_with_a_server_and_a_password_is_read_whole() -> None:
    entry = database_settings("postgresql://ada:p%40ss@db.example:6543/ledger?sslmode=require")
    assert entry == {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "ledger",
        "USER": "ada",
        "PASSWORD": "p@ss",
        "HOST": "db.example",
        "PORT": "6543",
        "OPTIONS": {"sslmode": "require"},
    }


@pytest.mark.parametrize(
    "url",
    [
        "mysql://ada@host/ledger",
        "postgresql://ada:secret@host",
        "postgresql://ada:secret@host:port/ledger",
        "ledger",
        "",
    ],
)
def test_a_url_that_names_no_postgresql_database_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(BadDatabaseUrl) as refusal:
        database_settings(url)
    assert "secret" not in str(refusal.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_no_password_is_sent_by_a_link_that_another_account_made(tmp_path: Path) -> None:
    deep = tmp_path / ("deep-" * 30)
    link = short_name(deep)
    link.symlink_to(deep)
    try:
        assert str(link) in embedded_addresses(deep).redis_url
        os.lchown(link, 12_345, 12_345)
        with pytest.raises(PermissionError, match="another account"):
            embedded_addresses(deep)
    finally:
        link.unlink()
