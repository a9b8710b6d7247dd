"""manage.py doctor: real faults of a real installation, each said with what to do."""

import contextlib
import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import redis
from solders.keypair import Keypair

from embedded.addresses import embedded_addresses
from embedded.programs import wheel_programs
from embedded.servers import start_servers, stop_servers
from tests import forked_commands
from tests.databases import this_database
from tests.engines import postgres
from tests.forged_provider import forged_provider
from tests.localnet_process import Localnet, free_addresses, free_ports
from tests.subscriptions.conftest import localnet

__all__ = ["localnet"]
pytestmark = pytest.mark.django_db(transaction=True)


class Said:
    """What doctor said: by area, and the status."""

    def __init__(self, finished: subprocess.CompletedProcess[str]) -> None:
        self.status = finished.returncode
        self.text = finished.stdout
        self.found = json.loads(finished.stdout)

    def of(self, level: str, area: str = "") -> list[str]:
        """The texts with their advice, of all areas or of one."""
        return [
            f"{each['text']} → {each['advice']}"
            for one in self.found["areas"]
            for each in one["findings"]
            if each["level"] == level and area in ("", one["name"])
        ]

    def has(self, level: str, *words: str) -> bool:
        return any(all(word in text for word in words) for text in self.of(level))


Doctor = Callable[..., Said]


@pytest.fixture(scope="module")
def durable_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a Valkey that keeps what it is given, as `make run` starts it."""
    run_dir = tmp_path_factory.mktemp("durable")
    servers = start_servers(run_dir, postgres=False)
    try:
        yield embedded_addresses(run_dir).redis_url
    finally:
        stop_servers(servers)


@pytest.fixture
def doctor(tmp_path: Path, durable_redis: str) -> Doctor:
    """`doctor(NAME=value)` runs the command on this test's database with these settings more."""
    run_dir = tmp_path / "run"
    run_dir.mkdir(mode=0o700)

    def run(**settings: str) -> Said:
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        environment = {
            **kept,
            "TIDEMARK_RUN_DIR": str(run_dir),
            "DATABASE_URL": this_database(),
            "REDIS_URL": durable_redis,
            "LOCALNET": "false",
            **free_addresses(),
            **settings,
        }
        return Said(forked_commands.run(["doctor", "--json"], environment=environment))

    return run


def _followed(localnet: Localnet) -> dict[str, str]:
    return {"UPSTREAM_RPC_URL": localnet.url, "UPSTREAM_GEYSER_URL": localnet.geyser_url}


def _upstreams(localnet: Localnet) -> None:
    """Every kind, by its address; the block engine by JSON-RPC and by gRPC."""
    from priority.upstreams.models import Upstream

    Upstream.objects.all().delete()
    Upstream.objects.create(name="leaders", kind=Upstream.Kind.LEADERS)
    Upstream.objects.create(name="node", kind=Upstream.Kind.NODE, url=localnet.url)
    engine = Upstream.Kind.BLOCK_ENGINE
    Upstream.objects.create(name="engine", kind=engine, url=localnet.block_engine_url)
    Upstream.objects.create(name="searcher", kind=engine, url=f"grpc://{localnet.searcher_address}")


def test_what_is_well_is_said_to_be(doctor: Doctor, localnet: Localnet) -> None:
    _upstreams(localnet)
    said = doctor(**_followed(localnet))
    # The suite's own server is made to be fast, and may lose what it has.
    errors = [text for text in said.of("error") if " = off: a crash of the machine" not in text]
    assert not errors and said.found["errors"] == len(said.of("error")) <= 2
    for area, words in {
        "PostgreSQL": "All migrations are applied",
        "Redis": "Valkey",
        "Chain": "answers: version",
        "Clocks": "PostgreSQL's clock agrees",
        "Disk": "are free for",
        "Limits": "The ports of the service are free",
    }.items():
        assert any(words in text for text in said.of("ok", area)), (area, said.text)
    assert any("stream of 127.0.0.1" in text for text in said.of("ok", "Chain"))
    answering = " ".join(said.of("ok", "Upstreams"))
    assert all(f"upstream {name} answers" in answering for name in ("leaders", "node"))
    assert "engine answers: " in answering and "searcher answers: " in answering


