"""GET /priority/fates/stream: fates as they come about, over HTTP."""

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import psutil
import pytest
from django.db import connection
from django.utils import timezone

from access import key_cache, store
from access.models import ApiKey, Customer, Tier
from access.services import keys
from priority.fates import streams
from priority.fates.services import announcing, feed
from priority.fates.services.announcing import FateChange, announce
from priority.models import Submission
from priority.submissions import State
from shared_state.redis_client import client
from tests.patience import PATIENCE_SECONDS, wait
from tests.priority.fate_streams import FateServer, FateStream, serving
from tests.priority.submitted import landed, signature, stored

pytestmark = pytest.mark.django_db

Issue = Callable[..., keys.IssuedKey]
Elsewhere = Callable[..., Any]


@pytest.fixture(scope="module")
def elsewhere(django_db_setup: None, django_db_blocker: Any) -> Iterator[Elsewhere]:
    """`elsewhere(function, …)`: called outside the test's transaction, so that the server sees what
    it stores. Emptying the tables after each test would take most of the time: it is done once.
    """
    with django_db_blocker.unblock(), ThreadPoolExecutor(1) as thread:
        yield lambda function, *args, **options: thread.submit(function, *args, **options).result()
        thread.submit(clean).result()


def clean() -> None:
    Submission.objects.all().delete()
    ApiKey.objects.all().delete()
    Customer.objects.all().delete()
    Tier.objects.filter(name=TIER).delete()
    connection.close()


def issuing(elsewhere: Elsewhere) -> Issue:
    """`issue(requests_burst=10, customer="Ada", scopes=[…])`: a new key."""

    def make(*, customer: str = "", requests_burst: int = 1_000, **options: Any) -> keys.IssuedKey:
        limits = {"rank": 10, "requests_per_second": 0.01, "requests_burst": requests_burst}
        tier, _ = Tier.objects.update_or_create(name=TIER, defaults=limits)
        owner = store.customer_by_name(customer or secrets.token_hex(8))
        return keys.issue_key(owner, tier=tier, name="test", **options)

    return lambda **options: elsewhere(make, **options)


@pytest.fixture
def issue(elsewhere: Elsewhere) -> Issue:
    return issuing(elsewhere)


@pytest.fixture
def server(forgetful: None, elsewhere: Elsewhere) -> Iterator[FateServer]:
    with serving() as server:
        yield server


TIER = "of-the-streams"


def change(key_id: int | None, number: int = 1, state: State = State.SENT) -> FateChange:
    return FateChange(
        key_id=key_id,
        signature=bytes(signature(number)),
        state=state,
        commitment="",
        slot=None,
        transaction_index=None,
        err=None,
        reason="",
        settled=False,
        at=datetime.now(UTC),
    )


def told(*numbers: int, state: str = "sent") -> list[tuple[str, str]]:
    return [(str(signature(number)), state) for number in numbers]


def test_fates_come_as_they_are_announced_to_their_customer_alone(
    server: FateServer, issue: Issue, elsewhere: Elsewhere
) -> None:
    mine = issue()
    rotated = elsewhere(
        keys.rotate_key, mine.key.pk, overlap=timedelta(hours=1), now=timezone.now()
    )
    other = issue()
    stream, _ = server.ready(mine.secret)
    theirs, _ = server.ready("", query={"api_key": other.secret})
    at = datetime(2026, 1, 2, tzinfo=UTC)
    announce([change(other.key.pk, 1), change(None, 2)])
    announce(
        [
            change(rotated.key.pk, 3),
            change(mine.key.pk, 4)._replace(
                state=State.FAILED,
                commitment="finalized",
                slot=12,
                transaction_index=5,
                err={"InstructionError": [0, {"Custom": 1}]},
                reason="why: so",
                settled=True,
                at=at,
                bundle_id="ab",
            ),
        ]
    )
    assert stream.fates(1) == told(3)
    event = stream.next()
    assert event is not None and event.identity.count("-") == 2
    assert event.data == {
        "signature": str(signature(4)),
        "state": "failed",
        "final": True,
        "commitment": "finalized",
        "slot": 12,
        "transactionIndex": 5,
        "err": {"InstructionError": [0, {"Custom": 1}]},
        "reason": "why: so",
        "bundleId": "ab",
        "queueMilliseconds": None,
        "sending": None,
        "sendingStopped": None,
        "at": at.timestamp(),
    }
    assert theirs.fates(1) == told(1)


