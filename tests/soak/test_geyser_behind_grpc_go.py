"""The service read by grpc-go, which ends its connections by age: a subscriber loses nothing."""

import contextlib
import time
from pathlib import Path

import grpc
import pytest

from tests.soak.test_hostile_node import SECONDS, aging, go_relay
from tests.yellowstone.conftest import Geyser, Request, geyser, limited, localnet
from upstream.protobuf import geyser_pb2 as schema

pytestmark = pytest.mark.soak

__all__ = ["geyser", "go_relay", "limited", "localnet"]


def test_a_subscriber_that_comes_back_has_every_block_once(geyser: Geyser, go_relay: Path) -> None:
    first = (
        geyser.call("SubscribeReplayInfo", schema.SubscribeReplayInfoRequest()).first_available + 1
    )
    ends = 0
    seen: list[int] = []
    url = f"http://127.0.0.1:{geyser.port}"
    with aging(go_relay, url, age="1s", grace="100ms") as relay:
        behind = Geyser(int(relay.rpartition(":")[2]), geyser.localnet, geyser.key)
        until = time.monotonic() + SECONDS / 4
        while time.monotonic() < until:
            request = Request(
                blocks={"b": {"include_accounts": False}},
                commitment=1,  # type: ignore[arg-type]
                from_slot=seen[-1] + 1 if seen else first,
            )
            with behind.subscribed(request) as stream:
                with contextlib.suppress(grpc.RpcError):
                    for update in stream:
                        seen.append(update.block.slot)
                ends += 1
    assert ends > 3
    assert seen == list(range(first, seen[-1] + 1))
