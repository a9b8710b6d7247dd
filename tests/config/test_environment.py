"""Settings from the environment: what makes no sense stops the start, by name."""

import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from config.environment.env import BadEnvironment
from embedded.addresses import BadDatabaseUrl
from tests import forked_commands

HASH = "11111111111111111111111111111112"
ROOT = Path(__file__).resolve().parent.parent.parent


def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, **variables: str) -> dict[str, Any]:
    """All settings, read anew in this process: one of its own takes a second."""
    for name in ("DATABASE_URL", "REDIS_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TIDEMARK_RUN_DIR", str(tmp_path / "run"))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return runpy.run_path(str(ROOT / "platform" / "config" / "settings.py"))


def check(tmp_path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return manage("check", tmp_path, **variables)


def manage(command: str, tmp_path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return forked_commands.run([command], environment=environment(tmp_path, **variables))


def environment(tmp_path: Path, **variables: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {**kept, "TIDEMARK_RUN_DIR": str(tmp_path / "run"), **variables}


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("MAX_BATCH", "many", "MAX_BATCH='many': expected a whole number"),
        ("MAX_BODY", "1", "MAX_BODY=1: expected 4096 to"),
        ("DEBUG", "perhaps", "DEBUG='perhaps': expected true or false"),
        ("LOG_LEVEL", "loud", "LOG_LEVEL='loud': expected DEBUG, INFO"),
        ("LOCK_TIMEOUT_MS", "20000", "expected less than STATEMENT_TIMEOUT_MS"),
        ("DATABASE_URL", "sqlite:///here", "DATABASE_URL: expected postgresql://"),
        ("DATABASE_URL", "postgres//ada:sekret@host/name", "DATABASE_URL: expected postgresql://"),
        ("DATABASE_URL", "postgresql://ada:sekret", "DATABASE_URL: expected postgresql://"),
        ("DATABASE_URL", "postgresql:ada:sekret@host/name", "DATABASE_URL: expected postgresql://"),
        ("DATABASE_URL", "postgresql://[ada:sekret@host/name", "DATABASE_URL: expected"),
        ("REDIS_URL", "http://ada:sekret@host", "REDIS_URL: expected redis://"),
        ("REDIS_URL", "redis://:sekret", "REDIS_URL: expected redis://"),
        ("REDIS_URL", "redis://host/sekret", "REDIS_URL: expected redis://"),
        ("REDIS_URL", "unix://", "REDIS_URL: expected redis://"),
        ("TRUSTED_PROXIES", "10.0.0.0/99", "TRUSTED_PROXIES: '10.0.0.0/99' does not appear"),
        ("TRUSTED_PROXIES", "10.0.0.1,proxy", "TRUSTED_PROXIES: 'proxy' does not appear"),
        ("DOMAIN", "https://example.com", "DOMAIN='https://example.com': expected a host name"),
        ("DOMAIN", "exam ple.com", "DOMAIN='exam ple.com': expected a host name"),
        ("DOMAIN", ".example.com", "DOMAIN='.example.com': expected a host name"),
        ("ALLOWED_HOSTS", ",", "ALLOWED_HOSTS=',': expected a comma-separated list"),
        ("ALLOWED_HOSTS", "a.example,https://b.example", "ALLOWED_HOSTS='https://b.example'"),
        ("ALLOWED_HOSTS", "[::1", "ALLOWED_HOSTS='[::1'"),
        ("CSRF_TRUSTED_ORIGINS", "admin.example", "CSRF_TRUSTED_ORIGINS='admin.example'"),
        ("CSRF_TRUSTED_ORIGINS", "https://a.example/x", "CSRF_TRUSTED_ORIGINS='https://a.ex"),
        ("CSRF_TRUSTED_ORIGINS", "https://", "CSRF_TRUSTED_ORIGINS='https://'"),
        ("LOCALNET", "perhaps", "LOCALNET='perhaps': expected true or false"),
        ("LOCALNET_RPC_PORT", "65535", "LOCALNET_RPC_PORT=65535: expected 1 to 65534"),
        ("UPSTREAM_RPC_URL", "ws://sekret@host", "UPSTREAM_RPC_URL: expected http://host:port"),
        ("UPSTREAM_GEYSER_URL", "host:10000", "UPSTREAM_GEYSER_URL: expected http://host:port"),
        ("UPSTREAM_GEYSER_URL", "http://a:1,sekret", "UPSTREAM_GEYSER_URL: expected http://host"),
        ("UPSTREAM_GEYSER_TOKEN", "a,sekret", "UPSTREAM_GEYSER_TOKEN: expected one token, or"),
        ("FILL_RPC_URLS", "http://a,sekret", "FILL_RPC_URLS: expected http://host:port"),
        ("PROXY_TIMEOUT_SECONDS", "0", "PROXY_TIMEOUT_SECONDS=0: expected 1 to 300"),
        ("OIDC_CLIENT_SECRET", "sekret", "OIDC_ISSUER and OIDC_CLIENT_ID: expected, as"),
        ("OIDC_ISSUER", "https://login.example", "OIDC_CLIENT_ID and OIDC_CLIENT_SECRET: expected"),
        ("OIDC_ISSUER", "http://login.example", "OIDC_ISSUER: expected https://"),
        ("OIDC_ISSUER", "ftp://sekret@login.example", "OIDC_ISSUER: expected http://host:port"),
        ("OIDC_STAFF_GROUPS", "ops=root", "OIDC_STAFF_GROUPS='ops=root': expected GROUP=ROLE"),
        ("OIDC_STAFF_GROUPS", "operator", "OIDC_STAFF_GROUPS='operator': expected GROUP=ROLE"),
        ("OIDC_STAFF_GROUPS", " =operator", "OIDC_STAFF_GROUPS='=operator': expected GROUP=ROLE"),
        ("OIDC_STAFF_GROUPS", "ops=viewer, ops = operator", "expected the group 'ops' once"),
        ("OIDC_SCOPES", "openid,email", "OIDC_SCOPES='openid,email': expected openid and other"),
        ("OIDC_SCOPES", "email groups", "OIDC_SCOPES='email groups': expected openid and other"),
        ("OIDC_ISSUER", "https://ada:sekret@a.example", "OIDC_ISSUER: expected https://host/path"),
        ("OIDC_ISSUER", "https://a.example/?a=sekret", "OIDC_ISSUER: expected https://host/path"),
        (
            "OIDC_ISSUER",
            "https://a.example/.well-known/openid-configuration",
            "OIDC_ISSUER: expected https://host/path, without /.well-known/",
        ),
        ("ARCHIVE_PROOF_TRUST", f"7:{HASH},7:{HASH}", "ARCHIVE_PROOF_TRUST: expected the slot 7"),
    ],
)
def test_a_value_that_makes_no_sense_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, value: str, words: str
) -> None:
    with pytest.raises((BadEnvironment, BadDatabaseUrl)) as refused:
        settings(monkeypatch, tmp_path, **{name: value})
    assert words in str(refused.value)
    assert "sekret" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("MAX_BATCH", "many", "BadEnvironment: MAX_BATCH='many': expected a whole number"),
        ("DATABASE_URL", "sqlite:///sekret", "BadDatabaseUrl: DATABASE_URL: expected postgresql:/"),
        ("REDIS_URL", "redis://:sekret", "BadEnvironment: REDIS_URL: expected redis://"),
    ],
)
def test_a_command_names_it_without_a_traceback(
    tmp_path: Path, name: str, value: str, words: str
) -> None:
    # Executed: this is also what a shell gets before anything is loaded.
    answer = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=ROOT,
        env=environment(tmp_path, **{name: value}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode != 0
    assert answer.stderr.startswith(words)
    assert len(answer.stderr.splitlines()) == 1
    assert "sekret" not in answer.stderr


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("WEB_WORKERS", "0", "WEB_WORKERS=0: expected 1 to"),
        ("WEB_THREADS", "many", "WEB_THREADS='many': expected a whole number"),
        ("WORKER_PROCESSES", "-1", "WORKER_PROCESSES=-1: expected 1 to"),
        ("WORKER_PROCESSES", "100000", "WORKER_PROCESSES=100000: expected 1 to"),
        ("PORT", "70000", "PORT=70000: expected 1 to 65535"),
        ("HOST", "192.0.2.77", "HOST='192.0.2.77': expected an address of this machine"),
        ("HOST", "[::1]", "HOST='[::1]': expected an address of this machine"),
        ("HOST", "localhost", "HOST='localhost': expected an address of this machine"),
    ],
)
def test_a_run_that_makes_no_sense_ends_before_anything_starts(
    tmp_path: Path, name: str, value: str, words: str
) -> None:
    answer = manage("run", tmp_path, **{name: value})
    assert answer.returncode != 0
    assert words in answer.stderr
    assert len(answer.stderr.splitlines()) == 1
    assert "PORT=" not in answer.stderr or name == "PORT"
    assert not (tmp_path / "run" / "postgres").exists()


