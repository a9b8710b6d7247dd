"""The ground every test stands on: a PostgreSQL and a Valkey of this run's own."""

import atexit
import contextlib
import ctypes
import gc
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from embedded.addresses import embedded_addresses
from embedded.servers import start_servers, stop_servers
from tests import forked_commands, forked_workers, places, shared, spreading

Rpc = Callable[..., dict[str, Any]]

# Parallel workers inherit the environment, and with it the servers, of the process that started
# them; each has its own database by pytest-django and its own Redis database by number.
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")

if WORKER:
    database = int(WORKER.removeprefix("gw")) + 1
    os.environ["REDIS_URL"] = f"{os.environ['TIDEMARK_TEST_REDIS']}?db={database}"
else:
    # Settings are read when pytest-django configures itself, which is after this line: nothing of
    # the caller's environment may point a test at a database that someone uses.
    for name in (
        forked_commands.ADDRESS,
        forked_workers.ADDRESS,
        "DATABASE_URL",
        "REDIS_URL",
        "DOMAIN",
        "ALLOWED_HOSTS",
        "SECRET_KEY",
        "DEBUG",
        "LOCALNET",
        "UPSTREAM_RPC_URL",
        "UPSTREAM_GEYSER_URL",
    ):
        os.environ.pop(name, None)
    # A busy machine is late: tests of lateness set a limit of their own.
    os.environ["LANDING_BEHIND_SLOTS"] = "0"
    # `make test DATABASE_URL=…`: a server on which the tests make databases of their own.
    if os.environ.get("TIDEMARK_TEST_DATABASE_URL"):
        os.environ["DATABASE_URL"] = os.environ["TIDEMARK_TEST_DATABASE_URL"]
    os.environ["TIDEMARK_RUN_DIR"] = places.new_run_dir()
    atexit.register(shutil.rmtree, os.environ["TIDEMARK_RUN_DIR"], ignore_errors=True)
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"

# No example has a deadline: this machine may be busy. A fixture of a test serves all its examples.
# The same examples every time, so that a failure is of the change and not of the day; `make soak`
# looks at others each time, and so does anything run with --hypothesis-profile=random.
settings.register_profile(
    "random",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    print_blob=True,
)
settings.register_profile("same", settings.get_profile("random"), derandomize=True, max_examples=50)
settings.load_profile("same")

# Whatever the caller's shell says: tests start hundreds of processes, and each would compile all of
# its modules, and the workers rewrite every assertion, anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Most objects of a test process live until its end: the collector looks at them seldom.
gc.set_threshold(50_000)

SOAK = Path(__file__).parent / "soak"
STACKS = Path(__file__).parent / "clients" / "stacks"
REAL = Path(__file__).parent / "real"
RUN_DIR = Path(os.environ["TIDEMARK_RUN_DIR"])
FIXTURES = Path(__file__).resolve().parent.parent.parent / "shared" / "fixtures"


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    from django.conf import settings

    if not WORKER and not config.option.collectonly:
        servers = start_servers(RUN_DIR, durable=False)
        # At exit, not in pytest_unconfigure: it is not called when another plugin fails to start.
        atexit.register(stop_servers, servers)
        url = embedded_addresses(RUN_DIR).redis_url
        keep_from_all_workers(url)
        os.environ["TIDEMARK_TEST_REDIS"] = url.partition("?")[0]
    assert settings.DATABASES  # read now: pytest-django sets Django up only when they have been
    from django.contrib.auth.hashers import PBKDF2PasswordHasher

    # A hash takes a third of a second of CPU, on purpose. Other processes verify these hashes, too.
    PBKDF2PasswordHasher.iterations = 1
    find_static_files_once()


def keep_from_all_workers(url: str) -> None:
    """The Valkey of all workers refuses what would disturb the other ones: see `own_redis`."""
    import redis

    refused = ("config|set", "flushall", "client|pause", "script|flush", "shutdown")
    with redis.Redis.from_url(url) as client:
        client.execute_command("ACL", "SETUSER", "default", *(f"-{each}" for each in refused))


