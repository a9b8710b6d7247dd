"""Our own tips for block engines: each is the transaction that it is taken for."""

import random

from solders.hash import Hash
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.transaction import Transaction

from priority.lander.chain_view import Chain
from priority.lander.services.engine_tips import FeePayer


def test_a_tip_pays_its_account_whatever_the_account_is() -> None:
    """Also one whose last byte stands before the system program's zeros like any number."""
    chance, chain, payer = random.Random(4), Chain(), FeePayer(Keypair.from_seed(bytes(32)))
    for number in range(1_000):
        account = Pubkey(chance.randbytes(31) + bytes([200 if number % 2 else number // 2 % 256]))
        chain.head_blockhash = chance.randbytes(32)
        for _ in range(2):  # the second one has the form of the first
            tip = payer.tip([account], 10_000, chain)
            assert tip is not None
            made = Transaction.from_bytes(tip.wire)
            made.verify()
            message = made.message
            assert message.recent_blockhash == Hash(chain.head_blockhash)
            *settings, paid = message.instructions
            programs = [message.account_keys[each.program_id_index] for each in settings]
            assert len(programs) == 2 and set(map(str, programs)) == {
                "ComputeBudget111111111111111111111111111111"
            }
            paid_by = [message.account_keys[each] for each in paid.accounts]
            assert paid_by == [payer.pubkey, account]
            assert bytes(paid.data)[4:] == (10_000).to_bytes(8, "little")
