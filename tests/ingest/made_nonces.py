"""Made blocks that hold transactions on durable nonces, and move them."""

from collections.abc import Sequence
from datetime import timedelta
from hashlib import sha256
from typing import Any

from django.utils import timezone
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain.accounts import AccountWrite
from chain.blocks import SlotRecord, TransactionRecord
from chain.nonces import nonce_use
from chain.transactions import decode_wire
from chain.units import U64_MAX, Slot, UnixTimestamp
from priority.models import Submission
from tests.priority.sending import PAYER, SYSTEM, signed, tip
from tests.rewind.samples import blockhash

NONCE = Pubkey(bytes([3]) * 32)
OTHER = Keypair.from_seed(bytes([8]) * 32)


def durable(number: int) -> Hash:
    return Hash(sha256(b"durable %d" % number).digest())


def advance(nonce: Pubkey = NONCE, authority: Keypair = PAYER) -> Instruction:
    recent = Pubkey.from_string("SysvarRecentB1ockHashes11111111111111111111")
    metas = [
        AccountMeta(nonce, False, True),
        AccountMeta(recent, False, False),
        AccountMeta(authority.pubkey(), True, False),
    ]
    return Instruction(SYSTEM, (4).to_bytes(4, "little"), metas)


def on_nonce(number: int, *, lamports: int = 0, nonce: Pubkey = NONCE) -> VersionedTransaction:
    """A transaction on that hash of the nonce; of each amount another one."""
    return signed(advance(nonce), tip(1_000_000 + lamports), blockhash=durable(number))


def by_other(number: int) -> VersionedTransaction:
    """The same, signed by another authority."""
    message = Message.new_with_blockhash(
        [advance(authority=OTHER), tip()], PAYER.pubkey(), durable(number)
    )
    return VersionedTransaction(message, [PAYER, OTHER])


def nonce_write(
    number: int | None,
    by: bytes | None,
    *,
    authority: Pubkey | None = None,
    nonce: Pubkey = NONCE,
    data: bytes | None = None,
) -> AccountWrite:
    """The nonce account with that hash; None closes it."""
    if number is None:
        return AccountWrite(bytes(nonce), 0, bytes(32), b"", False, U64_MAX, 1, by)
    made = (1).to_bytes(4, "little") * 2 + bytes(authority or PAYER.pubkey())
    made += bytes(durable(number)) + (5_000).to_bytes(8, "little")
    return AccountWrite(
        bytes(nonce), 1_500_000, bytes(32), made if data is None else data, False, U64_MAX, 1, by
    )


def block(
    slot: int,
    transactions: Sequence[VersionedTransaction] = (),
    writes: Sequence[AccountWrite] | None = (),
    parent: int | None = None,
    err: Any = None,
    time: int | None = None,
) -> SlotRecord:
    meta = {"err": err, "fee": 5_000, "preBalances": [10_000], "postBalances": [5_000]}
    return SlotRecord(
        slot=Slot(slot),
        parent_slot=Slot(max(slot - 1, 0) if parent is None else parent),
        blockhash=blockhash(slot),
        previous_blockhash=blockhash(slot - 1 if parent is None else parent),
        block_time=None if time is None else UnixTimestamp(time),
        block_height=slot,
        transactions=[TransactionRecord(bytes(each), meta) for each in transactions],
        account_writes=None if writes is None else list(writes),
    )


def submitted_on(
    transaction: VersionedTransaction, *, accepted_slot: int | None = 3, **columns: Any
) -> Submission:
    """As a lander stores it a minute after an upstream took it."""
    wire = decode_wire(bytes(transaction))
    use = nonce_use(wire)
    assert use is not None
    at = timezone.now() - timedelta(minutes=1)
    values: dict[str, Any] = {
        "kind": "transaction",
        "accepted_at": at,
        "accepted_slot": accepted_slot,
        "state": "sent",
        "sent_at": at,
        **columns,
    }
    return Submission.objects.create(
        signature=wire.signatures[0],
        blockhash=wire.recent_blockhash,
        is_nonced=True,
        is_watched=True,
        nonce=use.account,
        nonce_signers=use.signers,
        **values,
    )
