"""Every page of the admin and the portal: it opens, and asks the database a bounded number of times
however many rows there are.
"""

import re
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from access.models import ApiKey
from priority.reports.services import counting
from shared_state.database_writes import CLAIMED
from shared_state.redis_client import client as redis
from tests.pages import admin_pages
from tests.scale import access_rows, chain_rows, landing_rows
from tests.wording import oddities

# The home page answers a dozen questions; any other page one.
MOST = {"/admin/": 41}
MOST_ELSEWHERE = 30
# One page for all models, with nothing of its own to ask.
_ALIKE = re.compile(r"_history$")


@pytest.fixture
def visitor(db: None, empty_redis: None, admin_client: Client) -> Client:
    """An administrator's browser. Another process has just tried whether the database takes writes:
    which page would do so is chance.
    """
    redis().set(CLAIMED, "", ex=3_600)
    return admin_client


def fill(times: int) -> None:
    """Something of everything, so many times as much."""
    now = timezone.now()
    with connection.cursor() as cursor:
        access_rows.fill(cursor, customers=4 * times, keys=30 * times, days=3)
        chain_rows.fill(cursor, 1_200 * times)
        keys = list(ApiKey.objects.values_list("pk", flat=True))
        landing_rows.fill(cursor, 100 * times, keys)
    counting.count(kept=timedelta(days=60), now=now, calm=timedelta(0))


def asked(visitor: Client) -> dict[str, int]:
    """Page → how many queries it took, but for those that lead elsewhere or are nobody's. What is
    odd about its words fails.
    """
    found, odd = {}, []
    for path in {path for name, path in admin_pages().items() if not _ALIKE.search(name)}:
        with CaptureQueriesContext(connection) as queries:
            answer = visitor.get(path, HTTP_HOST="localhost")
        assert answer.status_code in (200, 302, 403, 405), f"{path}: {answer.status_code}"
        if answer.status_code == 200:
            found[path] = len(queries)
            if answer.headers["content-type"].startswith("text/html"):
                odd += [f"{path}: {each}" for each in oddities(answer.content.decode())]
    assert not odd, "\n".join(odd)
    return found


def test_no_page_asks_more_when_there_is_more(visitor: Client) -> None:
    before = transaction.savepoint()
    fill(1)
    few = asked(visitor)
    transaction.savepoint_rollback(before)
    fill(3)
    many = asked(visitor)
    assert len(few) > 60
    grown = {path: (few[path], many[path]) for path in few if many.get(path, 0) > few[path]}
    assert not grown
    above = {path: count for path, count in many.items() if count > MOST.get(path, MOST_ELSEWHERE)}
    assert not above
