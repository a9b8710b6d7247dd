"""What the log says of a node that does not tell the leaders."""

import asyncio
import json
import logging

import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from priority.lander.chain_view import Chain
from priority.lander.services.leaders_sender import LeadersSender
from tests.priority.odd_nodes import odd_node
from upstream.node import Node
from upstream.tpu import TpuClient


class Hurried(asyncio.SelectorEventLoop):
    """Its clock is ahead by as much as is said."""

    ahead = 0.0

    def time(self) -> float:
        return super().time() + self.ahead


async def warmed(sender: LeadersSender) -> None:
    await sender.warm()
    await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})


def test_a_node_is_waited_for_before_it_is_complained_of(caplog: pytest.LogCaptureFixture) -> None:
    is_up = False

    def lines() -> list[str]:
        return [
            each.getMessage() for each in caplog.records if each.name == LeadersSender.__module__
        ]

    def answer(body: bytes) -> tuple[int, bytes]:
        if not is_up:
            return 503, b""
        call = json.loads(body)
        result = {
            "getSlot": 5,
            "getGenesisHash": str(Pubkey.default()),
            "getSlotLeaders": [str(Pubkey.default())] * 10,
            "getClusterNodes": [],
        }[call["method"]]
        return 200, json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}).encode()

    with odd_node(answer) as node, asyncio.Runner(loop_factory=Hurried) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, Hurried)

        async def sender_of_node() -> LeadersSender:
            client = TpuClient(Keypair())
            return LeadersSender(Node(node.url), client, Chain(), seconds=1.0)

        sender = runner.run(sender_of_node())
        runner.run(warmed(sender))
        assert not lines(), "it may have been started with us"
        for _ in range(3):
            loop.ahead += 3.0
            runner.run(warmed(sender))
        (said,) = lines()
        assert said.startswith("the node does not return the leader schedule: ")
        assert "503" in said
        is_up = True
        with caplog.at_level(logging.INFO, logger=LeadersSender.__module__):
            loop.ahead += 3.0
            runner.run(warmed(sender))
        assert lines()[1:] == ["the node returns the leader schedule again"]
