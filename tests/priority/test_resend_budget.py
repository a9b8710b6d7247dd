"""How often submissions are sent again, and when that ends, whatever the follower reports."""

import contextlib
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priority.lander.budget import ResendBudget
from priority.lander.chain_view import Chain
from priority.models import Submission
from priority.queue.store import Limits
from tests.examples import examples
from tests.localnet_process import Localnet
from tests.patience import wait
from tests.priority.landing import accept, lander, told_of, upstream, waiting
from tests.priority.odd_nodes import odd_node
from tests.priority.test_landing_batches import TAKEN, sends, transfers

SAVED, PER_SECOND = 200, 50
COUNT = 150


@settings(max_examples=examples(150))
@given(
    st.lists(
        st.tuples(
            st.sampled_from(("sent", "landed", "take")),
            st.integers(1, 250),
            st.floats(0, 10, allow_nan=False),
        ),
        max_size=20,
    )
)
def test_resends_of_any_span_are_bound_by_what_is_sent_and_what_lands_in_it(
    steps: list[tuple[str, int, float]],
) -> None:
    budget, now = ResendBudget(), 1_000.0
    # Of each step: its time, how many re-sends it took, and how many it allowed.
    taken: list[tuple[float, int, int]] = []
    for what, count, pause in steps:
        now += pause
        took = 0
        for _ in range(count):
            if what == "take":
                took += budget.take(now)
            else:
                getattr(budget, what)()
        taken.append((now, took, 0 if what == "take" else count))
    for first, (begins, _, _) in enumerate(taken):
        resends = allowed = 0
        for at, took, allows in taken[first:]:
            resends, allowed = resends + took, allowed + allows
            assert resends <= SAVED + PER_SECOND * (at - begins) + allowed + 1e-6


def test_a_submission_alone_goes_again_in_every_slot() -> None:
    budget = ResendBudget()
    assert all(budget.take(number * 0.4) for number in range(2_000))


@pytest.mark.django_db(transaction=True)
def test_where_nothing_is_heard_to_land_each_is_sent_less_often(followed: Localnet) -> None:
    with odd_node(lambda _body: (200, TAKEN)) as node:
        upstream("taker", url=node.url)
        with lander(followed):
            began = time.monotonic()
            for wire in transfers(COUNT):
                accept(wire)
            sent = Submission.objects.exclude(sent_at=None)
            wait(lambda: sent.count() == COUNT, "all are sent")
            bound = COUNT + COUNT + SAVED
            wait(lambda: len(node.bodies) > bound, "what is saved is spent")
            time.sleep(1.5)
            times = sends(node)
            lasted = time.monotonic() - began
    assert len(times) == COUNT, "each was sent"
    assert sum(times.values()) <= bound + PER_SECOND * lasted
    assert max(times.values()) >= 3, "and some of them again"


@pytest.mark.parametrize("knows", ["the node", "the clock"])
@pytest.mark.django_db(transaction=True)
def test_a_blockhash_expires_although_the_follower_is_silent(
    localnet: Localnet, knows: str
) -> None:
    upstream_limits = Limits(slot_ms=10)
    with contextlib.ExitStack() as following, odd_node(lambda _body: (200, TAKEN)) as node:
        following.enter_context(told_of(localnet))
        upstream("taker", url=node.url)
        asked = localnet if knows == "the node" else None
        limits = Limits() if asked else upstream_limits
        with lander(asked, limits=limits):
            (early,) = transfers(1)
            accept(early)
            wait(lambda: node.bodies, "it is sent")
            following.close()
            wait(lambda: waiting() == 0, "it is sent no more")
            (late,) = transfers(1)
            accept(late)
            wait(lambda: late in sends(node), "a new one is sent all the same")


def test_while_no_height_is_reported_the_clock_counts_blocks() -> None:
    chain = Chain(0.4)
    assert chain.height_now(5.0) is None
    chain.learn_head(110, 100, bytes(32), 10.0)
    assert chain.height_now(10.0) == chain.height_now(11.6) == 100, "a pause of some slots"
    assert chain.height_now(10.0 + 0.4 * 64) == 160
    assert chain.last_valid_height(bytes(31) + b"\1", 10.0 + 0.4 * 64) == 310
    # The node's word counts from then on, also where the chain stands.
    chain.hear_heights(120, 110, 40.0)
    assert (chain.height_now(40.0), chain.confirmed_height) == (120, 110)
    assert chain.height_unheard_for(41.0) == 1.0
    chain.learn_head(170, 125, bytes(32), 42.0)
    assert chain.height_now(42.0) == 125
