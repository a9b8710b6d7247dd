"""simulateHistoricalTransaction of token transfers through all of it, and the engine's part."""

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
from chain.blocks import SlotRecord
from chain.encodings import b64encode
from chain.units import LAMPORTS_PER_SOL, U64_MAX, Slot, UnixTimestamp
from simulator import addresses

BLOCKS, TRANSFERS = 20, 50
_BEGAN = UnixTimestamp(1_790_000_000)
_SECONDS = 4.0
MINT = Pubkey(bytes([2]) * 32)
PAYERS = [Keypair.from_seed(number.to_bytes(32)) for number in range(1, TRANSFERS + 1)]


def main() -> None:
    with database(), tempfile.TemporaryDirectory() as folder:
        records = chain_of_transfers(Path(folder))
        record(records)
        transactions = [
            VersionedTransaction.from_bytes(entry.wire)
            for record in records[BLOCKS // 2 :]
            for entry in record.transactions
        ]
        raw = _raw(transactions)
        _served(transactions, raw)


def _served(transactions: list[VersionedTransaction], raw: float) -> None:
    """The whole request, at the transaction's own place (one run, proved) and at the end of another
    slot (where it is run a second time at its own place, so that the answer tells how true it is).
    """
    key = new_key()
    places: dict[str, Callable[[VersionedTransaction], dict[str, Any]]] = {
        "at its own place": lambda each: {"anchor": {"signature": str(each.signatures[0])}},
        "at another slot": lambda each: {"slot": BLOCKS},
    }
    with served("config.wsgi:application") as ours:
        for name, config in places.items():
            requests = [
                rpc_request(
                    key,
                    "simulateHistoricalTransaction",
                    [b64encode(bytes(each)), config(each)],
                    path="/rewind",
                )
                for each in transactions
            ]
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
    from rewind.services.past_state import past
    from rewind.services.running import run_on
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
    from historical.services.recording import record_blocks
    from rewind.services.recording import record_slots

    now = datetime.now(UTC)
    record_blocks(records, now=now)
    record_slots(records, source="benchmark", now=now)


def chain_of_transfers(folder: Path) -> list[SlotRecord]:
    """Blocks of token transfers, run by the engine."""
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
        after = bank.child(Slot(number), now=UnixTimestamp(_BEGAN + number))
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
