"""Upstreams that take less than is sent: the rest waits where acceptance sees it."""

import json
import threading
import time

import pytest

from priority.lander.windows import Window
from priority.models import Attempt, Submission
from tests.localnet_process import Localnet
from tests.patience import wait
from tests.priority.landing import accept, lander, upstream
from tests.priority.odd_nodes import odd_node
from tests.priority.test_landing_batches import TAKEN, transfers

COUNT = 240


def answers(window: Window, count: int, seconds: float, now: float, under_way: int = 256) -> float:
    """So many answers, one after the other; the time of the last one."""
    for _ in range(count):
        now += seconds
        window.under_way = under_way
        window.answered(seconds, now, most_seconds=10.0)
    return now


def room(window: Window, *, again: bool = False) -> int:
    window.under_way = 0
    while window.has_capacity(again=again):
        window.under_way += 1
    return window.under_way


def test_a_window_grows_while_it_is_used_and_answers_come_soon() -> None:
    window = Window()
    first = room(window)
    answers(window, 50, 0.01, 0.0, under_way=1)
    assert room(window) == first, "nobody needs more"
    answers(window, 1_000, 0.01, 0.0)
    assert room(window) == 256 > first
    assert room(window, again=True) == 128


def test_a_window_is_cut_once_for_the_answers_to_what_was_sent_before_the_cut() -> None:
    window = Window()
    answers(window, 500, 0.01, 0.0)
    for place in range(200):
        window.answered(3.0, 100.0 + place / 1_000, most_seconds=10.0)
    assert room(window) == 180
    answers(window, 50, 3.0, 110.0)
    assert room(window) == 16, "but some may always wait"


def test_an_upstream_that_is_far_away_is_not_slow() -> None:
    window = Window()
    answers(window, 1_000, 1.5, 0.0)
    assert room(window) == 256


@pytest.mark.django_db(transaction=True)
def test_what_a_slow_upstream_has_no_room_for_waits_its_turn(followed: Localnet) -> None:
    one_by_one, counting = threading.Lock(), threading.Lock()
    there: list[int] = [0]
    most: list[int] = [0]

    def take(body: bytes) -> tuple[int, bytes]:
        if json.loads(body)["method"] != "sendTransaction":
            return 200, TAKEN
        with counting:
            there[0] += 1
            most[0] = max(most[0], there[0])
        with one_by_one:
            time.sleep(0.03)
        with counting:
            there[0] -= 1
        return 200, TAKEN

    with odd_node(take) as node:
        upstream("slow", url=node.url, timeout_ms=60_000)
        with lander(followed):
            for wire in transfers(COUNT):
                accept(wire, max_retries=0)
            sent = Submission.objects.exclude(sent_at=None)
            wait(lambda: sent.count() == COUNT, "all are sent")
    # 64 at first, and one more with each answer of the first second.
    assert most[0] < COUNT * 2 // 3, "the rest waits in the queue"
    assert not Attempt.objects.exclude(outcome="sent").exists()
    assert set(Submission.objects.values_list("tries", flat=True)) == {1}
