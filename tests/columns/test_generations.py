"""Generation numbers: a value cached under one is never older than the database."""

import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import OperationalError, connection, transaction

from columns import generations
from columns.advisory_locks import AdvisoryLock, shared
from columns.caches import GenerationCache
from columns.generations import Change, Generation
from tests.databases import this_database
from tests.patience import wait

ROOT = Path(__file__).resolve().parent.parent.parent
THINGS = Generation(40)
OTHERS = Generation(41)

# Kills itself before or after the commit, by its argument, before the number is moved.
_DIES = """
import os, signal, sys
import django
django.setup()
from django.db import connection, transaction
from columns.database import base
from columns.generations import Generation

real = base.base.DatabaseWrapper._commit
def commit(self):
    if sys.argv[1] == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    real(self)
    os.kill(os.getpid(), signal.SIGKILL)
base.base.DatabaseWrapper._commit = commit
with transaction.atomic():
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE left_behind ()")
    Generation(40).moves()
"""


@pytest.fixture(autouse=True)
def shared_memory(settings, tmp_path):
    settings.SHARED_MEMORY_DIR = tmp_path
    return tmp_path


def move(*moved: Generation) -> None:
    with transaction.atomic():
        for each in moved:
            each.moves()


def test_a_number_moves_with_each_commit_and_others_stay(transactional_db):
    before, other = THINGS.read(), OTHERS.read()
    assert before is not None
    move(THINGS)
    assert THINGS.read() == before + 1
    move(THINGS, OTHERS)
    assert THINGS.read() == before + 2
    assert OTHERS.read() == other + 1


def test_what_is_rolled_back_moves_nothing(transactional_db):
    before = THINGS.read()
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        THINGS.moves()
        raise ZeroDivisionError
    move(OTHERS)
    assert THINGS.read() == before


def test_within_a_transaction_there_is_no_number(transactional_db):
    with transaction.atomic():
        assert THINGS.read() is None
    with pytest.raises(transaction.TransactionManagementError):
        THINGS.moves()


def test_while_a_commit_is_under_way_there_is_no_number(transactional_db):
    with Change([THINGS]):
        assert THINGS.read() is None
        assert OTHERS.read() is not None
        generations.repair()
        assert THINGS.read() is None
    assert THINGS.read() is not None


def test_without_shared_memory_there_is_no_number(transactional_db, settings):
    settings.SHARED_MEMORY_DIR = None
    move(THINGS)
    assert THINGS.read() is None


def test_a_commit_that_cannot_move_the_number_is_not_made(transactional_db, settings, tmp_path):
    THINGS.read()
    in_the_way = tmp_path / f"generations-{connection.settings_dict['NAME']}.commits"
    in_the_way.mkdir()
    with pytest.raises(OperationalError), transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("CREATE TABLE never_made ()")
        THINGS.moves()
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('never_made')")
        assert cursor.fetchone() == (None,)
    in_the_way.rmdir()


@pytest.mark.parametrize(("when", "left"), [("before", None), ("behind", "left_behind")])
def test_a_process_that_dies_at_its_commit_leaves_no_number_that_was(
    transactional_db, tmp_path, when, left
):
    before = THINGS.read()
    found = subprocess.run(
        [sys.executable, "-c", _DIES, when],
        env={
            **os.environ,
            "DATABASE_URL": this_database(),
            "SHARED_MEMORY_DIR": str(tmp_path),
            "PYTHONPATH": f"{ROOT}:{ROOT / 'platform'}",
        },
        check=False,
    )
    assert found.returncode == -signal.SIGKILL
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT to_regclass('left_behind')::text")
            assert cursor.fetchone() == (left,)
        assert THINGS.read() is None

        # The server may see a moment later that its client is gone.
        def repaired() -> int | None:
            generations.repair()
            return THINGS.read()

        now = wait(repaired, "the server sees it")
        assert before is not None
        assert now > before
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE IF EXISTS left_behind")


def test_a_commit_still_at_the_server_is_waited_for(transactional_db, tmp_path):
    """As after the death of a process whose commit the server has not finished."""
    import psycopg

    numbers = generations._numbers()
    assert numbers is not None
    with psycopg.connect(**connection.get_connection_params()) as other:
        other.execute(shared(AdvisoryLock.GENERATIONS))
        numbers[2 * 40 + 1] += 1
        generations.repair()
        assert THINGS.read() is None
        other.rollback()
    generations.repair()
    assert THINGS.read() is not None


def _count(folder: str, database: str, times: int) -> None:
    from django.conf import settings

    settings.SHARED_MEMORY_DIR = Path(folder)
    settings.DATABASES["default"]["NAME"] = database
    generations.forget()
    for _ in range(times):
        with Change([THINGS]):
            pass


def test_no_count_is_lost_between_processes(transactional_db, tmp_path):
    before = THINGS.read()
    assert before is not None
    context = multiprocessing.get_context("fork")
    arguments = (str(tmp_path), connection.settings_dict["NAME"], 300)
    connection.close()
    counting = [context.Process(target=_count, args=arguments) for _ in range(4)]
    for each in counting:
        each.start()
    for each in counting:
        each.join()
        assert each.exitcode == 0
    assert THINGS.read() == before + 1_200


def test_cached_values_are_dropped_with_the_next_commit(transactional_db):
    values = GenerationCache[str, int](THINGS, 10)
    asked = []

    def read(value: int | None) -> int | None:
        asked.append(value)
        return value

    assert values.get("a", lambda: read(1)) == 1
    assert values.get("a", lambda: read(2)) == 1
    assert values.get("b", lambda: read(None)) is None
    assert values.get("b", lambda: read(3)) == 3
    move(OTHERS)
    assert values.get("a", lambda: read(4)) == 1
    move(THINGS)
    assert values.get("a", lambda: read(5)) == 5
    with transaction.atomic():
        assert values.get("a", lambda: read(6)) == 6
    assert values.get("a", lambda: read(7)) == 5


def test_a_value_read_during_a_commit_is_not_cached(transactional_db):
    values = GenerationCache[str, int](THINGS, 10)

    def read_slowly() -> int:
        move(THINGS)
        return 1

    assert values.get("a", read_slowly) == 1
    assert values.get("a", lambda: 2) == 2


def test_the_cache_holds_at_most_twice_the_capacity(transactional_db):
    values = GenerationCache[int, int](THINGS, 50)
    for number in range(1_000):
        values.get(number, lambda number=number: number)
        assert values.get(0, lambda: -1) == 0  # asked for again and again, it stays
    assert len(values._young) + len(values._old) <= 100
    assert values.get(1, lambda: -1) == -1