def test_who_comes_again_is_told_what_happened_meanwhile_once(
    server: FateServer, issue: Issue
) -> None:
    issued = issue()
    stream, beginning = server.ready(issued.secret)
    announce([change(issued.key.pk, number) for number in range(3)])
    events = [stream.next() for _ in range(3)]
    stream.close()
    announce([change(issued.key.pk, 3)])
    announce([change(issued.key.pk, 4)])
    for place, missed in (
        (events[0].identity if events[0] else "", (1, 2, 3, 4)),
        (events[2].identity if events[2] else "", (3, 4)),
        (beginning, (0, 1, 2, 3, 4)),
    ):
        again = server.open(issued.secret, **{"Last-Event-ID": place})
        assert again.fates(len(missed)) == told(*missed)
        event = again.next()
        assert event is not None and event.name == "ready"
    announce([change(issued.key.pk, 5)])
    assert again.fates(1) == told(5)


def test_a_gap_is_told_where_something_is_not_kept(server: FateServer, issue: Issue) -> None:
    issued = issue()
    stream, beginning = server.ready(issued.secret)
    for number in range(5):
        announce([change(issued.key.pk, number)])
    stream.fates(5)
    # Trimmed: the first two are not kept.
    client().xtrim(announcing.key_stream(issued.key.pk), maxlen=3, approximate=False)
    again = server.open(issued.secret, query={"last_event_id": beginning})
    event = again.next()
    assert event is not None
    assert (event.name, event.data) == ("gap", {"reason": "not_kept", "since": beginning})
    assert again.fates(3) == told(2, 3, 4)
    # Too long ago to know.
    again = server.open(issued.secret, query={"last_event_id": "1700000000000-0"})
    event = again.next()
    assert event is not None and event.name == "gap"


def test_a_redis_that_lost_its_data_is_noticed(server: FateServer, issue: Issue) -> None:
    issued = issue()
    stream, _ = server.ready(issued.secret)
    announce([change(issued.key.pk, 1)])
    event = stream.next()
    assert event is not None and event.name == "fate"
    client().flushdb()
    announce([change(issued.key.pk, 2)])
    # What was lost in between nobody knows: the stream ends, and who comes again is told.
    end = stream.next()
    assert end is not None and (end.name, end.data) == ("end", {"error": "missed_some"})
    again = server.open(issued.secret, **{"Last-Event-ID": event.identity})
    gap = again.next()
    assert gap is not None and gap.name == "gap"
    assert again.fates(1) == told(2)


def test_signatures_that_are_asked_for_are_told_as_they_stand_and_go_on(
    server: FateServer, issue: Issue, elsewhere: Elsewhere
) -> None:
    issued = issue()
    elsewhere(landed, issued.key, 1)
    elsewhere(stored, issued.key, 2)
    names = [str(signature(number)) for number in (1, 2, 3)]
    stream, _ = server.ready(issued.secret, query={"signature": names})
    assert stream.fates(2) == [(names[0], "landed"), (names[1], "received")]
    announce([change(issued.key.pk, number) for number in (4, 3, 2)])
    assert stream.fates(2) == told(3, 2)
    stream, _ = server.ready(issued.secret, query={"signature": ",".join(names[2:])})
    announce([change(issued.key.pk, number) for number in (1, 3)])
    assert stream.fates(1) == told(3)


