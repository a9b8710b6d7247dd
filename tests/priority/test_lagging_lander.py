"""A lander that hears of the chain later than another one that has the same transaction."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from django.conf import settings
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.transaction import VersionedTransaction

from access.models import ApiKey
from priority.chain_events import Seen, SlotMoved
from priority.lander.store.chain_events import publish_events
from priority.models import Bundle
from priority.queue.services.lander_names import landers
from tests.patience import wait
from tests.priority.landing import accept, lander, reached, row, upstream
from tests.priority.odd_nodes import OddNode, odd_node
from tests.priority.test_landing_bundles import accept_bundle
from tests.priority.test_landing_nonces import events
from tests.priority.test_landing_trouble import answered

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_redis")]

_USER = ("lagging", "lagging")


def _rights(*keys: str) -> None:
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        words = ["on", f">{_USER[1]}", "+@all", "resetkeys", *(f"~tidemark:{key}" for key in keys)]
        client.execute_command("ACL", "SETUSER", _USER[0], *words)


def hears() -> None:
    """What the chain did meanwhile."""
    _rights("*")


@pytest.fixture
def node(own_redis: None) -> Iterator[OddNode]:
    """Takes all that both landers send to it."""
    with odd_node(lambda body: (200, answered("taken"))) as node:
        upstream("odd", url=node.url)
        yield node


@pytest.fixture
def both(node: OddNode) -> Iterator[Callable[..., bytes]]:
    """`both(submit)` calls it twice: each lander has one."""
    _rights("landing:*")  # all but the chain's
    _, _, address = settings.REDIS_URL.rpartition("@")
    url = f"unix://{':'.join(_USER)}@{address}"
    with (
        lander(None, name="quick", most_submissions=1),
        lander(None, name="lagging", redis_url=url, most_submissions=1),
    ):
        wait(lambda: len(landers()) == 2, "both run")

        def twice(submit: Callable[[], Any]) -> None:
            submit()
            wait(lambda: holders() == ["quick"] or holders() == ["lagging"], "one has it")
            submit()
            wait(lambda: holders() == ["lagging", "quick"], "both have it")

        yield twice


def holders() -> list[str]:
    """Who has a submission and has stored it."""
    states = landers().items()
    return sorted(
        name for name, each in states if (each["inFlight"], each["waitingRows"]) == (1, 0)
    )


def transaction() -> VersionedTransaction:
    payer = Keypair()
    message = MessageV0.try_compile(payer.pubkey(), [], [], Hash.new_unique())
    return VersionedTransaction(message, [payer])


def tell(*happened: Any) -> None:
    publish_events(list(happened), now=time.time())


def written_again(node: OddNode) -> None:
    """The lagging one has sent it again since, and written that before it did so once more."""
    before = len(node.bodies)
    wait(lambda: len(node.bodies) >= before + 2, "it is sent again")


def test_it_takes_nothing_back_that_another_one_saw(node: OddNode, both: Any, issue: Any) -> None:
    key: ApiKey = issue().key
    sent = transaction()
    both(lambda: accept(sent, key_id=key.pk))
    signature = bytes(sent.signatures[0])
    reached(signature, "sent")
    tell(SlotMoved(98, "finalized"), Seen(100, signature, [3], {}), SlotMoved(100, "processed"))
    reached(signature, "landed", commitment="processed")
    written_again(node)
    found = row(signature)
    assert found and (found.state, found.slot, found.transaction_index) == ("landed", 100, 3)
    assert found.seen_at and found.commitment == "processed"
    tell(SlotMoved(100, "confirmed"))
    reached(signature, "landed", commitment="confirmed")
    hears()
    wait(lambda: not holders(), "both are done with it")
    found = row(signature)
    assert found and (found.state, found.slot, found.commitment) == ("landed", 100, "confirmed")
    told = [(each["state"], each["commitment"]) for each in events(key.pk)]
    fates = [("received", None), ("sent", None), ("landed", "processed"), ("landed", "confirmed")]
    assert [*dict.fromkeys(told)] == [each for each in fates if each in told]
    assert told == sorted(told, key=fates.index), "none goes back"


def test_a_dead_fork_takes_it_back_all_the_same(node: OddNode, both: Any) -> None:
    sent = transaction()
    both(lambda: accept(sent))
    signature = bytes(sent.signatures[0])
    tell(SlotMoved(98, "finalized"), Seen(100, signature, [3], {}), SlotMoved(100, "processed"))
    reached(signature, "landed")
    tell(SlotMoved(100, "dead"))
    found = reached(signature, "sent")
    assert (found.slot, found.commitment, found.seen_at) == (None, "", None)
    tell(Seen(101, signature, [0], {}), SlotMoved(101, "processed"))
    assert reached(signature, "landed").slot == 101
    written_again(node)
    now = row(signature)
    assert now and now.slot == 101


def test_nor_from_a_bundle(node: OddNode, both: Any) -> None:
    inside = [transaction(), transaction()]
    upstream("engine", kind="block_engine", url=node.url)
    both(lambda: accept_bundle(*inside))
    names = b"".join(bytes(each.signatures[0]) for each in inside)
    tell(SlotMoved(98, "finalized"), Seen(100, names, [3, 4], {}), SlotMoved(100, "processed"))
    wait(lambda: Bundle.objects.filter(state="landed"), "it landed")
    written_again(node)
    assert Bundle.objects.values_list("state", "slot").get() == ("landed", 100)
    tell(SlotMoved(100, "dead"))
    wait(lambda: Bundle.objects.exclude(state="landed"), "its slot died")
    assert Bundle.objects.get().slot is None
