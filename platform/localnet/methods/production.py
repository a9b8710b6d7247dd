"""Methods about who produced which blocks, what is staked on them, and who holds the most."""

from heapq import nlargest
from typing import Any, Literal

from solders.pubkey import Pubkey

from chain.commitment import Commitment
from chain.units import Slot
from jsonrpc.params import U64, Config
from localnet.errors import BadParams
from localnet.genesis import STAKE_LAMPORTS
from localnet.methods.cluster import require_scheduled
from localnet.methods.table import ContextConfig, Node, bank_for, in_context, methods
from localnet.supply import non_circulating

# Confirmations that a vote can have: the length of the commitment's list.
_MOST_CONFIRMATIONS = 32
_LARGEST = 20
# As many as the sysvar SlotHistory has: a chain that was warped may have skipped far more.
_REMEMBERED_SLOTS = 1_048_576


@methods.add("getBlockCommitment")
def get_block_commitment(call: Node, slot: U64) -> dict[str, Any]:
    """The lamports that have voted on the block, by its confirmations; null for a block that is
    not known, or final.
    """
    ledger = call.ledger
    staked = STAKE_LAMPORTS * len(ledger.schedule.validators)
    bank = ledger.bank_of(Slot(slot), Commitment.PROCESSED) if slot > ledger.root.slot else None
    commitment = None
    if bank is not None:
        commitment = [0] * _MOST_CONFIRMATIONS
        height = ledger.head.block_height - bank.block_height
        commitment[min(height, _MOST_CONFIRMATIONS - 1)] = staked
    return {"commitment": commitment, "totalStake": staked}


class SlotRange(Config, frozen=True, kw_only=True):
    node_struct = "RpcBlockProductionConfigRange"
    node_sequence = True

    first_slot: U64
    last_slot: U64 | None = None


class BlockProductionConfig(Config, frozen=True, kw_only=True):
    node_struct = "RpcBlockProductionConfig"
    node_drops = frozenset({"commitment"})

    identity: Pubkey | None = None
    range: SlotRange | None = None
    commitment: Commitment | None = None


@methods.add("getBlockProduction")
def get_block_production(
    call: Node, config: BlockProductionConfig = BlockProductionConfig()
) -> dict[str, Any]:
    """How many slots each validator led, and how many of them have a block; of this epoch unless a
    range is given.
    """
    bank, ledger = bank_for(call, ContextConfig(commitment=config.commitment)), call.ledger
    identity = config.identity
    kept = ledger.storage.first_slot() or Slot(0)
    oldest = max(0, bank.slot + 1 - _REMEMBERED_SLOTS)
    first, last = max(ledger.schedule.first_slot(bank.epoch), kept, Slot(oldest)), bank.slot
    if config.range is not None:
        first = Slot(config.range.first_slot)
        last = bank.slot if config.range.last_slot is None else Slot(config.range.last_slot)
        if first > last:
            raise BadParams(f"lastSlot, {last}, cannot be less than firstSlot, {first}")
        if first < oldest:
            raise BadParams(f"firstSlot, {first}, is too small; min {oldest}")
        if last > bank.slot:
            raise BadParams(f"lastSlot, {last}, is too large; max {bank.slot}")
        require_scheduled(call, first, last)
        if first < kept:
            raise BadParams(f"firstSlot, {first}, is too small; min {kept}")
    produced = set(ledger.storage.slots(first, last, last - first + 1))
    produced |= {each.slot for each in bank.line()}
    found: dict[str, list[int]] = {}
    for number in range(first, last + 1):
        leader = ledger.schedule.leader(Slot(number)).identity.pubkey()
        if identity in (None, leader):
            counts = found.setdefault(str(leader), [0, 0])
            counts[0] += 1
            counts[1] += number in produced
    return in_context(bank, {"byIdentity": found, "range": {"firstSlot": first, "lastSlot": last}})


class LargestAccountsConfig(Config, frozen=True, kw_only=True):
    node_struct = "RpcLargestAccountsConfig"
    node_drops = frozenset({"commitment"})

    commitment: Commitment | None = None
    filter: Literal["circulating", "nonCirculating"] | None = None
    sort_results: bool | None = None


@methods.add("getLargestAccounts")
def get_largest_accounts(
    call: Node, config: LargestAccountsConfig = LargestAccountsConfig()
) -> dict[str, Any]:
    """The twenty accounts with the most lamports; stakes that are locked up do not circulate."""
    bank = bank_for(call, ContextConfig(commitment=config.commitment))
    wanted = config.filter
    locked = {} if wanted is None else non_circulating(bank)
    accounts = (
        (account.lamports, str(pubkey))
        for pubkey, account in bank.everything()
        if wanted is None or (wanted == "nonCirculating") == (pubkey in locked)
    )
    largest = nlargest(_LARGEST, accounts)
    return in_context(bank, [{"address": name, "lamports": held} for held, name in largest])
