"""A lander with a follower beside it, and what is given to them."""

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import redis
from django.conf import settings
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from ingest.event_publisher import EventPublisher
from priority.chain_events import HEAD
from priority.lander.services.lander import Lander, LanderConfig
from priority.lander.services.upstreams import Defaults
from priority.models import Submission
from priority.queue.store import DEFAULT_LIMITS
from priority.submissions import ACCEPTED_STREAM, FIELD, Accepted, Tip, pack
from priority.upstreams.models import Upstream
from tests import forked_commands
from tests.databases import this_database
from tests.forked_commands import ForkedProcess
from tests.localnet.wallets import pay, signed
from tests.localnet_process import Localnet
from tests.patience import PATIENCE_SECONDS, wait
from upstream.geyser.client import GeyserStream
from upstream.geyser.errors import StreamError
from upstream.geyser.updates import AccountUpdate


def upstream(name: str, kind: str = "node", **fields: Any) -> Upstream:
    """In place of the one of that name that migrations make, if no test has emptied the tables."""
    Upstream.objects.filter(name=name).delete()
    return Upstream.objects.create(name=name, kind=kind, **fields)


@contextlib.contextmanager
def told_of(localnet: Localnet) -> Iterator[None]:
    """The localnet's stream, told to landers from its newest slot on. The follower does the same
    beside storing it, which takes it as long as the chain is; landing needs none of that.
    """
    publisher = EventPublisher()
    stream = GeyserStream(localnet.geyser_url)

    def read() -> None:
        with contextlib.suppress(StreamError):
            for update in stream:
                if not isinstance(update, AccountUpdate):
                    publisher.add(update)

    thread = threading.Thread(target=read)
    publisher.start()
    thread.start()
    try:
        wait(lambda: _redis("exists", HEAD), "something is told")
        yield
    finally:
        stream.close()
        thread.join()
        publisher.stop()


def _redis(method: str, *words: str) -> Any:
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        return getattr(client, method)(*words)


def accept(
    *transactions: VersionedTransaction | bytes, kind: str = "transaction", **fields: Any
) -> bytes:
    """The first signature of what now waits for a lander."""
    wires = [bytes(each) for each in transactions]
    signatures = [bytes(VersionedTransaction.from_bytes(each).signatures[0]) for each in wires]
    accepted = Accepted(
        kind=kind,
        signatures=signatures,
        wires=wires,
        received_at=fields.pop("received_at", time.time()),
        key_id=fields.pop("key_id", None),
        tier="basic",
        edge="edge-1",
        request_id="test",
        **fields,
    )
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.xadd(ACCEPTED_STREAM, {FIELD: pack(accepted)})
    return signatures[0]


def transfer_of(localnet: Localnet, payer: Keypair, lamports: int = 1, **options: Any) -> Any:
    """A transaction to a new address, so that each is another one."""
    to = Pubkey(os.urandom(32))
    return signed(localnet, [pay(payer, to, 1_000_000 + lamports)], payer, **options)


@contextlib.contextmanager
def lander(localnet: Localnet | None, *, name: str = "test", **fields: Any) -> Iterator[Lander]:
    """Lands in a thread of this process until the end of the block."""
    node_url = "" if localnet is None else localnet.url
    engine_url = "" if localnet is None else localnet.block_engine_url
    config = LanderConfig(
        name=name,
        redis_url=fields.pop("redis_url", settings.REDIS_URL),
        identity=Keypair(),
        payer=fields.pop("payer", Keypair()),
        defaults=Defaults(node_url, engine_url, fields.pop("engine_keypair", None)),
        nonce_patience_seconds=fields.pop("nonce_patience_seconds", 600),
        with_faucet=fields.pop("with_faucet", True),
        limits=fields.pop("limits", DEFAULT_LIMITS),
        **fields,
    )
    loop = asyncio.new_event_loop()
    running: list[Lander] = []
    failure: list[BaseException] = []
    started = threading.Event()

    async def land() -> None:
        running.append(Lander(config))
        started.set()
        await running[0].run()

    def work() -> None:
        try:
            loop.run_until_complete(land())
        except BaseException as error:
            failure.append(error)
        finally:
            started.set()
            loop.close()

    thread = threading.Thread(target=work)
    thread.start()
    started.wait()
    try:
        yield running[0]
    finally:
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(running[0].stop)
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()
        if failure:
            raise failure[0]


def start_lander(localnet: Localnet, *arguments: str) -> ForkedProcess:
    """`manage.py land` on this test's database and Redis."""
    environment = {
        **localnet.environment,
        "TIDEMARK_RUN_DIR": os.environ["TIDEMARK_RUN_DIR"],
        "DATABASE_URL": this_database(),
        "REDIS_URL": settings.REDIS_URL,
    }
    # It may write where this process does.
    return forked_commands.start(["land", *arguments], environment=environment, output=2)


def row(signature: bytes) -> Submission | None:
    return Submission.objects.filter(signature=signature).first()


def reached(signature: bytes, *states: str, commitment: str = "") -> Submission:
    """The submission, once it has one of the states."""

    def look() -> Submission | None:
        found = row(signature)
        if found is None or found.state not in states:
            return None
        return found if not commitment or found.commitment == commitment else None

    try:
        result: Submission = wait(look, f"{states}")
    except AssertionError:
        found = row(signature)
        told = None if found is None else (found.state, found.commitment, found.reason)
        raise AssertionError(f"{told} instead of {states} {commitment}") from None
    return result


def waiting() -> int:
    """Entries that no lander is done with."""
    return int(_redis("xlen", ACCEPTED_STREAM))


def tip_of(pubkey: Pubkey, lamports: int) -> Tip:
    return Tip(bytes(pubkey), lamports, 0, 0)
