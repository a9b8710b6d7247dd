"""The process: a chain and its servers on one event loop, until it is stopped."""

import asyncio
import contextlib
import logging
import signal
import sqlite3
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import TypeVar

import uvloop

from chain.units import UnixTimestamp
from embedded.notify import progress
from localnet.auction import Auction
from localnet.clock import Clock
from localnet.disk_room import DiskRoom
from localnet.errors import SlotReached, SlotTooHigh
from localnet.faults import Faults
from localnet.feed import Feed
from localnet.feed_recovery import recall_blocks
from localnet.genesis_file import write_genesis_hash
from localnet.keypair_files import write_keypairs
from localnet.leaders import Schedule
from localnet.ledger import Ledger
from localnet.methods.table import Node
from localnet.opening import open_chain
from localnet.options import Options
from localnet.servers import block_engine, datagrams, geyser, pubsub, rpc, searcher, tpu
from localnet.storage import Storage

log = logging.getLogger(__name__)
Server = TypeVar("Server")

# A young chain can be replayed from its beginning, whose accounts are in no later slot: a
# client that starts with it, but slowly, must still find them.
_BEGINNING_SLOTS = 600
_BEGINNING_SECONDS = 120.0
# Its modification time says when the event loop turned last. It lies in the chain's folder.
HEARTBEAT = "heartbeat"
_PROGRESS_SECONDS = 0.5


class PortTaken(Exception):
    """A port cannot be listened on; the text names it and says why."""


class ChainDiffers(Exception):
    """The folder's chain is not one that the options describe; the text says why."""


class NotWritten(Exception):
    """The chain's folder cannot be written; the text says why."""


def run_localnet(options: Options) -> None:
    """Runs until SIGTERM or SIGINT. FolderTaken, PortTaken, ChainDiffers, NotWritten."""
    DiskRoom(options.folder).wait_to_begin()
    try:
        with contextlib.closing(Storage(options.folder, reset=options.reset)) as storage:
            uvloop.run(_run(options, storage))
    except sqlite3.OperationalError as error:
        raise NotWritten(f"{options.folder} cannot be written: {error}") from None


async def _run(options: Options, storage: Storage) -> None:
    faults = Faults()
    feed, clock = Feed(faults), Clock(storage)
    chain = open_chain(
        storage,
        epoch_slots=options.epoch_slots,
        slot_seconds=options.slot_seconds,
        now=UnixTimestamp(int(clock())),
        validator_count=options.validators,
        given=options.accounts,
        token_2022_mint=options.token_2022_mint,
    )
    _check(chain.schedule, options)
    write_genesis_hash(options.folder, chain.genesis_hash)
    write_keypairs(options.folder, chain.schedule.validators[0])
    loop = asyncio.get_running_loop()
    if chain.root.slot < _BEGINNING_SLOTS:
        faults.replay_slots = _BEGINNING_SLOTS
        loop.call_later(_BEGINNING_SECONDS, _no_longer_young, faults)
    recall_blocks(storage, feed, faults.replay_slots)
    ledger = Ledger(
        chain,
        storage,
        feed,
        faults,
        slot_seconds=options.slot_seconds,
        finalized_after=options.finalized_after,
        skip_percent=options.skip_percent,
        votes=options.votes,
        clock=clock,
    )
    if options.warp_slot is not None:
        try:
            ledger.warp_to(options.warp_slot)
        except (SlotReached, SlotTooHigh) as error:
            raise ChainDiffers(str(error)) from None
    ledger.accounts_to_load = chain.accounts_to_load
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ledger.stop)
    host, auction = options.host, Auction(ledger)
    async with AsyncExitStack() as stack:
        ports = await _enter(stack, "UDP", host, 0, datagrams.serve(ledger, host))
        node = Node(ledger, faults, options, clock, ports)
        # The JSON-RPC last: once it says that the node is healthy, all of it listens.
        for name, port, server in (
            (
                "Geyser",
                options.geyser_port,
                geyser.serve(ledger, feed, faults, host, options.geyser_port),
            ),
            ("TPU", options.tpu_port, tpu.serve(ledger, faults, host, options.tpu_port)),
            (
                "block engine",
                options.block_engine_port,
                block_engine.serve(auction, host, options.block_engine_port),
            ),
            (
                "block engine's gRPC",
                options.searcher_port,
                searcher.serve(
                    auction, host, options.searcher_port, needs_tokens=options.searcher_tokens
                ),
            ),
            ("WebSocket", options.pubsub_port, pubsub.serve(node, host, options.pubsub_port)),
            ("JSON-RPC", options.rpc_port, rpc.serve(node, host, options.rpc_port)),
        ):
            await _enter(stack, name, host, port, server)
        log.info(
            "localnet %s %s: JSON-RPC on %s port %d, WebSocket %d, Geyser %d,"
            " TPU %d, block engine %d, its gRPC %d",
            ledger.genesis_hash,
            f"goes on after slot {ledger.root.slot}" if ledger.root.slot else "begins",
            host,
            options.rpc_port,
            options.pubsub_port,
            options.geyser_port,
            options.tpu_port,
            options.block_engine_port,
            options.searcher_port,
        )
        turning = asyncio.create_task(_report_progress(options.folder / HEARTBEAT))
        await ledger.run()
        turning.cancel()
    (options.folder / HEARTBEAT).unlink(missing_ok=True)
    log.info("localnet ends at slot %d", ledger.root.slot)


def _check(schedule: Schedule, options: Options) -> None:
    """Raises ChainDiffers where the folder's chain is not what the command line says."""
    if options.epoch_slots_given and schedule.epoch_slots != options.epoch_slots:
        raise ChainDiffers(
            f"the chain's epochs have {schedule.epoch_slots} slots, not"
            f" {options.epoch_slots}: only --reset begins a chain of others"
        )
    if options.validators_given and len(schedule.validators) != options.validators:
        raise ChainDiffers(
            f"the chain's validators are {len(schedule.validators)}, not"
            f" {options.validators}: only --reset begins a chain of others"
        )


async def _report_progress(heartbeat: Path) -> None:
    while True:
        progress()
        with contextlib.suppress(OSError):
            heartbeat.touch()
        await asyncio.sleep(_PROGRESS_SECONDS)


def _no_longer_young(faults: Faults) -> None:
    if faults.replay_slots == _BEGINNING_SLOTS:  # not set otherwise
        faults.replay_slots = Faults().replay_slots


async def _enter(
    stack: AsyncExitStack,
    name: str,
    host: str,
    port: int,
    server: AbstractAsyncContextManager[Server],
) -> Server:
    try:
        return await stack.enter_async_context(server)
    except (OSError, RuntimeError) as error:  # grpc raises the latter
        reason = getattr(error, "strerror", None) or error
        raise PortTaken(f"{name}: cannot listen on {host} port {port}: {reason}") from None
