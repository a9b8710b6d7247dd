"""A database of the versions before sealing: migrated, and sealed in the background."""

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

from tests.databases import this_database

ROOT = Path(__file__).resolve().parent.parent.parent
pytestmark = pytest.mark.soak

# The last migrations without sealed data.
_BEFORE = {"rewind": "0008", "historical": "0005"}

_SCRIPT = """
import json, sys
from datetime import UTC, datetime, timedelta
import django
django.setup()
from django.test import Client
from access.models import Customer, Tier
from access.services.keys import issue_key
from chain.encodings import b58encode
from historical.services import sealing as ledger
from historical.services.recording import record_blocks
from rewind.services.recording import record_slots
from rewind.services.sealing import Policy, seal_step
from rewind.services.segments import index_next
from rewind.sealed_models import SealedBlock
from rewind.store.partitions import PARTITION_SLOTS
from tests.rewind.samples import block, key, signature, write

NOW = datetime.now(UTC)
EPOCH = 432_000
SLOTS = [n * PARTITION_SLOTS + 5 + each for n in (0, 1, 2, 12, 13, 15) for each in range(3)]

def record():
    parent = 0
    for slot in SLOTS:
        writes = [
            write(number, signature(slot, number % 4), version=number, lamports=slot + number,
                  data=bytes([number]) * (number * 7))
            for number in range(40) if (slot + number) % 3
        ]
        made = block(slot, parent, writes)
        record_slots([made], source="stream", now=NOW)
        record_blocks([made], now=NOW - timedelta(days=1))
        parent = slot
    while index_next() is not None:
        pass

def seal():
    while seal_step(Policy(margin=0), now=NOW):
        pass
    while seal_step(Policy(margin=0), now=NOW + timedelta(days=1)):
        pass
    while index_next() is not None:
        pass
    while ledger.seal_step(range_slots=64_000, now=NOW, finished_below=SLOTS[-1] + 1):
        pass

def read():
    tier, _ = Tier.objects.get_or_create(
        name="unlimited", defaults={"rank": 50, "requests_per_second": None})
    secret = issue_key(Customer.objects.create(name=sys.argv[1]), tier=tier, name="tests").secret
    found = []
    def call(path, method, *params):
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        answer = Client().post(path, json.dumps(body), content_type="application/json",
                               headers={"Authorization": secret, "Host": "localhost"})
        found.append([method, params, json.loads(answer.content)])
    for number in range(42):
        pubkey = b58encode(key(number))
        for slot in (*SLOTS[::4], SLOTS[-1]):
            call("/rewind", "getAccountInfo", pubkey, {"slot": slot, "encoding": "base64"})
        call("/rewind", "getAccountChanges", pubkey, {"fromSlot": SLOTS[0], "toSlot": SLOTS[-1]})
    for slot in SLOTS:
        call("/historical", "getBlock", slot, {"maxSupportedTransactionVersion": 0})
        for index in range(4):
            call("/historical", "getTransaction", b58encode(signature(slot, index)),
                 {"maxSupportedTransactionVersion": 0})
    return found

match sys.argv[1]:
    case "record":
        record()
    case "seal":
        seal()
sealed = SealedBlock.objects.count() if sys.argv[1] != "record" else 0
json.dump([sealed, read()], sys.stdout)
"""


@pytest.fixture
def empty_database(transactional_db: None) -> Iterator[str]:
    """The URL of a database that nothing was migrated in."""
    address = this_database()
    name = f"upgrade_{secrets.token_hex(4)}"
    parts = urlsplit(address)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")  # type: ignore[arg-type]
        try:
            yield urlunsplit(parts._replace(path=f"/{name}"))
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")  # type: ignore[arg-type]


@pytest.mark.usefixtures("empty_redis")
def test_what_was_hot_before_reads_the_same_once_it_is_sealed(empty_database: str) -> None:
    manage(empty_database, "migrate", "--verbosity", "0")
    nothing, before = script(empty_database, "record")
    assert not nothing
    # Down to the tables of before, with their rows, and up again as an upgrade goes.
    for app, name in _BEFORE.items():
        manage(empty_database, "migrate", app, name, "--verbosity", "0")
    manage(empty_database, "migrate", "--verbosity", "0")
    _, upgraded = script(empty_database, "read")
    assert upgraded == before
    blocks, sealed = script(empty_database, "seal")
    assert blocks
    assert sealed == before
    wrong = [answer for _, _, answer in before if "error" in answer]
    assert not wrong, wrong[0]


def script(url: str, stage: str) -> Any:
    return json.loads(_run(url, [sys.executable, "-c", _SCRIPT, stage]))


def manage(url: str, *command: str) -> str:
    return _run(url, [sys.executable, "manage.py", *command])


def _run(url: str, command: list[str]) -> str:
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={
            **os.environ,
            "DATABASE_URL": url,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "platform")]),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5_000:]
    return done.stdout