def find_static_files_once() -> None:
    """Each test's client makes its middleware anew, and WhiteNoise's looks at every file: 20 ms."""
    from whitenoise.middleware import WhiteNoiseMiddleware

    find, found = WhiteNoiseMiddleware.add_files_from_finders, {}

    def add(self: WhiteNoiseMiddleware) -> None:
        if not found:
            find(self)
            found.update(self.files)
        self.files.update(found)

    WhiteNoiseMiddleware.add_files_from_finders = add


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: list[Any]) -> None:
    forked_commands.start_server()
    forked_workers.prepare(["-m", config.option.markexpr, *config.args])
    for each in specs:
        each.python = forked_workers.interpreter()
    # A worker that found it would read the settings before its conftest has named its Redis.
    os.environ.pop("DJANGO_SETTINGS_MODULE", None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    return spreading.workers(config)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> spreading.InOrder:
    return spreading.InOrder(config, log)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    # All of its tests are marked (tests/test_spreading.py): importing them takes 2 s a worker.
    left_out = config.option.markexpr.startswith("not soak") and collection_path == SOAK
    # It needs toolchains and registries.
    left_out |= config.option.markexpr != "clients" and collection_path == STACKS
    # It runs a chain for minutes, and a validator where there is one.
    left_out |= config.option.markexpr != "real" and collection_path == REAL
    return True if left_out else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # Each process holds the names of all tests, and reports them: one of 50 MB was once there.
    long = [item.nodeid[:200] for item in items if len(item.nodeid) > 1_000]
    assert not long, f"names of tests too long, name their cases with ids=: {long}"
    items[:] = spreading.ordered(items)


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()  # tests and all that was imported with them stay


def give_back_memory() -> None:
    """What is free goes back to the system, which else keeps the most that a file ever needed."""
    with contextlib.suppress(AttributeError):  # a C library without it
        ctypes.CDLL(None).malloc_trim(0)


# A collection takes a tenth of a second and more, and most files leave nothing to it.
_WORTH_COLLECTING = 16 << 20
# Few tests with accounts of 10 MB leave more, in objects that the collector hardly counts.
_MUCH = 96 << 20
# What the process had after the last one.
_collected_at = [0]


def resident_bytes() -> int:
    with contextlib.suppress(OSError):  # a system without it
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    return sys.maxsize


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, None, None]:
    yield
    is_last = nextitem is None or nextitem.path != item.path
    if is_last:
        shared.keep(spreading.rest_of_group(item.session.items, nextitem))
    if resident_bytes() > _collected_at[0] + (_WORTH_COLLECTING if is_last else _MUCH):
        gc.collect()
        if is_last:
            gc.freeze()  # what is kept, as caches are: the next collection need not look at it
        give_back_memory()
        _collected_at[0] = resident_bytes()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings: None,
) -> Iterator[contextlib.ExitStack]:
    """To be closed when the database is made."""
    from tests.databases import migrated_once

    with contextlib.ExitStack() as making:
        if WORKER and not os.environ.get("TIDEMARK_TEST_DATABASE_URL"):
            making.enter_context(migrated_once(RUN_DIR / "databases.lock"))
        yield making


@pytest.fixture(scope="session")
def django_db_setup(
    django_db_setup: None,
    django_db_modify_db_settings: contextlib.ExitStack,
    django_db_blocker: Any,
) -> Iterator[None]:
    """Tests that write for good empty every table after them; the audit log refuses that."""
    from django.db import connection
    from django.test import TransactionTestCase

    from config.running.engine import keep_timeouts, require_fit
    from tests import emptying
    from tests.databases import end_sessions

    TransactionTestCase._fixture_teardown = emptying.teardown  # type: ignore[method-assign]
    with django_db_blocker.unblock():
        django_db_modify_db_settings.close()
        with connection.cursor() as cursor:
            cursor.execute("DROP TRIGGER IF EXISTS audit_is_not_emptied ON staff_auditentry")
        pooled = require_fit()
        if pooled:
            keep_timeouts()
    yield
    if pooled:
        # The pooler's sessions would keep the database from being dropped.
        end_sessions()


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """The folder of real chain data that lies beside the repository."""
    if not FIXTURES.is_dir():
        pytest.skip(f"the real chain data is not here: {FIXTURES}")
    return FIXTURES


@pytest.fixture(autouse=True)
def _nothing_stored_before(request: pytest.FixtureRequest) -> None:
    """Tests that empty the tables in the end find them empty, though what came before them (the
    session's real blocks) may have left something.
    """
    marker = request.node.get_closest_marker("django_db")
    if marker is None or not marker.kwargs.get("transaction"):
        return
    request.getfixturevalue("transactional_db")
    from columns import generations
    from tests import emptying

    if emptying.truncate_filled(emptying.LEDGER_TABLES):
        generations.move_all()