def test_the_text_says_the_same_and_what_to_do(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "TIDEMARK_RUN_DIR": str(tmp_path / "run")}
    environment |= free_addresses()
    found = forked_commands.run(["doctor", "--quiet"], environment=environment)
    assert found.returncode == 1
    assert "  ERROR    PostgreSQL does not answer" in found.stdout
    assert "→ It is the embedded one, which runs only with `make run`" in found.stdout
    assert "  ok " not in found.stdout and "2 errors" in found.stdout.splitlines()[-1]


def test_a_wrong_password_and_a_missing_database_are_told_apart(doctor: Doctor) -> None:
    right = this_database()
    password = right.split(":")[2].split("@")[0]
    said = doctor(DATABASE_URL=right.replace(password, "not-the-password"))
    assert said.status == 1 and "not-the-password" not in said.text
    assert said.has("error", "refuses the password", "password, or the user, in DATABASE_URL")
    name = right.split("/")[3].split("?")[0]
    said = doctor(DATABASE_URL=right.replace(f"/{name}?", "/nowhere?"))
    assert said.has("error", "does not have this database", "CREATE DATABASE")
    said = doctor(DATABASE_URL=f"postgresql://a:b@127.0.0.1:{free_ports(1)[0]}/tidemark")
    assert said.has("error", "PostgreSQL does not answer", "host and port of DATABASE_URL")
    assert said.has("note", "Checks of nodes, streams and upstreams were skipped", "Fix that first")


def test_a_database_without_page_checksums_is_warned_of(doctor: Doctor) -> None:
    assert not doctor().has("warning", "page checksums")
    with postgres(wheel_programs().initdb.parent, "--no-data-checksums") as server:
        said = doctor(DATABASE_URL=server.url())
    assert said.has("warning", "no page checksums", "pg_checksums --enable")


@contextlib.contextmanager
def _migration(change: str, undo: str) -> Iterator[None]:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(change)
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(undo)


def test_migrations_that_are_missing_too_old_or_of_a_newer_version_are_named(
    doctor: Doctor,
) -> None:
    row = "app = 'operations' AND name = '0001_samples_and_alarms'"
    missing = _migration(
        f"DELETE FROM django_migrations WHERE {row}",
        "INSERT INTO django_migrations (app, name, applied) VALUES"
        " ('operations', '0001_samples_and_alarms', now())",
    )
    with missing:
        said = doctor()
    assert said.status == 1
    text = "1 migration is not applied: operations.0001_samples_and_alarms"
    assert said.has("error", text, "manage.py migrate")
    newer = _migration(
        "INSERT INTO django_migrations (app, name, applied) VALUES"
        " ('operations', '9999_of_later', now())",
        "DELETE FROM django_migrations WHERE name = '9999_of_later'",
    )
    with newer:
        said = doctor()
    assert said.has("error", "operations.9999_of_later", "newer version", "restore the backup")
    rename = "UPDATE django_migrations SET name = '{}' WHERE app = 'access' AND name = '{}'"
    old, last = "0009_stream_limits", "0011_kinds_of_calls"
    later = "app = 'access' AND name >= '0012'"
    gone = f"UPDATE django_migrations SET app = 'gone' WHERE {later}"
    back = "UPDATE django_migrations SET app = 'access' WHERE app = 'gone'"
    with _migration(gone, back), _migration(rename.format(old, last), rename.format(last, old)):
        said = doctor()
    assert said.has("error", f"too old to upgrade from: access is at {old}", "Check out commit")


