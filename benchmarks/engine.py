"""The engine: what the node's rules around the VM cost, against the bare VM."""

import statistics
import time
from collections.abc import Callable

from solders.account import Account
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

from chain import addresses
from chain.units import LAMPORTS_PER_SOL, U64_MAX, Slot
from simulator import defaults
from simulator.client import engine_processes, simulate
from simulator.engine import Engine
from simulator.features import mainnet_features
from simulator.machine import bare_vm
from simulator.moment import Moment
from simulator.required_accounts import needed_keys

TURNS, CALLS = 15, 1_000
PAYER = Keypair.from_seed(bytes(32))
RECENT = Hash(bytes([8]) * 32)
MOMENT = Moment(Slot(1_000), Hash(bytes([9]) * 32), {RECENT})


def main() -> None:
    accounts = defaults.genesis_accounts()
    accounts[PAYER.pubkey()] = _plain(LAMPORTS_PER_SOL)
    for name, transaction in (
        ("system transfer", _system_transfer()),
        ("token transfer", _token_transfer(accounts)),
    ):
        measure(name, transaction, accounts)


def measure(name: str, transaction: VersionedTransaction, accounts: dict[Pubkey, Account]) -> None:
    """Median microseconds a call, each kind in its turn."""
    engine = Engine()
    needed = _needed(transaction, accounts)
    vm = bare_vm(mainnet_features())
    present = [(key, account) for key, account in needed.items() if account is not None]
    # Code before the programs that point to it.
    for key, account in sorted(present, key=lambda each: each[1].executable):
        vm.set_account(key, account)
    kinds: dict[str, Callable[[], object]] = {
        "bare VM": lambda: vm.simulate_transaction(transaction),
        "engine": lambda: engine.execute(
            transaction, load=accounts.get, moment=MOMENT, verify=False
        ),
        "engine, signatures verified": lambda: engine.execute(
            transaction, load=accounts.get, moment=MOMENT
        ),
        "engine process": lambda: simulate([transaction], needed, MOMENT, verify=False),
    }
    times: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(TURNS):
        for kind, call in kinds.items():
            call()
            begun = time.perf_counter()
            for _ in range(CALLS):
                call()
            times[kind].append((time.perf_counter() - begun) / CALLS * 1e6)
    medians = {kind: statistics.median(each) for kind, each in times.items()}
    shown = ", ".join(f"{kind} {median:,.1f}" for kind, median in medians.items())
    overhead = medians["engine"] - medians["bare VM"]
    print(f"{name}, µs: {shown}; overhead {overhead:,.1f}", flush=True)


def _needed(
    transaction: VersionedTransaction, accounts: dict[Pubkey, Account]
) -> dict[Pubkey, Account | None]:
    needed: dict[Pubkey, Account | None] = {}
    while keys := needed_keys([transaction], needed):
        needed.update({key: accounts.get(key) for key in keys})
    return needed


def _signed(instruction: Instruction) -> VersionedTransaction:
    message = MessageV0.try_compile(PAYER.pubkey(), [instruction], [], RECENT)
    return VersionedTransaction(message, [PAYER])


def _system_transfer() -> VersionedTransaction:
    target = Pubkey(bytes([1]) * 32)
    return _signed(
        transfer(TransferParams(from_pubkey=PAYER.pubkey(), to_pubkey=target, lamports=890_880))
    )


def _token_transfer(accounts: dict[Pubkey, Account]) -> VersionedTransaction:
    mint, source, target = (Pubkey(bytes([each]) * 32) for each in (2, 3, 4))
    accounts[mint] = _plain(LAMPORTS_PER_SOL, bytes(44) + b"\6\1" + bytes(36))
    for key, amount in ((source, 9), (target, 0)):
        holding = bytes(mint) + bytes(PAYER.pubkey()) + amount.to_bytes(8, "little")
        accounts[key] = _plain(LAMPORTS_PER_SOL, (holding + bytes(36) + b"\1").ljust(165, b"\0"))
    metas = [
        AccountMeta(source, is_signer=False, is_writable=True),
        AccountMeta(mint, is_signer=False, is_writable=False),
        AccountMeta(target, is_signer=False, is_writable=True),
        AccountMeta(PAYER.pubkey(), is_signer=True, is_writable=False),
    ]
    data = b"\x0c" + (4).to_bytes(8, "little") + b"\6"
    return _signed(Instruction(addresses.TOKEN, data, metas))


def _plain(lamports: int, data: bytes = b"") -> Account:
    owner = addresses.TOKEN if data else addresses.SYSTEM
    return Account(lamports, data, owner, False, U64_MAX)


if __name__ == "__main__":
    main()
    engine_processes().close()
