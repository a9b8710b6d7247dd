"""Which ways a submission goes, and when an upstream is left alone."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from priority.lander.breakers import Breaker
from priority.lander.services.routing import chosen
from priority.submissions import Accepted
from priority.upstreams.store import UpstreamRow


@dataclass(frozen=True)
class Some:
    row: UpstreamRow


def way(name: str, kind: str = "node", *tiers: str, weight: int = 100) -> Some:
    return Some(UpstreamRow(1, name, kind, "", frozenset(tiers), weight, 0, 2_000, None))


LEADERS, NODE = way("leaders", "leaders"), way("Fast", "node")
ENGINE, ULTRA = way("engine", "block_engine"), way("ultra-only", "node", "ultra")
WAYS = [LEADERS, NODE, ENGINE, ULTRA]


def names(ways: list[Some] = WAYS, **fields: Any) -> set[str]:
    given = {"kind": "transaction", "tier": "basic", "signatures": [bytes(64)], **fields}
    given.setdefault("received_at", 0.0)
    accepted = Accepted(wires=[b""], key_id=None, edge="", request_id="", **given)
    return {each.row.name for each in chosen(ways, accepted)}


def test_without_a_choice_all_of_the_tier_race() -> None:
    assert names() == {"leaders", "Fast", "engine"}
    assert names(tier="ultra") == {"leaders", "Fast", "engine", "ultra-only"}
    assert names(kind="sweep", tier="") == {"leaders", "Fast", "engine", "ultra-only"}


def test_a_choice_is_kept_whatever_its_letters() -> None:
    assert names(only=["fast"]) == {"Fast"}
    assert names(only=["fast", "bundle"]) == {"Fast", "engine"}
    assert names(only=["leaders", "engine"]) == {"leaders", "engine"}
    assert names(only=["ultra-only"]) == set()


def test_a_bundle_goes_to_engines_alone() -> None:
    assert names(kind="bundle") == {"engine"}
    assert names([way("slow", "block_engine", weight=1)], kind="bundle") == {"slow"}


def test_a_drained_one_takes_only_what_was_accepted_before() -> None:
    since = datetime.fromtimestamp(1_000, UTC)
    ways = [NODE, Some(LEADERS.row._replace(draining_since=since))]
    assert names(ways, received_at=999.9) == {"Fast", "leaders"}
    assert names(ways, received_at=1_000.1) == {"Fast"}
    assert names(ways, received_at=1_000.1, only=["leaders"]) == set()


@given(st.binary(min_size=64, max_size=64))
def test_weights_never_leave_a_submission_without_a_way(signature: bytes) -> None:
    ways = [way("a", weight=1), way("b", weight=3)]
    found = names(ways, signatures=[signature])
    assert found and found == names(ways, signatures=[signature])


def test_a_weight_is_the_share_that_it_says() -> None:
    ways = [way("all"), way("some", weight=30)]
    share = sum(
        "some" in names(ways, signatures=[bytes([n % 256, n // 256]) * 32]) for n in range(4_000)
    )
    assert 1_080 < share < 1_320  # 1,200 and four times the deviation


def test_a_breaker_opens_after_failures_in_a_row_and_closes_when_a_try_gets_through() -> None:
    breaker = Breaker()
    assert not breaker.failed(0.0, "a") and not breaker.failed(0.0, "b")
    assert not breaker.succeeded()
    assert not breaker.failed(0.0, "a") and not breaker.failed(0.0, "b")
    assert breaker.allows(0.0, seconds=1.0)
    assert breaker.failed(0.0, "c") and breaker.reason == "c"
    assert not breaker.failed(0.5, "under way before"), "that says nothing new"
    assert not breaker.allows(0.9, seconds=1.0)
    assert breaker.allows(1.0, seconds=1.0)
    assert not breaker.allows(1.5, seconds=1.0), "one try decides"
    assert breaker.failed(1.6, "d")
    assert not breaker.allows(3.5, seconds=1.0), "the pause has doubled"
    assert breaker.allows(3.6, seconds=1.0)
    assert breaker.succeeded() and breaker.allows(3.7, seconds=1.0)


def test_a_breaker_that_nobody_answers_to_tries_again_after_its_time() -> None:
    breaker = Breaker()
    assert breaker.failed(0.0, "limited", retry_after=30.0), "a named pause counts at once"
    assert not breaker.allows(29.9, seconds=1.0)
    assert breaker.allows(30.0, seconds=1.0)
    assert breaker.allows(31.0, seconds=1.0), "the try before was never answered"


@given(st.lists(st.booleans(), max_size=60))
def test_a_breaker_rests_a_minute_at_most_and_forgets_when_it_closes(outcomes: list[bool]) -> None:
    breaker, now = Breaker(), 0.0
    for good in outcomes:
        if breaker.allows(now, seconds=1.0):
            breaker.succeeded() if good else breaker.failed(now, "x")
        assert breaker.open_until - now <= 60.0
        if good and not breaker.is_open:
            assert breaker.failures == 0
        now = max(now + 1.0, breaker.open_until)
