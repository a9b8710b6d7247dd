"""Prepared statements when a pooler or a restart switches the server process."""

import io
import os
import socket
import threading

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection, transaction

from columns.poolers import is_pooled
from columns.raw_queries import (
    fetch_all,
    fetch_one,
    fetch_together,
    raw_connection,
)
from columns.statements import MOST_PREPARED
from tests.lock_waits import waiting_sessions
from tests.upstream import sample_blocks as sample

HISTORICAL = "/historical"


def test_statements_that_the_server_forgot_are_prepared_again(transactional_db, rpc, tmp_path):
    with connection.cursor() as cursor:
        cursor.execute(
            "TRUNCATE historical_block, historical_transaction, historical_addressentries"
        )
    path = tmp_path / f"block-{sample.SLOT}.json"
    path.write_bytes(sample.json_file())
    call_command("import_blocks", str(path), "--genesis", "mainnet", stdout=io.StringIO())
    calls = [("getSlot",), ("getBlockTime", sample.SLOT), ("getBlocks", 0), ("getBlocks", 1, 5)]
    calls += [("getBlockTime", sample.SLOT - 1), ("getBlockTime", sample.SLOT + 1)]
    calls += [("getBlock", sample.SLOT, {"transactionDetails": "signatures"})]
    before = [rpc(HISTORICAL, *call) for call in calls[:3]]
    for _ in range(3):
        with connection.cursor() as cursor:
            cursor.execute("DEALLOCATE ALL")
        assert [rpc(HISTORICAL, *call) for call in calls[:3]] == before
        answers = [rpc(HISTORICAL, *call) for call in calls]
        assert {answer.get("error", {}).get("code") for answer in answers} <= {None, -32001, -32004}


def test_a_server_that_died_without_a_word_is_an_operational_error(transactional_db):
    assert fetch_one("SELECT 1") == (1,)
    with socket.socket(fileno=os.dup(connection.connection.fileno())) as wire:
        wire.shutdown(socket.SHUT_RDWR)
    with pytest.raises(psycopg.OperationalError, match="server closed the connection"):
        fetch_one("SELECT 1")
    connection.close()
    assert fetch_one("SELECT 1") == (1,)


@pytest.fixture
def by_name(transactional_db):
    """Statements are prepared, under our names."""
    if is_pooled(raw_connection()):
        pytest.skip("a pooler names the statements of this server, or there are none")


def test_a_connection_keeps_no_more_statements_than_it_may(by_name):
    connection.close()
    for round_ in range(2):
        for number in range(MOST_PREPARED + 20):
            assert fetch_one(f"SELECT {number}, $1", round_) == (number, round_)
            assert fetch_one("SELECT 'often', $1", 7) == ("often", 7)
        texts = [text for (text,) in fetch_all("SELECT statement FROM pg_prepared_statements")]
        assert len(texts) == MOST_PREPARED
        assert "SELECT 'often', $1" in texts
        assert "SELECT 3, $1" not in texts


def test_a_query_that_comes_first_in_a_block_is_inside_its_transaction(transactional_db):
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE of_this_test (n bigint)")
    try:
        with pytest.raises(KeyError), transaction.atomic():
            assert fetch_one("INSERT INTO of_this_test VALUES (1) RETURNING n") == (1,)
            raise KeyError
        assert fetch_one("SELECT count(*) FROM of_this_test") == (0,)
        with transaction.atomic():
            fetch_all("INSERT INTO of_this_test VALUES (2), (3) RETURNING n")
        with connection.cursor() as cursor:
            cursor.execute("ROLLBACK")  # nothing is left open that it could take back
        assert fetch_one("SELECT count(*) FROM of_this_test") == (2,)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE of_this_test")


