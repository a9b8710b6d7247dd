"""What the follower has stored, held against localnet's own word."""

from collections import Counter
from typing import Any

from solders.pubkey import Pubkey

from chain.blocks import Granularity
from historical.models import Block
from historical.models import Gap as LedgerGap
from rewind.models import AccountChange, ArchivedSlot
from rewind.models import Gap as ArchiveGap
from tests.localnet_process import Localnet
from tests.patience import wait


def newest_archived() -> int:
    newest = ArchivedSlot.objects.first()
    return -1 if newest is None else newest.slot


def archived_to(slot: int) -> None:
    wait(lambda: newest_archived() >= slot, f"slot {slot} archived")


def no_open_gaps() -> bool:
    models: list[Any] = [LedgerGap, ArchiveGap]
    return not any(model.objects.filter(closed_at__isnull=True).exists() for model in models)


def is_localnets_chain(localnet: Localnet) -> None:
    """Between the ends of what is stored, ledger and archive have localnet's blocks exactly."""
    archived = {slot.slot: slot for slot in ArchivedSlot.objects.all()}
    first, last = min(archived), max(archived)
    listed = localnet.call("getBlocks", first, last, {"commitment": "finalized"})
    assert sorted(archived) == listed
    blocks = {block.slot: block for block in Block.objects.filter(slot__range=(first, last))}
    assert sorted(blocks) == listed
    for slot in listed:
        block = localnet.call(
            "getBlock", slot, {"transactionDetails": "signatures", "rewards": False}
        )
        assert archived[slot].parent_slot == blocks[slot].parent_slot == block["parentSlot"]
        assert str(archived[slot].blockhash) == str(blocks[slot].blockhash)
        assert blocks[slot].transaction_count == len(block["signatures"])
        if archived[slot].granularity == Granularity.WRITE:
            has_every_write(localnet, slot)


def has_every_write(localnet: Localnet, slot: int) -> None:
    """The archive has each write of the slot once; a transaction's write of an account stands for
    all that it did to it.
    """
    made = localnet.call("getAccountWrites", slot)
    wanted = Counter((each["pubkey"], each["lamports"]) for each in made)
    stored = AccountChange.objects.filter(slot=slot, kind=0)
    found = Counter((str(Pubkey(bytes(row.pubkey))), int(row.lamports)) for row in stored)
    assert found == wanted, f"slot {slot}"
