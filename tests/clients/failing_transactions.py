"""Transactions that fail: in a program, before one is run, and before anyone is charged."""

from collections.abc import Iterator

from solders.compute_budget import set_compute_unit_limit
from solders.hash import Hash
from solders.instruction import Instruction
from solders.pubkey import Pubkey
from spl.memo.constants import MEMO_PROGRAM_ID

from tests.clients.planned import TOO_POOR, Pen, Planned
from tests.localnet.wallets import pay


def failures(pen: Pen) -> Iterator[Planned]:
    """Those that a program, the budget or the rent fails; what they did before is undone."""
    for _ in range(4):
        payer = pen.payer()
        yield pen.failing("too poor", [pen.too_much(payer)], payer, 0, TOO_POOR)
        both = [pen.payment(payer), pen.too_much(payer)]
        yield pen.failing("undone", both, payer, 1, TOO_POOR)
    payer = pen.payer()
    taken = pen.new_account(payer, payer, 10)
    yield pen.failing("address in use", [taken], payer, 0, {"Custom": 0})
    short = [set_compute_unit_limit(100 + pen.chance.randrange(40)), pen.payment(payer)]
    word = "ComputationalBudgetExceeded"
    yield pen.failing("out of compute units", short, payer, 0, word)
    garbled = Instruction(MEMO_PROGRAM_ID, b"\xff" + pen.chance.randbytes(8), [])
    yield pen.failing("memo that is no text", [garbled], payer, 0, "ProgramFailedToComplete")
    tiny = pay(payer, pen.key().pubkey(), 1 + pen.chance.randrange(1_000))
    rent = {"InsufficientFundsForRent": {"account_index": 1}}
    yield pen.planned("below rent", [tiny], payer, err=rent)


def fees_only(pen: Pen, wallet: Pubkey) -> Iterator[Planned]:
    """Those that are charged and not run: what they call is no program."""
    for _ in range(2):
        payer = pen.payer()
        nobody = Instruction(pen.key().pubkey(), b"", [])
        yield pen.planned("no such program", [nobody], payer, err="ProgramAccountNotFound")
        called = Instruction(wallet, pen.chance.randbytes(4), [])
        yield pen.planned("wallet as program", [called], payer, err="InvalidProgramForExecution")


def dropped(pen: Pen) -> Iterator[Planned]:
    """Those that no block takes: who pays has nothing, or the blockhash is no block's."""
    poor, payer = pen.key(), pen.payer()
    yield pen.planned("payer without lamports", [pen.payment(poor)], poor)
    unknown = Hash(pen.chance.randbytes(32))
    yield pen.planned("unknown blockhash", [pen.payment(payer)], payer, blockhash=unknown)
