"""Where the servers of a run directory listen."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded.addresses import (
    BadDatabaseUrl,
    database_settings,
    embedded_addresses,
    needs_short_name,
    short_name,
)

SOCKET_PATH_MAX = 107
FOLDER_NAME = st.text(
    st.characters(blacklist_characters="/\0", blacklist_categories=["Cs"]), min_size=1, max_size=60
).filter(lambda name: name not in {".", ".."})


def test_a_run_directory_holds_both_sockets() -> None:
    addresses = embedded_addresses(Path("/srv/tidemark/.run"))
    assert addresses.database_url == (
        "postgresql://tidemark@/tidemark?host=/srv/tidemark/.run/postgres&port=5432"
    )
    assert addresses.redis_url == "unix:///srv/tidemark/.run/valkey/valkey.sock?db=0"


@given(st.lists(FOLDER_NAME, min_size=1, max_size=8))
def test_the_socket_path_fits_whatever_the_folder_is_called(names: list[str]) -> None:
    run_dir = Path("/", *names)
    folder = database_settings(embedded_addresses(run_dir).database_url)["HOST"]
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