def test_who_does_not_answer_is_named_without_its_key(doctor: Doctor, localnet: Localnet) -> None:
    from priority.upstreams.models import Upstream

    _upstreams(localnet)
    node, stream, engine = free_ports(3)
    Upstream.objects.filter(name="searcher").update(url=f"grpc://127.0.0.1:{engine}")
    key = "0123456789abcdef0123456789abcdef"
    Upstream.objects.filter(name="engine").update(url=f"http://127.0.0.1:{engine}/{key}")
    Upstream.objects.create(
        name="mistyped", kind=Upstream.Kind.BLOCK_ENGINE, url=f"grpc://127.0.0.1/{key}"
    )
    said = doctor(
        UPSTREAM_RPC_URL=localnet.url,
        FILL_RPC_URLS=f"{localnet.url},http://127.0.0.1:{node}/{key}",
        UPSTREAM_GEYSER_URL=f"{localnet.geyser_url},http://127.0.0.1:{stream}/{key}",
        UPSTREAM_GEYSER_TOKEN="token-of-the-stream",
    )
    assert said.status == 1 and key not in said.text and "token-of-the-stream" not in said.text
    assert said.has("error", f"The node 127.0.0.1:{node} of FILL_RPC_URLS does not answer")
    assert said.has("error", f"The stream of 127.0.0.1:{stream} does not answer", "firewalls")
    assert said.has("error", "upstream mistyped", "its URL or our keypair is invalid")
    assert said.has("error", "upstream engine", "does not answer")
    assert said.has("error", "upstream searcher", "does not answer", "disable it in the admin")
    assert said.has("ok", f"stream of {localnet.geyser_url.removeprefix('http://')} answers")


def test_another_chain_is_an_error(doctor: Doctor, localnet: Localnet) -> None:
    from ingest import chain_identity

    chain_identity.claim("1" * 32, source="another", now=datetime.now(UTC))
    said = doctor(**_followed(localnet))
    assert said.has("error", "follows another chain", "one database holds one chain")


class _NodeOfTomorrow(BaseHTTPRequestHandler):
    """A node an hour and thousands of slots ahead, which is not healthy."""

    genesis_hash = ""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer: dict[str, Any] = {
            "getVersion": {"result": {"solana-core": "9.9.9"}},
            "getGenesisHash": {"result": self.genesis_hash},
            "getSlot": {"result": 10_000_000},
            "getBlockTime": {"result": int(time.time()) + 3_600},
            "getHealth": {"error": {"code": -32005, "message": "Node is behind by 42 slots"}},
        }[asked["method"]]
        body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def test_clocks_that_disagree_and_nodes_that_are_behind(doctor: Doctor, localnet: Localnet) -> None:
    _NodeOfTomorrow.genesis_hash = localnet.call("getGenesisHash")
    with ThreadingHTTPServer(("127.0.0.1", 0), _NodeOfTomorrow) as node:
        threading.Thread(target=node.serve_forever, daemon=True).start()
        port = node.server_address[1]
        said = doctor(
            **{**_followed(localnet), "FILL_RPC_URLS": f"{localnet.url},http://127.0.0.1:{port}"}
        )
        node.shutdown()
    name = f"node 127.0.0.1:{port}"
    assert said.has("error", f"block of the {name} is 3", "ahead of this machine's clock", "NTP")
    assert said.has("warning", f"The {name} is not healthy", "behind by 42 slots")
    assert said.has("warning", "Behind the other nodes: " + localnet.url.removeprefix("http://"))
    assert said.has("warning", "stream of", "slots behind the node")


def test_a_redis_that_drops_things_is_an_error(doctor: Doctor, durable_redis: str) -> None:
    with redis.Redis.from_url(durable_redis) as server:
        most = server.config_get("maxmemory")["maxmemory"]
        server.config_set("maxmemory-policy", "volatile-lru")
        server.config_set("appendonly", "no")
        server.config_set("maxmemory", "16mb")
        try:
            said = doctor()
        finally:
            server.config_set("maxmemory-policy", "noeviction")
            server.config_set("appendonly", "yes")
            server.config_set("maxmemory", most)
    assert said.status == 1
    assert said.has("error", "maxmemory-policy is volatile-lru", "Set maxmemory-policy noeviction")
    assert said.has("error", "does not write an append-only file", "Set appendonly yes")
    assert said.has("warning", "less than FOLLOW_BACKLOG_MB")