SENSE = (
    ("REDIS_URL", "redis://host"),
    ("REDIS_URL", "rediss://ada:pass@host:6380/3"),
    ("REDIS_URL", "unix:///run/valkey.sock?db=1"),
    ("DATABASE_URL", "postgres://ada:p%40ss@host:5432/name?sslmode=require"),
    ("TRUSTED_PROXIES", "10.0.0.0/8, 2001:db8::1,"),
    ("DOMAIN", "Example.com"),
    ("ALLOWED_HOSTS", "*"),
    ("ALLOWED_HOSTS", ".example.com,10.1.2.3,[::1],rpc_1"),
    ("CSRF_TRUSTED_ORIGINS", "https://*.example.com,http://localhost:8000,https://[::1]:443"),
)


@pytest.mark.parametrize(("name", "value"), SENSE)
def test_a_value_that_makes_sense_is_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, value: str
) -> None:
    assert settings(monkeypatch, tmp_path, **{name: value})["INSTALLED_APPS"]


def test_the_checks_have_nothing_against_what_makes_sense(tmp_path: Path) -> None:
    answer = check(tmp_path, **dict(SENSE))
    assert answer.returncode == 0, answer.stderr


def test_the_secret_key_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    assert check(tmp_path).returncode == 0
    path = tmp_path / "run" / "secret_key"
    first = path.read_text()
    assert len(first) >= 50
    assert path.stat().st_mode & 0o777 == 0o600
    assert check(tmp_path).returncode == 0
    assert path.read_text() == first


