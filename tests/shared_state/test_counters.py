"""Numbers that only grow, and heartbeats."""

import time

from access import usage
from shared_state import counters, heartbeats


def test_calls_add_up_over_flushes_by_method_and_status(nothing_remembered: None) -> None:
    for _ in range(2):
        for status, times in (("ok", 3), ("slot_skipped", 1)):
            for _ in range(times):
                usage.count(
                    None, "getBlock", status, seconds=time.time(), microseconds=250, address="::1"
                )
        assert usage.flush()
    found = counters.read()
    assert found[(counters.CALLS, "getBlock", "ok")] == 6
    assert found[(counters.CALL_MICROSECONDS, "getBlock", "ok")] == 1_500
    assert found[(counters.CALLS, "getBlock", "slot_skipped")] == 2


def test_what_is_counted_beside_calls_adds_up_too(empty_redis: None) -> None:
    counters.add({("attempts", "leaders", "sent"): 2, ("attempts", "leaders", "failed"): 0})
    counters.add({("attempts", "leaders", "sent"): 3})
    assert counters.read() == {("attempts", "leaders", "sent"): 5}


def test_a_label_cannot_take_anothers_place(empty_redis: None) -> None:
    counters.add({("attempts", "a|b", "sent"): 1})
    assert counters.read() == {("attempts", "a_b", "sent"): 1}


def test_a_process_is_alive_until_it_was_silent_for_too_long(empty_redis: None) -> None:
    assert heartbeats.kinds(now=time.time()) == {}
    heartbeats.beat("worker")
    now = time.time()
    found = heartbeats.kinds(now=now)["worker"]
    assert found.alive == 1
    assert now - found.heard_at < 5
    late = heartbeats.kinds(now=now + heartbeats.MISSING_SECONDS + 1)["worker"]
    assert (late.alive, late.heard_at) == (0, found.heard_at)
    # The process is forgotten at last, when its kind was heard is not.
    assert heartbeats.kinds(now=now + 3_600)["worker"].heard_at == found.heard_at
