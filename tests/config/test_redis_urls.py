"""REDIS_URL: every client reaches the same Redis by it, over TLS, as a user with few rights."""

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import redis
import uvloop
from django.test import override_settings
from django_redis.cache import RedisCache
from kombu.exceptions import OperationalError
from redis.asyncio import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from config.celery_app import app
from config.doctor import redis_checks
from config.environment.env import BadEnvironment
from config.environment.redis_urls import broker_of, redis_url
from embedded.programs import wheel_programs
from priority.fates.services.feed import redis_of
from shared_state import script_socket
from shared_state.loop_connection import LoopConnection
from shared_state.loop_scripts import LoopScripts
from shared_state.redis_client import async_client_of, client, client_of
from shared_state.script_socket import RedisAway, command
from tests.localnet_process import free_ports
from tests.loop_calls import Loop
from tests.patience import PATIENCE_SECONDS, wait
from tests.tls_door import tls_door

ROOT = Path(__file__).resolve().parent.parent.parent
PASSWORD = "p@s:s/#%?& ü"
DATABASE = 3
_ADDS = command("EVAL", "return {redis.call('INCR', KEYS[1])}", 1, "tidemark:test:clients")


@dataclass(frozen=True)
class Server:
    """A Valkey with a user `tidemark` of the documented rights, and TLS before it."""

    port: int
    socket: str
    tls: str
    certificate: str
    key: str

    def url(self, form: str) -> str:
        values = {"port": self.port, "socket": self.socket, "tls": self.tls}
        files = {"ca": quote(self.certificate), "key": quote(self.key)}
        return form.format(**values, **files, password=quote(PASSWORD, safe=""), db=DATABASE)


def rights() -> str:
    """The line of docs/deployment.md."""
    text = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    (found,) = re.findall(r"^user tidemark on >password (.+)$", text, re.MULTILINE)
    return str(found).replace("/0.celery", f"/{DATABASE}.celery")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder, port = tmp_path_factory.mktemp("redis"), free_ports(1)[0]
    with tempfile.TemporaryDirectory() as short:
        arguments = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)]
        arguments += ["--unixsocket", f"{short}/s", "--save", "", "--appendonly", "yes"]
        arguments += ["--maxmemory-policy", "noeviction", "--maxmemory", "1gb"]
        arguments += ["--requirepass", "root"]
        process = subprocess.Popen(
            [wheel_programs().valkey, *arguments], cwd=folder, stdout=subprocess.DEVNULL
        )
        try:
            set_rights(port, rights())
            with tls_door(f"127.0.0.1:{port}", folder, asks_clients=True) as (address, ca):
                yield Server(port, f"{short}/s", address, str(ca), str(ca.with_name("key.pem")))
        finally:
            process.kill()
            process.wait()


def set_rights(port: int, rights: str) -> None:
    """Gives the user these rights."""
    words = ["reset", "on", f">{PASSWORD}", *rights.split()]
    for attempt in range(600):
        try:
            with administrator(port) as admin:
                admin.execute_command("ACL", "SETUSER", "tidemark", *words)
            return
        except redis.ConnectionError:
            assert attempt < 599, "it does not start"
            threading.Event().wait(0.05)


def administrator(port: int) -> redis.Redis:
    return redis.Redis(port=port, password="root", db=DATABASE, retry=Retry(NoBackoff(), 0))


TLS = "ssl_ca_certs={ca}&ssl_certfile={ca}&ssl_keyfile={key}"
FORMS = {
    "tls": "rediss://tidemark:{password}@{tls}/{db}?" + TLS,
    "query": "rediss://{tls}?db={db}&username=tidemark&password={password}&" + TLS,
    "trusting": "rediss://tidemark:{password}@{tls}/{db}?ssl_cert_reqs=none&" + TLS,
    "plain": "redis://tidemark:{password}@127.0.0.1:{port}/{db}?client_name=tide",
    "default user": "redis://:root@127.0.0.1:{port}/{db}",
    "socket": "unix://tidemark:{password}@{socket}?db={db}",
}