def test_secrets_from_the_environment_leave_no_file(tmp_path: Path) -> None:
    secrets = {"SECRET_KEY": "k" * 60, "TIP_SECRET_SEED": "5d" * 32}
    servers = {"DATABASE_URL": "postgresql://ada@host/name", "REDIS_URL": "redis://host"}
    assert check(tmp_path, **secrets, **servers).returncode == 0
    assert not (tmp_path / "run").exists()


def test_a_command_without_a_database_says_what_is_missing(tmp_path: Path) -> None:
    answer = manage("migrate", tmp_path)
    assert answer.returncode != 0
    assert "does `make run` run?" in answer.stderr
    assert "Traceback" not in answer.stderr


def settings_of(monkeypatch: pytest.MonkeyPatch, **variables: str) -> dict[str, Any]:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return runpy.run_path(str(ROOT / "platform" / "config" / "settings.py"))


def test_remote_history_is_named_by_an_address_a_network_and_epochs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = settings_of(
        monkeypatch,
        OLD_FAITHFUL_URL="s3://a-bucket/epochs/",
        OLD_FAITHFUL_NETWORK="Testnet",
        OLD_FAITHFUL_SIGNATURE_EPOCHS="0-2, 7,1",
        OLD_FAITHFUL_CACHE_MB="1",
    )
    assert found["OLD_FAITHFUL_URL"] == "s3://a-bucket/epochs"
    assert found["OLD_FAITHFUL_NETWORK"] == "testnet"
    assert found["OLD_FAITHFUL_SIGNATURE_EPOCHS"] == (7, 2, 1, 0)
    assert found["OLD_FAITHFUL_CACHE_BYTES"] == 1_048_576


def test_banks_that_the_operator_vouches_for_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    found = settings_of(monkeypatch, ARCHIVE_PROOF_TRUST=f"12:{HASH}, 7:{HASH}")
    assert found["ARCHIVE_PROOF_TRUST"] == {12: bytes(31) + b"\x01", 7: bytes(31) + b"\x01"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            ("OLD_FAITHFUL_URL", each)
            for each in ("ftp://host", "a-host", "file://", "s3://", "/x")
        ),
        ("OLD_FAITHFUL_URL", "https://secret-token@:x"),
        ("OLD_FAITHFUL_NETWORK", "localnet"),
        *(("OLD_FAITHFUL_SIGNATURE_EPOCHS", each) for each in ("a", "1-", "-3", "0-64", "1.5")),
        ("OLD_FAITHFUL_TIMEOUT_SECONDS", "0"),
        ("LEDGER_SEAL_SLOTS", "100"),
        ("ARCHIVE_SEALING_PERCENT", "101"),
        *(("ARCHIVE_PROOF_TRUST", each) for each in ("12", "12:x", f"x:{HASH}", f"-1:{HASH}")),
    ],
)
def test_old_slots_settings_that_cannot_be_meant_stop_the_start(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BadEnvironment, match=name) as caught:
        settings_of(monkeypatch, **{name: value})
    assert "secret" not in str(caught.value)
