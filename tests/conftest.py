"""The ground every test stands on: a PostgreSQL and a Valkey of this run's own."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded.servers import Servers, start_servers, stop_servers

# Parallel workers inherit the environment, and with it the servers, of the process that started
# them; each has its own database by pytest-django and its own Redis database by number.
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")

if WORKER:
    database = int(WORKER.removeprefix("gw")) + 1
    os.environ["REDIS_URL"] = f"{os.environ['TIDEMARK_TEST_REDIS']}?db={database}"
else:
    # Settings are read when pytest-django configures itself, which is after this line: nothing of
    # the caller's environment may point a test at a database that someone uses.
    for name in ("DATABASE_URL", "REDIS_URL", "DOMAIN", "ALLOWED_HOSTS", "SECRET_KEY", "DEBUG"):
        os.environ.pop(name, None)
    os.environ["TIDEMARK_RUN_DIR"] = tempfile.mkdtemp(prefix="tidemark-test-")
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"

RUN_DIR = Path(os.environ["TIDEMARK_RUN_DIR"])
FIXTURES = Path(__file__).resolve().parent.parent.parent / "shared" / "fixtures"

_servers: list[Servers] = []


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if WORKER or config.option.collectonly:
        return
    from embedded.addresses import embedded_addresses

    _servers.append(start_servers(RUN_DIR, durable=False))
    os.environ["TIDEMARK_TEST_REDIS"] = embedded_addresses(RUN_DIR).redis_url.partition("?")[0]


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    while _servers:
        stop_servers(_servers.pop())
    if not WORKER:
        shutil.rmtree(RUN_DIR, ignore_errors=True)


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """The folder of real chain data that lies beside the repository."""
    if not FIXTURES.is_dir():
        pytest.skip(f"the real chain data is not here: {FIXTURES}")
    return FIXTURES


@pytest.fixture
def empty_redis() -> Iterator[None]:
    """Nothing in this worker's Redis database, before and after the test."""
    import redis
    from django.conf import settings

    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.flushdb()
        yield
        client.flushdb()
