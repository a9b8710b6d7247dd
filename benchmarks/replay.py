"""simulateHistoricalTransaction of token transfers through all of it, and the engine's part; on
sealed state against rows.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from solders.account import Account
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from benchmarks import load
from benchmarks.service import database, new_key, rpc_request, served
from chain import addresses
from chain.blocks import SlotRecord
from chain.encodings import b64encode
from chain.units import LAMPORTS_PER_SOL, U64_MAX, Slot, UnixTimestamp

BLOCKS, TRANSFERS = 20, 50
_BEGAN = UnixTimestamp(1_790_000_000)
_SECONDS, _ROUNDS = 4.0, 7
# The second half of the blocks is so many slots above the first.
_APART = 72_000
MINT = Pubkey(bytes([2]) * 32)
PAYERS = [Keypair.from_seed(number.to_bytes(32)) for number in range(1, TRANSFERS + 1)]


def main() -> None:
    with database(), tempfile.TemporaryDirectory() as folder:
        records = chain_of_transfers(Path(folder), apart=_APART)
        record(records)
        half = BLOCKS // 2 + 1
        early, late = (
            [
                VersionedTransaction.from_bytes(each.wire)
                for block in part
                for each in block.transactions
            ]
            for part in (records[2:half], records[half + 1 :])
        )
        raw = _raw(late)
        _served(late, raw)
        _seal()
        _on_sealed(early, late)


def _seal() -> None:
    """The first half of the blocks."""
    from django.utils import timezone

    from rewind.sealed.models import SealedSegment
    from rewind.sealed.services.sealing import Policy, seal_step
    from rewind.sealed.services.segments import index_next

    while seal_step(Policy(margin=_APART // 2), now=timezone.now()):
        pass
    while index_next() is not None:
        pass
    assert SealedSegment.objects.filter(state=1).count() == 1


def _on_sealed(early: list[VersionedTransaction], late: list[VersionedTransaction]) -> None:
    """Transactions of sealed slots and of slots as rows at their own places, in turns."""
    key = new_key()
    sealed, rows = (
        [replay_request(key, each, at_its_place(each)) for each in part] for part in (early, late)
    )
    with served("config.wsgi:application") as ours:
        rounds = []
        for each in (sealed, rows):
            assert b'"fidelity":"verified"' in load.exchange(ours, each[0])
            load.run(ours, each, connections=1, seconds=1.0)
        for _ in range(_ROUNDS):
            of_sealed, of_rows = (
                load.run(ours, each, connections=1, seconds=_SECONDS / 2) for each in (sealed, rows)
            )
            rounds.append(
                (
                    of_sealed.p50,
                    of_rows.p50,
                    of_sealed.p50 / of_rows.p50,
                    of_sealed.p99 / of_rows.p99,
                )
            )
        told = [statistics.median(column) for column in zip(*rounds, strict=True)]
        print(
            f"simulateHistoricalTransaction on sealed state: p50 {told[0] * 1e3:.2f} ms, on rows"
            f" {told[1] * 1e3:.2f} ms; ratio of p50 {told[2]:.2f}, of p99 {told[3]:.2f}",
            flush=True,
        )


def replay_request(key: str, transaction: VersionedTransaction, config: dict[str, Any]) -> bytes:
    params = [b64encode(bytes(transaction)), config]
    return rpc_request(key, "simulateHistoricalTransaction", params, path="/rewind")


def at_its_place(transaction: VersionedTransaction) -> dict[str, Any]:
    return {"anchor": {"signature": str(transaction.signatures[0])}}


def _served(transactions: list[VersionedTransaction], raw: float) -> None:
    """The whole request, at the transaction's own place (one run, proved) and at the end of another
    slot (where it is run a second time at its own place, so that the answer tells how true it is).
    """
    key = new_key()
    places: dict[str, Callable[[VersionedTransaction], dict[str, Any]]] = {
        "at its own place": at_its_place,
        "at another slot": lambda each: {"slot": _APART + BLOCKS},
    }
    with served("config.wsgi:application") as ours:
        for name, config in places.items():
            requests = [replay_request(key, each, config(each)) for each in transactions]
            answer = load.exchange(ours, requests[0])
            assert b'"fidelity":"verified"' in answer, answer[:2000]
            for connections in (1, 8):
                load.run(ours, requests, connections=connections, seconds=1.0)
                figure = load.run(ours, requests, connections=connections, seconds=_SECONDS)
                print(
                    f"simulateHistoricalTransaction {name}, {connections} connections:"
                    f" {figure.rate:,.0f}/s p50 {figure.p50 * 1e3:.2f} ms"
                    f" p99 {figure.p99 * 1e3:.2f} ms; p50 is {figure.p50 / raw:.1f} times the raw"
                    f" engine's {raw * 1e6:,.0f} µs, whose share is {raw / figure.p50:.0%}",
                    flush=True,
                )


def _raw(transactions: list[VersionedTransaction]) -> float:
    """Median seconds of the engine in this process, on accounts that are loaded already."""
    from rewind.positions import Asked
    from rewind.replay.services.past_state import past
    from rewind.replay.services.running import run_on
    from simulator.client import engine_processes
    from simulator.engine import Engine

    engine, times = Engine(), []
    for transaction in transactions[:200]:
        there = past(Asked(signature=transaction.signatures[0], after=False))
        _, accounts = run_on(there, [transaction])
        begun = time.perf_counter()
        engine.execute(transaction, load=accounts.get, moment=there.moment, verify=False)
        times.append(time.perf_counter() - begun)
    engine_processes().close()
    return statistics.median(times)


def record(records: list[SlotRecord]) -> None:
    from historical.recording.services.recording import record_blocks
    from rewind.recording.services.recording import record_slots

    now = datetime.now(UTC)
    record_blocks(records, now=now)
    record_slots(records, source="benchmark", now=now)


def chain_of_transfers(folder: Path, *, apart: int = 0) -> list[SlotRecord]:
    """Blocks of token transfers, run by the engine, the second half `apart` slots higher."""
    from localnet.bank import Ran
    from localnet.opening import open_chain
    from localnet.storage import Storage
    from localnet.submissions import read_transaction
    from simulator.engine import Engine

    storage = Storage(folder)
    chain = open_chain(
        storage, epoch_slots=432_000, slot_seconds=0.4, now=_BEGAN, given=given_accounts()
    )
    genesis = storage.block(Slot(0))
    assert genesis is not None
    records, bank, engine = [genesis], chain.root, Engine()
    for number in range(1, BLOCKS + 1):
        slot = Slot(number if number <= BLOCKS // 2 else apart + number)
        after = bank.child(slot, now=UnixTimestamp(_BEGAN + number))
        after.begin()
        for place, payer in enumerate(PAYERS):
            moved = token_transfer(place, (place + number) % TRANSFERS, 1 + number)
            message = MessageV0.try_compile(payer.pubkey(), [moved], [], bank.blockhash)
            signed = VersionedTransaction(message, [payer])
            ran = after.run(engine, read_transaction(bytes(signed)))
            assert isinstance(ran, Ran) and not (ran.record.meta or {})["err"], ran
        after.end()
        records.append(after.record())
        bank = after
    storage.close()
    return records


def given_accounts() -> dict[Pubkey, Account]:
    mint = bytes(36) + (TRANSFERS * 10**9).to_bytes(8, "little") + b"\6\1" + bytes(36)
    given = {MINT: _plain(mint)}
    for place, payer in enumerate(PAYERS):
        given[payer.pubkey()] = _plain(b"")
        holding = bytes(MINT) + bytes(payer.pubkey()) + (10**9).to_bytes(8, "little")
        given[_holding(place)] = _plain((holding + bytes(36) + b"\1").ljust(165, b"\0"))
    return given


def _holding(place: int) -> Pubkey:
    return Pubkey(b"token account".ljust(31, b"\0") + bytes([place]))


def token_transfer(source: int, target: int, amount: int) -> Instruction:
    metas = [
        AccountMeta(_holding(source), is_signer=False, is_writable=True),
        AccountMeta(MINT, is_signer=False, is_writable=False),
        AccountMeta(_holding(target), is_signer=False, is_writable=True),
        AccountMeta(PAYERS[source].pubkey(), is_signer=True, is_writable=False),
    ]
    data = b"\x0c" + amount.to_bytes(8, "little") + b"\6"
    return Instruction(addresses.TOKEN, data, metas)


def _plain(data: bytes) -> Account:
    owner = addresses.TOKEN if data else addresses.SYSTEM
    return Account(LAMPORTS_PER_SOL, data, owner, False, U64_MAX)


if __name__ == "__main__":
    main()