def test_nothing_is_lost_or_repeated_between_announcing_and_reading(
    server: FateServer, issue: Issue
) -> None:
    issued = issue()
    stream, beginning = server.ready(issued.secret)
    count, begun = 400, threading.Event()

    def tell() -> None:
        for number in range(count):
            announce([change(issued.key.pk, number), change(issued.key.pk, count + number)])
            if number == 20:
                begun.set()

    telling = threading.Thread(target=tell)
    telling.start()
    assert begun.wait(PATIENCE_SECONDS)
    expected = [name for number in range(count) for name in told(number, count + number)]
    # Each comes in the midst of it, from the beginning or from where the last one was.
    place = beginning
    seen: list[tuple[str, str]] = []
    while len(seen) < 2 * count:
        again = server.open(issued.secret, **{"Last-Event-ID": place})
        taken = 0
        while taken < 97 and len(seen) < 2 * count:
            event = again.next()
            assert event is not None and event.name in ("fate", "ready")
            if event.name == "fate":
                seen.append((event.data["signature"], event.data["state"]))
                place, taken = event.identity, taken + 1
        again.close()
    telling.join()
    assert seen == expected
    assert stream.fates(2 * count) == expected


def ended(stream: FateStream) -> Any:
    event = stream.next()
    assert event is not None and event.name == "end", event
    assert stream.next() is None
    return event.data["error"]


def opened_before_its_key_expires(server: FateServer, issue: Issue) -> FateStream:
    """A stream of a key that expires soon, but late enough for this machine to open it."""
    seconds = 2.0
    while True:
        short = issue(expires_at=timezone.now() + timedelta(seconds=seconds))
        stream = server.open(short.secret)
        if stream.status == 200:
            event = stream.next()
            if event is not None and event.name == "ready":
                return stream
        stream.close()
        seconds *= 2
        assert seconds < PATIENCE_SECONDS


