"""Rules that mainnet had once: they hold where the slot's features say so."""

import pytest
from solders.compute_budget import set_compute_unit_limit, set_compute_unit_price
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

from chain.units import Slot
from simulator.engine import Engine
from simulator.features import feature_set_at
from simulator.moment import Moment
from tests.simulator.world import SOL, plain

ONE_LAMPORT_FOR_EACH_UNIT = 1_000_000


@pytest.mark.parametrize(
    ("slot", "units"),
    # Two transfers and the price: 200,000 each but for the price, and later 3,000 each.
    [(327_455_999, 400_000), (327_456_000, 9_000)],
)
def test_instructions_of_native_code_once_had_as_many_units_as_others(slot, units):
    payer, payee = Keypair(), Pubkey.new_unique()
    params = TransferParams(from_pubkey=payer.pubkey(), to_pubkey=payee, lamports=SOL)
    instructions = [set_compute_unit_price(ONE_LAMPORT_FOR_EACH_UNIT), *[transfer(params)] * 2]
    outcome = ran(slot, payer, instructions)
    assert outcome.err is None
    assert outcome.fee == 5_000 + units
    left = 10 * SOL - 2 * SOL - outcome.fee
    assert outcome.post_balances[0] == outcome.writes[payer.pubkey()].lamports == left


def test_a_limit_that_is_asked_for_holds_under_the_older_rule_too():
    payer = Keypair()
    instructions = [
        set_compute_unit_limit(450),
        set_compute_unit_price(ONE_LAMPORT_FOR_EACH_UNIT),
        *[
            transfer(
                TransferParams(from_pubkey=payer.pubkey(), to_pubkey=payer.pubkey(), lamports=1)
            )
        ]
        * 2,
    ]
    outcome = ran(327_455_999, payer, instructions)
    assert outcome.err == {"InstructionError": [3, "ComputationalBudgetExceeded"]}
    assert outcome.fee == 5_450


def ran(slot, payer, instructions):
    message = Message.new_with_blockhash(instructions, payer.pubkey(), Hash.default())
    transaction = VersionedTransaction(message, [payer])
    accounts = {payer.pubkey(): plain(10 * SOL)}
    moment = Moment(Slot(slot), Hash.new_unique(), None, feature_set_at(Slot(slot)))
    return Engine().execute(transaction, load=accounts.get, moment=moment)