def of_general(url: str) -> None:
    client_of(url).incr("tidemark:test:clients")


def of_threads(_url: str) -> None:
    script_socket.ask(_ADDS)


def of_loops(_url: str) -> None:
    scripts: list[LoopScripts] = []

    def begin(running: asyncio.AbstractEventLoop) -> Any:
        scripts.append(LoopScripts(running))
        script_socket.on_loop = scripts[0].ask
        return scripts[0].close

    loop = Loop(begin)
    try:
        generation = command("EVAL", "return {1}", 0)

        def is_connected() -> bool:
            (found,) = loop.run(lambda: script_socket.aask(generation))
            assert found == [1]
            return scripts[0].is_connected

        wait(is_connected, "a connection of the loop's own")
        assert len(loop.run(lambda: script_socket.aask(_ADDS))[0]) == 1
    finally:
        script_socket.on_loop = None
        loop.stop()


def of_landers(url: str) -> None:
    async def add() -> None:
        made = async_client_of(url)
        connection = LoopConnection(made)
        try:
            await connection.send_within(PATIENCE_SECONDS, command("INCR", "tidemark:test:clients"))
        finally:
            connection.close()
            await made.aclose()

    uvloop.run(add())


def of_feeds(url: str) -> None:
    async def add() -> None:
        made: Redis = redis_of(url)
        try:
            await made.incr("tidemark:test:clients")
        finally:
            await made.aclose()

    uvloop.run(add())


def of_cache(url: str) -> None:
    cache = RedisCache(url, {"KEY_PREFIX": "cache"})
    cache.set("test", 1)
    assert cache.get("test") == 1
    of_general(url)


def of_tasks(url: str) -> None:
    broker = broker_of(url)
    options = {**broker.options, "max_retries": 1, "interval_start": 0}
    with (
        app.connection_for_write(
            broker.url, ssl=broker.tls, transport_options=options
        ) as connection,
        connection.SimpleQueue("ingest") as queue,
    ):
        queue.put({"a": 1})
        message = queue.get(timeout=PATIENCE_SECONDS)
        assert message.payload == {"a": 1}
        message.ack()
    of_general(url)


CLIENTS = (of_general, of_threads, of_loops, of_landers, of_feeds, of_cache, of_tasks)


