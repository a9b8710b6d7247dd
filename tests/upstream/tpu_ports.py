"""Leaders' TPU ports to try the client against: localnet's own, and whatever else speaks QUIC."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import Message
from solders.signature import Signature
from solders.system_program import TransferParams, transfer
from solders.transaction import Transaction

from localnet.faults import Faults
from localnet.servers import tpu as server
from localnet.submissions import read_transaction
from tests.patience import PATIENCE_SECONDS as PATIENCE
from upstream.tpu import LeaderState, TpuClient
from upstream.tpu_connection import Limits
from upstream.tpu_errors import TpuError
from upstream.tpu_sending import Sent
from upstream.tpu_socket import Address

LEADER = Keypair.from_seed(bytes([1]) * 32)
SENDER = Keypair.from_seed(bytes([2]) * 32)


class Inbox:
    """Where transactions go: read as a leader reads them, and kept."""

    def __init__(self) -> None:
        self.wires: list[bytes] = []

    def submit(self, wire: bytes) -> Signature:
        signature = Signature(read_transaction(wire).signature)
        self.wires.append(wire)
        return signature


Trial = Callable[[TpuClient, server.Tpu, Inbox, Faults], Coroutine[Any, Any, None]]


def tried(
    trial: Trial, *, host: str = "127.0.0.1", limits: Limits | None = None, **options: Any
) -> None:
    """Runs the trial with a client against an open port of localnet's."""

    async def run() -> None:
        inbox, faults = Inbox(), Faults()
        client = TpuClient(SENDER, limits=limits or Limits(), **options)
        async with (
            server.serve(inbox, faults, host, 0, identity=LEADER) as opened,
            asyncio.timeout(2 * PATIENCE),
        ):
            try:
                await trial(client, opened, inbox, faults)
            finally:
                await client.close()

    asyncio.run(run())


def wire(number: int) -> bytes:
    """A signed transaction like no other of another number."""
    instruction = transfer(
        TransferParams(from_pubkey=SENDER.pubkey(), to_pubkey=SENDER.pubkey(), lamports=number)
    )
    message = Message([instruction], SENDER.pubkey())
    return bytes(Transaction([SENDER], message, Hash.default()))


async def outcome(client: TpuClient, address: Address, data: bytes, **options: Any) -> str:
    """How it was sent, or the kind of the failure."""
    try:
        sent: Sent = await client.send(address, data, **options)
    except TpuError as error:
        return error.kind
    return str(sent.opened)


def state_of(client: TpuClient, address: Address) -> LeaderState:
    [found] = [state for state in client.states() if state.address == address]
    return found


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not true():
            await asyncio.sleep(0.005)