def test_no_two_processes_name_a_statement_alike(by_name):
    connection.close()
    assert fetch_one("SELECT 1") == (1,)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        of_parent, connection.connection = connection.connection, None  # noqa: F841 (stays open)
        fetch_one("SELECT 1")
        names = fetch_all("SELECT name FROM pg_prepared_statements")
        os.write(writer, " ".join(name for (name,) in names).encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    theirs = set(os.read(reader, 10_000).decode().split())
    os.close(reader)
    ours = {name for (name,) in fetch_all("SELECT name FROM pg_prepared_statements")}
    assert len(theirs) == len(ours) == 2
    assert not ours & theirs


def test_queries_sent_together_return_the_same_as_alone(transactional_db):
    queries = [("SELECT $1", 4), ("SELECT $1, 'a'", 5), ("SELECT 1 WHERE false",), ("SELECT $1", 6)]
    for _ in range(2):
        assert fetch_together(queries) == [fetch_all(*query) for query in queries]
        with connection.cursor() as cursor:
            cursor.execute("DEALLOCATE ALL")  # as where a pooler gives another server process
    assert fetch_together(queries[:1]) == [[(4,)]]
    assert fetch_together([]) == []


def test_queries_sent_together_leave_other_threads_running_while_they_wait(transactional_db):
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(7, 7)")
    began, faults = threading.Event(), []

    def wait_for_the_lock():
        try:
            began.set()
            fetch_together([("SELECT 1",), ("SELECT 2 FROM pg_advisory_lock(7, 7)",)])
        except psycopg.Error as error:  # the lock timeout: this thread could not release it
            faults.append(error)
        finally:
            connection.close()

    waiting = threading.Thread(target=wait_for_the_lock)
    waiting.start()
    began.wait()
    while not waiting_sessions() and waiting.is_alive():
        pass
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_unlock(7, 7)")
    waiting.join()
    assert not faults


def test_one_that_fails_fails_all_and_leaves_the_connection_usable(transactional_db):
    for _ in range(2):
        with pytest.raises(psycopg.errors.DivisionByZero):
            fetch_together([("SELECT $1", 4), ("SELECT 1 / $1", 0), ("SELECT 'never reached'",)])
        with pytest.raises(psycopg.errors.UndefinedColumn):
            fetch_together([("SELECT 'before'",), ("SELECT nothing",), ("SELECT 'after'",)])
    assert fetch_together([("SELECT 'after'",), ("SELECT 1 / $1", 1)]) == [[("after",)], [(1,)]]
    with pytest.raises(TypeError):
        fetch_together([("SELECT $1", 4), ("SELECT $1", None)])
    connection.close()
    assert fetch_one("SELECT 1") == (1,)


def test_queries_sent_together_keep_to_what_may_be_prepared(by_name):
    connection.close()
    for number in range(MOST_PREPARED + 5):
        together = [(f"SELECT {number}, $1", 1), ("SELECT 'often', $1", 2), ("SELECT 'too', $1", 3)]
        assert fetch_together(together) == [[(number, 1)], [("often", 2)], [("too", 3)]]
    texts = [text for (text,) in fetch_all("SELECT statement FROM pg_prepared_statements")]
    assert len(texts) == MOST_PREPARED
    assert {"SELECT 'often', $1", "SELECT 'too', $1"} <= set(texts)


def test_queries_sent_together_are_inside_the_block_that_they_begin(transactional_db):
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE of_this_test (n bigint)")
    insert = "INSERT INTO of_this_test VALUES ($1) RETURNING n"
    try:
        with pytest.raises(KeyError), transaction.atomic():
            assert fetch_together([(insert, 1), (insert, 2)]) == [[(1,)], [(2,)]]
            raise KeyError
        with pytest.raises(psycopg.errors.DivisionByZero):
            fetch_together([(insert, 3), ("SELECT 1 / $1", 0)])  # one transaction of its own
        assert fetch_one("SELECT count(*) FROM of_this_test") == (0,)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE of_this_test")


def test_a_server_that_died_is_an_operational_error_for_queries_sent_together(transactional_db):
    assert fetch_one("SELECT 1") == (1,)
    with socket.socket(fileno=os.dup(connection.connection.fileno())) as wire:
        wire.shutdown(socket.SHUT_RDWR)
    with pytest.raises(psycopg.OperationalError):
        fetch_together([("SELECT 1",), ("SELECT 2",)])
    connection.close()
    assert fetch_together([("SELECT 1",), ("SELECT 2",)]) == [[(1,)], [(2,)]]
