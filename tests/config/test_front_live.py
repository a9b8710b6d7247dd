"""The live strip of the front page: true, honest when idle, and read once a second for all."""

import re
import time
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from solders.hash import Hash

from access.models import ApiKey
from config.pages import front_live
from historical.models import Block
from ingest import follower_state
from ingest.follower_state import FollowerState
from operations.readings.landing import read_landing
from priority.models import Submission
from tests.priority.landed_samples import fill_landing


@pytest.fixture(autouse=True)
def fresh(empty_redis: None) -> None:
    """Nothing is in Redis."""


def shown(client: Any) -> str:
    answer = client.get("/front/live/", HTTP_HOST="localhost")
    assert answer.status_code == 200
    return " ".join(re.sub("<[^>]+>", " ", answer.content.decode()).split())


def follow(*, heard: float) -> None:
    now = time.time()
    state = FollowerState(connected_since=now - 60, heard_at=now - heard, head_slot=1_234_567)
    follower_state.publish(state)


def test_an_idle_service_says_so(client: Any, empty_ledger: None) -> None:
    text = shown(client)
    assert text.startswith("idle No chain is followed")
    assert "No slot is stored yet." in text and "Newest slot none the ledger is empty" in text
    assert "Landed in the last 15 min none nothing settled in this time" in text
    assert "Archive empty nothing is archived yet" in text


@pytest.mark.parametrize(
    ("heard", "word"), [(-60.0, "live "), (60.0, r"silent No slot for \d+ s\.")]
)
def test_it_says_whether_slots_come_in(
    client: Any, empty_ledger: None, heard: float, word: str
) -> None:
    follow(heard=heard)
    text = shown(client)
    assert re.match(word, text) and "Newest slot 1,234,567" in text


def store_blocks(*found: tuple[int, int, int]) -> None:
    """Blocks of (slot, parent slot, transactions), without their bytes."""
    Block.objects.bulk_create(
        Block(
            slot=slot,
            parent_slot=parent,
            blockhash=Hash.new_unique(),
            previous_blockhash=Hash.new_unique(),
            transaction_count=count,
            failed_count=0,
            newest_version=0,
            form=0,
            frames=[1],
            body=b"x",
            recorded_at=timezone.now(),
        )
        for slot, parent, count in found
    )


def test_bars_are_the_newest_slots(client: Any, empty_ledger: None) -> None:
    store_blocks((100, 99, 4), (102, 100, 1), (105, 103, 0))
    answer = client.get("/front/live/", HTTP_HOST="localhost").content.decode()
    kinds = re.findall(r'<rect class="(\w+)".*?<title>Slot (\d+)', answer)
    assert kinds == [
        ("block", "100"),
        ("skipped", "101"),
        ("block", "102"),
        ("missing", "103"),
        ("missing", "104"),
        ("block", "105"),
    ]
    assert "3 blocks with 5 transactions, 1 skipped, 2 missing" in answer
    heights = [int(height) for height in re.findall(r'class="block".*?height="(\d+)"', answer)]
    assert heights[0] > heights[1] > heights[2] > 0


def test_the_share_that_landed_is_that_of_the_admins_home(
    client: Any, empty_ledger: None, api_key: str
) -> None:
    now = timezone.now()
    fill_landing(now, key=ApiKey.objects.get(), rounds=2)
    Submission.objects.update(accepted_at=now)
    rate = read_landing(now).rate
    assert rate is not None and 0 < rate < 1
    assert f"Landed in the last 15 min {100 * rate:.3g} % of what settled in this time" in shown(
        client
    )


def test_it_is_read_once_a_second_for_all(
    client: Any, empty_ledger: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(front_live._kept, "_seconds", 3_600.0)  # a busy machine takes its time
    shown(client)
    with CaptureQueriesContext(connection) as queries:
        for _ in range(5):
            shown(client)
    assert len(queries) == 0


def test_it_can_be_switched_off(client: Any, empty_ledger: None, settings: Any) -> None:
    front = client.get("/", HTTP_HOST="localhost").content.decode()
    assert 'data-source="/front/live/"' in front
    settings.FRONT_FIGURES = False
    front = client.get("/", HTTP_HOST="localhost").content.decode()
    assert "/front/live/" not in front and "Landed" not in front
    assert client.get("/front/live/", HTTP_HOST="localhost").status_code == 404


def test_it_is_no_page_of_tier_hosts_and_sets_no_cookie(
    client: Any, db: None, settings: Any
) -> None:
    answer = client.get("/front/live/", HTTP_HOST="localhost")
    assert answer["Cache-Control"] == "public, max-age=1" and not answer.cookies
    assert "default-src 'self'" in answer["Content-Security-Policy"]
    answer = client.get("/front/live/", HTTP_HOST=f"basic.rpc.{settings.DOMAIN}")
    assert (answer.status_code, answer.json()["error"]) == (404, "path_not_served")


def test_one_is_no_plural(client: Any, empty_ledger: None) -> None:
    store_blocks((100, 99, 1))
    answer = client.get("/front/live/", HTTP_HOST="localhost").content.decode()
    assert "1 block with 1 transaction, 0 skipped" in answer
