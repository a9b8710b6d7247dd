"""A part of each recorded validator's chain through the follower's process, ingest, ledger,
archive, subscriptions, gRPC and proof: the doors give what the node and its plugin gave.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings

from historical.models import Block
from rewind.proof.services import proving
from tests.clients.service import Service
from tests.databases import this_database
from tests.forked_commands import start
from tests.ingest.following import worker
from tests.ingest.stored_chain import archived_to, no_open_gaps
from tests.patience import PATIENCE_SECONDS, wait
from tests.recorded_doors import (
    VERDICTS,
    Notified,
    check_accounts,
    check_banks,
    check_blocks,
    check_geyser,
    check_replays,
    import_snapshot,
    is_final,
    subscribed_geyser,
    until_heard,
)
from tests.recorded_node import RecordedNode, load, serving
from tests.rewind.test_running_proof import proven
from tests.subscriptions.conftest import limited
from tests.web_server import service_worker
from tests.webserver.serving import serving as serving_web
from tests.yellowstone.conftest import serving_geyser

__all__ = ["limited"]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_redis")]


@pytest.mark.parametrize(
    ("version", "first", "last"),
    [pytest.param("4.1.2", 200, 250, marks=pytest.mark.soak), ("4.4.0", 600, 664)],
)
def test_a_part_of_the_chain_is_at_every_door_as_the_node_had_it(
    fixtures: Path, limited: Callable[..., str], settings: Any, version: str, first: int, last: int
) -> None:
    folder = fixtures / f"agave-{version}"
    recording = load(folder, first - 1, last)
    settings.LEDGER_API_VERSION, settings.FOLLOW_ENTRIES = version, True
    proving.forget()
    key = limited(stream_notifications_per_second=None)
    with serving(RecordedNode(recording)) as node, worker():
        environment = {
            **os.environ,
            "DATABASE_URL": this_database(),
            "REDIS_URL": django_settings.REDIS_URL,
            "LOCALNET": "false",
            "UPSTREAM_RPC_URL": node.url,
            "FOLLOW_ENTRIES": "true",
            "UPSTREAM_GEYSER_URL": node.geyser_url,
        }
        with serving_web(service_worker()) as port, serving_geyser() as grpc_port:
            service = Service("127.0.0.1", port, {"epic": key}, Path(), environment)
            import_snapshot(recording, folder, first, service)
            node.play(recording.place(first, 0.5))
            follower = start(["follow"], environment=environment)
            try:
                wait(lambda: node.subscribed, "the stream is joined")
                heard = until_heard(node, grpc_port, key, first)
                notified = Notified(f"ws://127.0.0.1:{port}/", key)
                with subscribed_geyser(grpc_port, key) as updates:
                    node.play(slot_seconds=0.02)
                    newest = node.newest["finalized"]
                    archived_to(newest)
                    slots = list(range(first + 1, newest + 1))
                    wait(lambda: notified.is_final(newest), "the last root")
                    wait(lambda: is_final(updates, newest), "its status")
                    since = slots[slots.index(heard + 1) :]
                    notified.check(recording, since)
                    sent = list(updates)
                    notified.close()
                wait(no_open_gaps, "what a busy machine missed is asked for again")
            finally:
                follower.terminate()
                assert follower.wait(PATIENCE_SECONDS) == 0
            stored = Block.objects.filter(slot__gt=first).order_by("slot")
            assert list(stored.values_list("slot", flat=True)) == slots
            check_blocks(recording, service, slots)
            check_accounts(recording, service, slots)
            verdicts = check_replays(recording, service, slots)
            assert "verified" in verdicts and set(verdicts) <= VERDICTS[version], verdicts
            (run,) = proven(trusts_node=False)["proven"]
            assert run[0] <= first and run[1] == newest - 1
            check_banks(recording, service, slots)
            check_geyser(recording, sent, since)
