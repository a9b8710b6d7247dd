"""Rounds of transactions in packets of our own: lost, mixed with larger ones, beside PINGs."""

import asyncio

import pytest
from solders.hash import Hash
from solders.instruction import Instruction
from solders.message import Message
from solders.pubkey import Pubkey
from solders.transaction import Transaction

from localnet.faults import Faults
from localnet.servers import tpu as server
from tests.upstream.test_tpu_client import HERE, Relay
from tests.upstream.tpu_ports import SENDER, Inbox, outcome, state_of, tried, until, wire
from upstream.tpu import TpuClient
from upstream.tpu_connection import Limits
from upstream.tpu_errors import TpuError
from upstream.tpu_sending import Sent

ROUNDS, EACH = 30, 7


def of_size(number: int, size: int) -> bytes:
    """A signed transaction of so many bytes, at least 180."""
    data = number.to_bytes(4, "little").ljust(size - 169 - (size > 296), b"\1")
    message = Message([Instruction(Pubkey(bytes(32)), data, [])], SENDER.pubkey())
    return bytes(Transaction([SENDER], message, Hash.default()))


@pytest.mark.parametrize("loses_every", [0, 5, 9])
def test_every_transaction_arrives_whole_and_once(loses_every: int) -> None:
    async def trial(client: TpuClient, opened: server.Tpu, inbox: Inbox, faults: Faults) -> None:
        async with Relay(opened.port) as relay:
            address = (HERE, relay.port)
            assert await outcome(client, address, wire(0)) == "new"
            relay.loses_every = loses_every
            answers: list[Sent | TpuError] = []
            wires = [
                # Each ninth is larger than one packet, some fill one by themselves.
                of_size(number, 1_232 if number % 9 == 0 else 180 + 35 * (number % 27))
                for number in range(1, 1 + ROUNDS * EACH)
            ]
            for place in range(0, len(wires), EACH):
                for each in wires[place : place + EACH]:
                    client.start(address, each, answers.append)
                await asyncio.sleep(0.002)
            await until(lambda: len(answers) == len(wires))
            assert [each for each in answers if isinstance(each, TpuError)] == []
            assert sorted(inbox.wires) == sorted([wire(0), *wires])
            counts = state_of(client, address).counts
            assert counts["sent"] == counts["acked"] == len(wires) + 1

    tried(trial, limits=Limits(send_seconds=60, silent_seconds=60))


def test_a_thousand_leave_no_streams_behind() -> None:
    async def trial(client: TpuClient, opened: server.Tpu, inbox: Inbox, faults: Faults) -> None:
        address = (HERE, opened.port)
        assert await outcome(client, address, wire(0)) == "new"
        for place in range(1, 1_000, 50):
            answers: list[Sent | TpuError] = []
            for number in range(place, place + 50):
                client.start(address, wire(number), answers.append)
            await until(lambda answers=answers: len(answers) == 50)
            assert all(isinstance(each, Sent) for each in answers)
        connection = client._leaders[address].connection
        assert connection is not None
        assert len(connection._quic._streams) < 100

    tried(trial, limits=Limits(send_seconds=60))