@pytest.fixture(autouse=True)
def _nothing_kept_before() -> None:
    """What the process keeps is of another test, and may have been rolled back."""
    from columns.kept import forget_all
    from rewind.recording.store import partitions
    from rewind.sealed.store import open_blocks

    forget_all()
    for module in (open_blocks, partitions):
        module.forget()


@pytest.fixture(autouse=True)
def _windows_that_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fixed windows of django-ratelimit do not end while a test fills one."""
    from django_ratelimit import core

    now = time.time()
    monkeypatch.setattr(core, "time", SimpleNamespace(time=lambda: now))


@pytest.fixture
def empty_redis() -> Iterator[None]:
    """Nothing in this worker's Redis database, before and after the test."""
    import redis
    from django.conf import settings

    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.flushdb()
        yield
        client.flushdb()


@pytest.fixture
def own_redis(tmp_path_factory: pytest.TempPathFactory, settings: Any) -> Iterator[None]:
    """A Valkey of the test's own, whose settings it may change: the other one is all workers'."""
    from shared_state import script_socket

    run_dir = tmp_path_factory.mktemp("redis")
    servers = start_servers(run_dir, postgres=False, durable=False)
    try:
        settings.REDIS_URL = embedded_addresses(run_dir).redis_url
        script_socket.forget()
        yield
    finally:
        script_socket.forget()
        stop_servers(servers)


@pytest.fixture
def empty_ledger(db: None) -> None:
    """No blocks of other tests, whose slots may be ours: within the test's own transaction."""
    from tests import emptying

    emptying.truncate_filled(emptying.LEDGER_TABLES)


@pytest.fixture
def api_key(db: None) -> str:
    """The secret of a new key without limits."""
    from access.models import Customer, Tier
    from access.services.keys import issue_key

    tier, _ = Tier.objects.get_or_create(
        name="unlimited", defaults={"rank": 50, "requests_per_second": None}
    )
    customer = Customer.objects.create(name="a customer")
    return issue_key(customer, tier=tier, name="tests").secret


@pytest.fixture
def rpc(client: Any, api_key: str) -> Rpc:
    """`rpc("/historical", "getSlot")` → the JSON-RPC answer, through the public door."""

    def call(path: str, method: str, *params: Any, host: str = "localhost") -> dict[str, Any]:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        response = client.post(
            path,
            json.dumps(body),
            content_type="application/json",
            headers={"Authorization": api_key, "Host": host},
        )
        assert response.status_code == 200, response.content
        answer: dict[str, Any] = json.loads(response.content)
        assert answer["jsonrpc"] == "2.0"
        assert answer["id"] == 1
        return answer

    return call


@pytest.fixture
def nothing_remembered(empty_redis: None) -> Iterator[None]:
    """This process knows no key and no outage, and Redis is empty."""
    from access import key_cache, local_buckets, usage, windows
    from shared_state import pace, script_socket

    for module in (key_cache, local_buckets, pace, script_socket, windows):
        module.forget()
    yield
    usage.flush()


@pytest.fixture
def known_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that was read is not read again, however late a busy machine calls with it."""
    from access import key_cache

    monkeypatch.setattr(key_cache, "FRESH_SECONDS", 3_600.0)


@pytest.fixture
def tier(db: None) -> Callable[..., Any]:
    """`tier("basic", requests_per_second=10)`: a tier with these limits."""
    from access.models import Tier

    def make(name: str = "basic", rank: int = 10, **limits: Any) -> Tier:
        defaults = {"rank": rank, "requests_per_second": 10, "requests_burst": 10, **limits}
        return Tier.objects.update_or_create(name=name, defaults=defaults)[0]

    return make


@pytest.fixture
def issue(tier: Callable[..., Any]) -> Callable[..., Any]:
    """`issue(requests_per_second=10, scopes=[…])`: a new key, of a tier with these limits; with a
    past `expires_at`, one that has expired since it was issued.
    """
    from access import store
    from access.models import ApiKey
    from access.services import keys

    def make(**options: Any) -> keys.IssuedKey:
        limits = {k: options.pop(k) for k in list(options) if k.endswith(("_second", "_burst"))}
        chosen = options.pop("tier", None) or tier(**limits)
        owner, end = store.customer_by_name("Ada"), options.pop("expires_at", None)
        issued = keys.issue_key(owner, tier=chosen, name="test", **options)
        if end is not None:
            ApiKey.objects.filter(pk=issued.key.pk).update(expires_at=end)
            issued.key.expires_at = end
        return issued

    return make