def test_a_redis_with_another_password_and_none_at_all(doctor: Doctor, durable_redis: str) -> None:
    password = durable_redis.split(":")[2].split("@")[0]
    said = doctor(REDIS_URL=durable_redis.replace(password, "not-the-password"))
    assert said.status == 1 and "not-the-password" not in said.text
    assert said.has("error", "Redis refuses the password", "password in REDIS_URL")
    said = doctor(REDIS_URL=f"redis://:secret-word@127.0.0.1:{free_ports(1)[0]}/0")
    assert said.has("error", "Redis does not answer") and "secret-word" not in said.text


def test_open_secrets_and_bad_keypairs_are_errors(doctor: Doctor, tmp_path: Path) -> None:
    run_dir, good, bad = tmp_path / "run", tmp_path / "good.json", tmp_path / "bad.json"
    keypair = Keypair()
    good.write_text(keypair.to_json())
    good.chmod(0o644)
    bad.write_text("[1,2,3,255,98765]")
    bad.chmod(0o600)
    doctor()  # makes the secrets of the run directory
    (run_dir / "tip_seed").chmod(0o640)
    run_dir.chmod(0o755)
    said = doctor(TPU_IDENTITY_FILE=str(good), BLOCK_ENGINE_KEYPAIR_FILE=str(bad))
    seed = (run_dir / "tip_seed").read_text()
    assert said.has("error", "open to other accounts (mode 755)", f"chmod 700 {run_dir}")
    assert said.has("error", "tip_seed", "mode 640", "all keys of tip addresses come from it")
    assert said.has("error", "good.json", "mode 644") and said.has("ok", str(keypair.pubkey()))
    assert said.has("error", f"BLOCK_ENGINE_KEYPAIR_FILE={bad} is not a keypair", "64 numbers")
    assert "98765" not in said.text and keypair.to_json() not in said.text
    assert seed not in said.text and (run_dir / "secret_key").read_text() not in said.text
    said = doctor(TPU_IDENTITY_FILE=str(tmp_path / "none.json"))
    assert said.has("error", "TPU_IDENTITY_FILE", "No such file", "Landers do not start")


