"""Many submissions in one round, and a lander that is killed between the round's steps."""

import contextlib
import json
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator

import psycopg
import pytest
import redis
from django.conf import settings
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.transaction import VersionedTransaction

from priority.models import Attempt, Submission
from priority.queue.services.lander_names import landers
from tests.databases import this_database
from tests.forked_commands import ForkedProcess
from tests.localnet.wallets import pay
from tests.localnet_process import Localnet
from tests.patience import wait
from tests.priority.landing import accept, start_lander, upstream, waiting
from tests.priority.odd_nodes import OddNode, odd_node

pytestmark = pytest.mark.django_db(transaction=True)

COUNT = 120
TAKEN = json.dumps({"jsonrpc": "2.0", "id": 1, "result": "taken"}).encode()


def transfers(count: int) -> list[bytes]:
    """Of nobody who has lamports: the node of these tests takes everything."""
    payer, blockhash = Keypair(), Hash.new_unique()
    messages = (
        MessageV0.try_compile(payer.pubkey(), [pay(payer, payer.pubkey(), lamports)], [], blockhash)
        for lamports in range(count)
    )
    return [bytes(VersionedTransaction(message, [payer])) for message in messages]


def accepted(wires: list[bytes]) -> None:
    for wire in wires:
        accept(wire, max_retries=0)


def sends(node: OddNode) -> Counter[bytes]:
    """How often the node was sent each transaction."""
    return Counter(b64decode(json.loads(body)["params"][0]) for body in list(node.bodies))


@contextlib.contextmanager
def landing(localnet: Localnet, name: str) -> Iterator[ForkedProcess]:
    process = start_lander(localnet, "--name", name)
    try:
        wait(lambda: landers().get(name, {}).get("upstreams"), f"{name} has an upstream")
        yield process
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def unwritable() -> Iterator[None]:
    """No submission can be written while inside."""
    with psycopg.connect(this_database()) as connection:
        connection.execute("LOCK TABLE priority_submission IN EXCLUSIVE MODE")
        yield


def every_one_is_stored_once(wires: list[bytes]) -> None:
    wait(lambda: not waiting(), "all are done with")
    rows = Submission.objects.all()
    assert sorted(bytes(row.signature) for row in rows) == sorted(wire[1:65] for wire in wires)
    assert {(row.state, row.tries) for row in rows} == {("sent", 1)}
    assert all(row.sent_at is not None for row in rows)
    assert Attempt.objects.filter(outcome="sent").count() == len(wires)


def test_killed_before_anything_is_written_all_is_sent_again_and_stored_once(
    followed: Localnet,
) -> None:
    wires = transfers(COUNT)
    with odd_node(lambda body: (200, TAKEN)) as node:
        upstream("odd", url=node.url)
        with unwritable(), landing(followed, "first"):
            accepted(wires)
            wait(lambda: len(sends(node)) == COUNT, "all are sent")
            assert not Submission.objects.exists() and waiting() == COUNT
        with landing(followed, "second"):
            every_one_is_stored_once(wires)
        found = sends(node)
    assert set(found) == set(wires)
    assert max(found.values()) <= 2, "once by each lander"


@pytest.mark.usefixtures("own_redis")
def test_killed_between_the_rows_and_the_stream_nothing_is_sent_twice(followed: Localnet) -> None:
    wires = transfers(COUNT)
    with (
        odd_node(lambda body: (200, TAKEN)) as node,
        redis.Redis.from_url(settings.REDIS_URL) as client,
    ):
        upstream("odd", url=node.url)
        try:
            with landing(followed, "first"):
                with unwritable():
                    accepted(wires)
                    wait(lambda: len(sends(node)) == COUNT, "all are sent")
                    # From here on no entry can be let go of.
                    client.execute_command("CLIENT", "PAUSE", "600000", "WRITE")
                wait(lambda: Submission.objects.filter(state="sent").count() == COUNT, "written")
                assert waiting() == COUNT
        finally:
            client.execute_command("CLIENT", "UNPAUSE")
        with landing(followed, "second"):
            every_one_is_stored_once(wires)
        assert sends(node) == dict.fromkeys(wires, 1)


def test_killed_in_the_middle_of_a_round_every_submission_is_sent(followed: Localnet) -> None:
    wires = transfers(COUNT)
    with odd_node(lambda body: (200, TAKEN)) as node:
        upstream("odd", url=node.url)
        with landing(followed, "first") as first:
            accepted(wires)
            wait(lambda: node.bodies, "something is sent")
            first.kill()
        with landing(followed, "second"):
            every_one_is_stored_once(wires)
        found = sends(node)
    assert set(found) == set(wires)
    assert max(found.values()) <= 2