@pytest.mark.parametrize("form", FORMS)
def test_every_client_reaches_the_same_redis(
    server: Server, form: str, nothing_remembered: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDIS_URL", server.url(FORMS[form]))
    url = redis_url("REDIS_URL", str)
    with administrator(server.port) as admin:
        admin.flushall()
        with override_settings(REDIS_URL=url):
            for count, use in enumerate(CLIENTS, 1):
                use(url)
                assert admin.get("tidemark:test:clients") == str(count).encode(), use.__name__
            script_socket.forget()


_QUEUES = """
import django; django.setup()
from uuid import uuid4
from ingest.slot_queue import call_ingest
from rewind.calls import call_job
from tipping.calls import request_batches
call_ingest()
call_job(uuid4(), 1)
request_batches()
"""


def test_each_area_queues_its_tasks_there(server: Server) -> None:
    """In a process that is no worker and does not know Celery's own app of the service."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environment = {
        **kept,
        "REDIS_URL": server.url(FORMS["tls"]),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PYTHONPATH": f"{ROOT}:{ROOT / 'platform'}",
        "TIDEMARK_RUN_DIR": os.environ["TIDEMARK_RUN_DIR"],
    }
    with administrator(server.port) as admin:
        admin.flushall()
        subprocess.run([sys.executable, "-c", _QUEUES], cwd=ROOT, env=environment, check=True)
        assert [admin.llen(queue) for queue in ("ingest", "simulations", "default")] == [1, 1, 1]


@pytest.mark.parametrize("use", CLIENTS)
def test_no_client_trusts_a_certificate_of_others(
    server: Server, use: Any, nothing_remembered: None
) -> None:
    url = server.url("rediss://tidemark:{password}@{tls}/{db}?ssl_certfile={ca}&ssl_keyfile={key}")
    with override_settings(REDIS_URL=url):
        errors = (redis.ConnectionError, RedisAway, AssertionError, OperationalError)
        with pytest.raises(errors, match=r"(?i)certificate verify failed"):
            use(url)
        script_socket.forget()


def test_missing_rights_are_named(server: Server) -> None:
    try:
        with override_settings(REDIS_URL=server.url(FORMS["plain"])):
            assert not list(redis_checks._rights())
            few = rights().replace(" ~_kombu.*", "").replace(" &tidemark:*", "")
            set_rights(server.port, few.replace(" +@scripting", " -@scripting"))
            client().connection_pool.disconnect()
            found = [each.text for each in redis_checks._rights()]
            assert [text.rpartition("right to the ")[2] for text in found] == [
                "keys _kombu.*.",
                "scripts.",
                "channels tidemark:*.",
            ]
            set_rights(server.port, rights() + " -info")
            (said,) = redis_checks.of_connecting()
            assert said.text == "The Redis user does not have the right to INFO."
    finally:
        set_rights(server.port, rights())


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("redis://host?socket_timeout=20", "the option 'socket_timeout' is not supported"),
        ("redis://host?max_connections=5", "the option 'max_connections' is not supported"),
        ("redis://host?protocol=3", "the option 'protocol' is not supported, only client_name, db"),
        ("redis://host?health_check_interval=5", "'health_check_interval' is not supported"),
        ("unix:///run/s?virtual_host=1", "the option 'virtual_host' is not supported"),
        ("redis://host?ssl_ca_certs=/ca.pem", "ssl_ca_certs applies to rediss:// only"),
        ("redis://host?db=one", "Invalid value for 'db'"),
        ("redis://host?db=1&db=2", "db must have one value"),
        ("rediss://host?ssl_ca_certs=", "ssl_ca_certs must have one value"),
        ("redis://host?db=-1", "db must not be negative"),
        ("redis://host?client_name=a%20b", "client_name must not contain spaces"),
        ("rediss://host?ssl_ca_certs=/none.pem", "ssl_ca_certs: cannot read /none.pem"),
        ("rediss://host?ssl_certfile=/none.pem", "ssl_certfile: cannot read /none.pem"),
        (f"rediss://host?ssl_ca_certs={__file__}", "the options of TLS do not work"),
        ("rediss://host?ssl_cert_reqs=perhaps", "ssl_cert_reqs must be none, optional, required"),
        ("rediss://host?ssl_check_hostname=&db=1", "ssl_check_hostname must have one value"),
        ("rediss://host?ssl_min_version=5", "the options of TLS do not work"),
        ("rediss://host?ssl_ciphers=none-such", "the options of TLS do not work"),
        ("redis://:sekret#1@host/0", "expected redis://host:port/0"),
        ("redis://:sekret#1@host/0", "percent-encode the password"),
        ("redis://host:99999/0", "expected redis://host:port/0"),
        ("redis://host/1/2", "expected redis://host:port/0"),
    ],
)
def test_an_option_that_not_every_client_has_is_refused(
    monkeypatch: pytest.MonkeyPatch, url: str, words: str
) -> None:
    monkeypatch.setenv("REDIS_URL", url)
    with pytest.raises(BadEnvironment) as refused:
        redis_url("REDIS_URL", str)
    assert words in str(refused.value)
    assert "sekret" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("redis://ada:sekret@host", "redis://ada:**@host:6379/0"),
        ("rediss://:sekret@[::1]:6380/3?client_name=a", "rediss://:**@%3A%3A1:6380/3"),
        ("redis://host:1/2?password=sekret&db=4", "redis://:**@host:1/4"),
        ("unix://:sekret@/run/valkey.sock?db=1", "redis+socket://:**@/run/valkey.sock"),
    ],
)
def test_the_workers_logs_name_no_password(url: str, address: str) -> None:
    broker = broker_of(url)
    with app.connection_for_write(broker.url, ssl=broker.tls) as connection:
        assert connection.as_uri() == address
