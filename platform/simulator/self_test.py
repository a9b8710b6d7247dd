"""A self-test: does this engine run transactions as the service expects?"""

from solders.account import Account
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import MessageV0, MessageV1, TransactionConfig
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

from chain import addresses
from chain.units import LAMPORTS_PER_SOL, U64_MAX, Slot
from simulator import defaults
from simulator.engine import Engine
from simulator.errors import SelfTestFailed
from simulator.features import activation_slots, known_features
from simulator.moment import Moment
from simulator.outcome import Outcome

# Of solders 0.29.0, which is pinned: review another build before trusting it.
_FEATURES, _KNOWN_FEATURES = 241, 280
_TRANSFER_UNITS, _TOKEN_TRANSFER_UNITS = 150, 105


def self_test(engine: Engine) -> None:
    """Raises SelfTestFailed unless a transfer, one of version 1 and a token transfer have the
    known outcomes.
    """
    features = len(activation_slots()), len(known_features())
    _same("features", features, (_FEATURES, _KNOWN_FEATURES))
    payer, other = Keypair.from_seed(bytes(32)), Pubkey(bytes([1]) * 32)
    accounts = defaults.programs()
    accounts[payer.pubkey()] = _plain(LAMPORTS_PER_SOL, b"", addresses.SYSTEM)

    pay = transfer(TransferParams(from_pubkey=payer.pubkey(), to_pubkey=other, lamports=890_880))
    outcome = _run(engine, accounts, _signed(payer, pay))
    _same("a transfer", (outcome.err, outcome.units_consumed), (None, _TRANSFER_UNITS))
    left = LAMPORTS_PER_SOL - 890_880 - 5_000
    _same("a transfer's balances", outcome.post_balances, [left, 890_880, 1])

    asked = TransactionConfig(1, _TRANSFER_UNITS, 10_000)
    message = MessageV1.try_compile(payer.pubkey(), [pay], Hash.default(), asked)
    outcome = _run(engine, accounts, VersionedTransaction(message, [payer]))
    found = outcome.err, outcome.units_consumed, outcome.post_balances
    _same("version 1", found, (None, _TRANSFER_UNITS, [left - 1, 890_880, 1]))

    mint, source, target = (Pubkey(bytes([each]) * 32) for each in (2, 3, 4))
    accounts[mint] = _plain(LAMPORTS_PER_SOL, bytes(44) + b"\6\1" + bytes(36), addresses.TOKEN)
    for key, amount in ((source, 9), (target, 0)):
        holding = bytes(mint) + bytes(payer.pubkey()) + amount.to_bytes(8, "little")
        data = (holding + bytes(36) + b"\1").ljust(165, b"\0")
        accounts[key] = _plain(LAMPORTS_PER_SOL, data, addresses.TOKEN)
    metas = [
        AccountMeta(source, is_signer=False, is_writable=True),
        AccountMeta(mint, is_signer=False, is_writable=False),
        AccountMeta(target, is_signer=False, is_writable=True),
        AccountMeta(payer.pubkey(), is_signer=True, is_writable=False),
    ]
    data = b"\x0c" + (4).to_bytes(8, "little") + b"\6"
    call = Instruction(addresses.TOKEN, data, metas)
    outcome = _run(engine, accounts, _signed(payer, call))
    _same("a token transfer", (outcome.err, outcome.units_consumed), (None, _TOKEN_TRANSFER_UNITS))
    amounts = {
        balance["accountIndex"]: balance["uiTokenAmount"]["amount"]
        for balance in outcome.post_token_balances
    }
    moved = [amounts.get(outcome.keys.index(key)) for key in (source, target)]
    _same("a token transfer's balances", moved, ["5", "4"])


def _signed(payer: Keypair, instruction: Instruction) -> VersionedTransaction:
    message = MessageV0.try_compile(payer.pubkey(), [instruction], [], Hash.default())
    return VersionedTransaction(message, [payer])


def _run(
    engine: Engine, accounts: dict[Pubkey, Account], transaction: VersionedTransaction
) -> Outcome:
    return engine.execute(transaction, load=accounts.get, moment=Moment(Slot(1), Hash.default()))


def _plain(lamports: int, data: bytes, owner: Pubkey) -> Account:
    return Account(lamports, data, owner, False, U64_MAX)


def _same(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise SelfTestFailed(f"{what}: {found!r} where {expected!r} was expected")