@pytest.mark.parametrize(
    ("settings", "level", "words"),
    [
        ({"BEHIND_HTTPS": "true"}, "error", "BEHIND_HTTPS is set without TRUSTED_PROXIES"),
        ({"TRUSTED_PROXIES": "0.0.0.0/0"}, "error", "callers from there can claim any address"),
        ({"DOMAIN": "rpc.example"}, "warning", "sign-in cookies are sent unencrypted"),
        ({"PUBLIC_URL": "https://else.example"}, "error", "not among ALLOWED_HOSTS"),
        ({"DOMAIN": "rpc.example", "DEBUG": "true"}, "error", "DEBUG is on"),
        (
            {"TRUSTED_PROXYS": "127.0.0.1"},
            "warning",
            "Unknown setting TRUSTED_PROXYS. Did you mean TRUSTED_PROXIES?",
        ),
        ({"OIDC_STAFF_GROUPS": "ops=operator"}, "warning", "is set without a sign-in provider"),
        ({"SECRET_KEY": "short-one"}, "error", "SECRET_KEY has 9 characters"),
        ({"TIP_SECRET_SEED": "00" * 32}, "error", "anyone can derive their keys"),
        ({"SHARED_MEMORY_DIR": "/nowhere"}, "error", "not a writable folder"),
        ({"MAX_CONNECTIONS": "99999999"}, "warning", "MAX_CONNECTIONS needs"),
        ({"WEB_WORKERS": "64", "WEB_THREADS": "64"}, "error", "max_connections"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_settings_that_do_not_fit_are_said(
    doctor: Doctor, settings: dict[str, str], level: str, words: str
) -> None:
    assert doctor(**settings).has(level, words)


def test_the_sign_in_provider_is_tried(doctor: Doctor) -> None:
    with forged_provider() as provider:
        client = {"OIDC_CLIENT_ID": "tidemark", "OIDC_CLIENT_SECRET": "the-clients-secret"}
        found = doctor(OIDC_ISSUER=provider.issuer, **client)
        provider.metadata["token_endpoint"] = None
        broken = doctor(OIDC_ISSUER=provider.issuer, **client)
    assert found.has("ok", f"The sign-in provider {provider.issuer} has all")
    assert broken.has("error", provider.issuer, "has no token_endpoint.", "Its `issuer` must be")
    away = doctor(OIDC_ISSUER=provider.issuer, **client)
    assert away.has("error", provider.issuer, "It does not answer.")
    assert not any("the-clients-secret" in each.text for each in (found, broken, away))


def test_a_port_that_another_has_is_said_while_the_service_does_not_run(doctor: Doctor) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", free_ports(1)[0]))
        taken.listen()
        said = doctor(PORT=str(taken.getsockname()[1]))
    assert said.has("error", "The service is not running, and cannot start", "(PORT)")


def test_conditions_of_alarms_are_said(doctor: Doctor) -> None:
    from django.utils import timezone

    from gaps.slot_gap import GapStatus
    from rewind.coverage.services.gaps import archive_gaps

    long_ago = timezone.now().replace(year=2025)
    archive_gaps.open_gap(7, 9, status=GapStatus.MISSING, cause="stream_lost", now=long_ago)
    said = doctor()
    assert said.has("warning", "Gaps are open: 1 gap is not filled", "retried automatically")


def test_a_full_disk_is_an_error(doctor: Doctor, tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=24m,mode=700", "tmpfs", str(full)]
    if os.geteuid() or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("needs root and the right to mount a tmpfs")
    servers = start_servers(full, postgres=False)
    try:
        url = embedded_addresses(full).redis_url
        with redis.Redis.from_url(url) as valkey, pytest.raises(redis.RedisError, match="MISCONF"):
            while True:
                valkey.append("filling", "x" * 100_000)
        said = doctor(TIDEMARK_RUN_DIR=str(full), REDIS_URL=url, DATABASE_URL=_full_database())
    finally:
        stop_servers(servers)
        subprocess.run(["umount", str(full)], check=True)
    assert said.status == 1 and said.has("error", "The disk is full", "Free some space")
    assert said.has("error", "Redis cannot write: MISCONF", "Free some space")
    assert said.has("error", "PostgreSQL has a full disk: ", "Free some space")


def _full_database() -> str:
    """The URL of a server that refuses a session as PostgreSQL does when its disk is full."""
    why = b"SFATAL\0C53100\0Mcould not write init file: No space left on device\0\0"
    listening = socket.create_server(("127.0.0.1", 0))

    def refuse() -> None:
        while True:
            accepted, _ = listening.accept()
            with accepted:
                accepted.recv(8)  # whether it has TLS
                accepted.sendall(b"N")
                accepted.recv(1_000)
                accepted.sendall(b"E" + (len(why) + 4).to_bytes(4) + why)

    threading.Thread(target=refuse, daemon=True).start()
    return f"postgresql://a:b@127.0.0.1:{listening.getsockname()[1]}/tidemark"


def test_a_setting_that_is_not_valid_is_named(tmp_path: Path) -> None:
    environment: dict[str, Any] = {
        "PATH": os.environ["PATH"],
        "TIDEMARK_RUN_DIR": str(tmp_path / "run"),
        "WEB_WORKERS": "many",
    }
    found = forked_commands.run(["doctor", "--json"], environment=environment)
    assert found.returncode == 1 and "WEB_WORKERS='many'" in found.stderr