def test_a_key_that_ends_ends_its_streams(
    server: FateServer, issue: Issue, elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is known of a key is not read again by itself: only an announcement ends a stream.
    monkeypatch.setattr(key_cache, "LONGEST_SECONDS", 24 * 3_600.0)
    now = timezone.now()
    revoked, suspended, other = issue(), issue(), issue()
    opened = [server.ready(each.secret)[0] for each in (revoked, suspended, other)]
    expiring = opened_before_its_key_expires(server, issue)
    elsewhere(keys.revoke_key, revoked.key.pk, now=now)
    elsewhere(keys.suspend_key, suspended.key.pk, now=now)
    assert ended(opened[0]) == "key_revoked"
    assert ended(opened[1]) == "key_suspended"
    assert ended(expiring) == "key_expired"
    announce([change(other.key.pk, 1)])
    assert opened[2].fates(1) == told(1)
    assert server.open(revoked.secret).refusal["error"] == "key_revoked"


def test_what_may_not_be_opened_is_refused_in_words(server: FateServer, issue: Issue) -> None:
    issued = issue()
    for key, options, status, word in (
        ("", {}, 401, "key_required"),
        ("nonsense", {}, 401, "key_malformed"),
        ("\u00e9", {}, 401, "key_malformed"),
        (issue(scopes=["rewind"]).secret, {}, 403, "scope_missing"),
        (issue(networks=["10.0.0.0/8"]).secret, {}, 403, "address_not_allowed"),
        (issued.secret, {"Host": "epic.rpc.localhost"}, 403, "tier_too_low"),
        (issued.secret, {"Host": "public.rpc.localhost"}, 404, "path_not_served"),
        (issued.secret, {"Host": "evil.example"}, 404, "host_unknown"),
        (issued.secret, {"path": "/other"}, 404, "path_not_served"),
        (issued.secret, {"method": "POST"}, 405, "http_method_not_allowed"),
        (issued.secret, {"Last-Event-ID": "x"}, 400, "bad_query"),
        (issued.secret, {"query": {"signature": "x"}}, 400, "bad_query"),
    ):
        stream = server.open(key, **options)
        assert (stream.status, stream.refusal["error"]) == (status, word), options
        assert stream.response.headers["Access-Control-Allow-Origin"] == "*"
        stream.close()
    issued = issue(requests_burst=2)
    for _ in range(3):
        last = server.open(issued.secret, query={"signature": "x"})
    assert last.status == 429 and last.refusal["error"] == "rate_limited"
    preflight = server.open(method="OPTIONS")
    assert preflight.status == 204
    assert "last-event-id" in preflight.response.headers["Access-Control-Allow-Headers"]


def test_two_hundred_streams_are_open_at_little_cost(server: FateServer, issue: Issue) -> None:
    issued = [issue(customer="Ada") for _ in range(10)]
    before = psutil.Process().memory_info().rss
    opened = [server.ready(each.secret)[0] for each in issued for _ in range(20)]
    one_more = server.open(issued[0].secret)
    assert (one_more.status, one_more.refusal["error"]) == (429, "too_many_streams")
    assert one_more.refusal["maximum"] == streams.MOST_OF_A_KEY
    announce([change(issued[0].key.pk, 1)])  # all of one customer
    for stream in opened:
        assert stream.fates(1) == told(1)
    # Both ends of each are in this process.
    assert psutil.Process().memory_info().rss - before < 60 * 2**20
    for stream in opened:
        stream.close()
    # Their places are free as soon as the server hears of it.
    wait(lambda: server.open(issued[0].secret).status == 200, "room for one")


def test_a_keys_streams_count_over_all_processes(server: FateServer, issue: Issue) -> None:
    issued, half = issue(), streams.MOST_OF_A_KEY // 2
    with serving() as other:
        opened = [door.ready(issued.secret)[0] for door in (server, other) for _ in range(half)]
        for door in (server, other):
            assert door.open(issued.secret).refusal["error"] == "too_many_streams"
        opened[0].close()
        wait(lambda: other.open(issued.secret).status == 200, "room for one")
        for stream in opened[1:]:
            stream.close()


def test_a_reader_who_does_not_read_is_dropped(
    server: FateServer, issue: Issue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "_WRITE_SECONDS", 1.0)
    issued = issue()
    slow, _ = server.ready(issued.secret)
    quick, _ = server.ready(issued.secret)
    reason = "x" * 2_000
    # Told in steps: on a slow machine the quick one must not be far behind either.
    step = feed.MOST_WAITING // 4
    for first in range(0, 16 * step, step):
        announce(
            [
                change(issued.key.pk, number)._replace(reason=reason)
                for number in range(first, first + step)
            ]
        )
        assert quick.fates(step) == told(*range(first, first + step))
    wait(lambda: server.streams == 1, "the slow one is dropped")
    slow.close()


def test_one_announcement_may_be_of_more_than_may_wait(server: FateServer, issue: Issue) -> None:
    issued = issue()
    stream, _ = server.ready(issued.secret)
    numbers = range(feed.MOST_WAITING + 100)
    announce([change(issued.key.pk, number) for number in numbers])
    assert stream.fates(len(numbers)) == told(*numbers)


def test_heartbeats_come_while_nothing_happens_and_the_end_is_told(
    issue: Issue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "_HEARTBEAT_SECONDS", 0.1)
    issued = issue()
    with serving() as server:
        stream, _ = server.ready(issued.secret)
        deadline, number = time.monotonic() + PATIENCE_SECONDS, 0
        while stream.comments < 2:
            assert time.monotonic() < deadline
            time.sleep(0.15)
            number += 1
            announce([change(issued.key.pk, number)])
            assert stream.fates(1) == told(number)
    assert ended(stream) == "service_stops"


def test_announcing_does_not_fail_without_redis(issue: Issue, settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:9/0"
    announce([change(issue().key.pk, 1)])
