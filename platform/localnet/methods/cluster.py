"""Methods about the cluster: slots and epochs, nodes, supply and inflation."""

from typing import Annotated, Any

from solders.pubkey import Pubkey

from chain.addresses import VOTE
from chain.commitment import Commitment
from chain.node_version import NEWEST
from chain.units import LAMPORTS_PER_SOL, U64_MAX, Epoch, Slot
from jsonrpc.node_params import NodeWord
from jsonrpc.params import U64, USIZE, Config
from localnet.errors import (
    BadParams,
    BlockCleanedUp,
    BlockNotAvailable,
    LeaderNotFound,
    NoSnapshot,
)
from localnet.methods.blocks import at_least_confirmed
from localnet.methods.table import (
    CommitmentConfig,
    ContextConfig,
    Node,
    bank_for,
    in_context,
    methods,
)
from localnet.snapshots import newest_slots
from localnet.supply import non_circulating

_SHRED_VERSION = 50_093
# Clients cannot connect to a wildcard address: report the loopback address instead.
_REACHED_AT = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}
_MOST_SLOT_LEADERS = 5_000
_MOST_SAMPLES = 720
_KEPT_SCHEDULES = 10
_SAMPLED_SLOTS = 600
# What the stake program answers to GetMinimumDelegation.
_LEAST_STAKE = LAMPORTS_PER_SOL


@methods.add("getHealth")
def get_health(call: Node) -> str:
    """Always `ok`: a localnet that answers is at its own head."""
    return "ok"


@methods.add("getVersion")
def get_version(call: Node) -> dict[str, Any]:
    return {"feature-set": NEWEST.feature_set, "solana-core": NEWEST.name}


@methods.add("getGenesisHash")
def get_genesis_hash(call: Node) -> str:
    return str(call.ledger.genesis_hash)


@methods.add("getIdentity")
def get_identity(call: Node) -> dict[str, Any]:
    return {"identity": str(call.ledger.schedule.validators[0].identity.pubkey())}


@methods.add("getSlot")
def get_slot(call: Node, config: ContextConfig = ContextConfig()) -> int:
    return bank_for(call, config).slot


@methods.add("getBlockHeight")
def get_block_height(call: Node, config: ContextConfig = ContextConfig()) -> int:
    return bank_for(call, config).block_height


@methods.add("getTransactionCount")
def get_transaction_count(call: Node, config: ContextConfig = ContextConfig()) -> int:
    return bank_for(call, config).transaction_count


@methods.add("getEpochInfo")
def get_epoch_info(call: Node, config: ContextConfig = ContextConfig()) -> dict[str, Any]:
    bank = bank_for(call, config)
    schedule = call.ledger.schedule
    return {
        "absoluteSlot": bank.slot,
        "blockHeight": bank.block_height,
        "epoch": bank.epoch,
        "slotIndex": bank.slot - schedule.first_slot(bank.epoch),
        "slotsInEpoch": schedule.epoch_slots,
        "transactionCount": bank.transaction_count,
    }


@methods.add("getEpochSchedule")
def get_epoch_schedule(call: Node) -> dict[str, Any]:
    slots = call.ledger.schedule.epoch_slots
    return {
        "firstNormalEpoch": 0,
        "firstNormalSlot": 0,
        "leaderScheduleSlotOffset": slots,
        "slotsPerEpoch": slots,
        "warmup": False,
    }


class LeaderScheduleConfig(Config, frozen=True, kw_only=True):
    node_struct = "RpcLeaderScheduleConfig"
    node_drops = frozenset({"commitment"})

    identity: Pubkey | None = None
    key_by_vote_account: bool | None = None
    commitment: Commitment | None = None


@methods.add("getLeaderSchedule")
def get_leader_schedule(
    call: Node,
    slot: Annotated[U64 | LeaderScheduleConfig, NodeWord("RpcLeaderScheduleConfigWrapper")]
    | None = None,
    config: LeaderScheduleConfig = LeaderScheduleConfig(),
) -> dict[str, list[int]] | None:
    """Null for an epoch whose schedule is not known yet."""
    if isinstance(slot, LeaderScheduleConfig):
        config, slot = slot, None
    bank = bank_for(call, ContextConfig(commitment=config.commitment))
    schedule = call.ledger.schedule
    epoch = bank.epoch if slot is None else Epoch(slot // schedule.epoch_slots)
    if not _is_scheduled(call, epoch):
        return None
    leaders = schedule.slots_led(epoch)
    if config.identity is not None:
        leaders = [each for each in leaders if each[0].identity.pubkey() == config.identity]
        if not leaders:
            raise LeaderNotFound(config.identity)
    by_vote = config.key_by_vote_account
    return {
        str(leader.vote if by_vote else leader.identity.pubkey()): slots
        for leader, slots in leaders
    }


@methods.add("getSlotLeader")
def get_slot_leader(call: Node, config: ContextConfig = ContextConfig()) -> str:
    return str(bank_for(call, config).leader.identity.pubkey())


@methods.add("getSlotLeaders")
def get_slot_leaders(call: Node, start_slot: U64, limit: U64) -> list[str]:
    if limit > _MOST_SLOT_LEADERS:
        raise BadParams(f"Invalid limit; max {_MOST_SLOT_LEADERS}")
    schedule = call.ledger.schedule
    if limit:
        require_scheduled(call, start_slot, start_slot + limit - 1)
    return [
        str(schedule.leader(slot).identity.pubkey())  # type: ignore[arg-type]
        for slot in range(start_slot, start_slot + limit)
    ]


@methods.add("getAgGenesisCert")
def get_ag_genesis_cert(call: Node) -> None:
    """Null: no certificate of Alpenglow's first block, since there is none."""


@methods.add("getClusterNodes")
def get_cluster_nodes(call: Node) -> list[dict[str, Any]]:
    """Every validator with the addresses of this one process."""
    options, ports = call.options, call.datagram_ports
    host = _REACHED_AT.get(options.host, options.host)
    tpu, cluster = f"{host}:{options.tpu_port}", f"{host}:{ports.cluster}"
    return [
        {
            "clientId": "Agave",
            "featureSet": NEWEST.feature_set,
            "gossip": cluster,
            "pubkey": str(validator.identity.pubkey()),
            "pubsub": f"{host}:{options.pubsub_port}",
            "rpc": f"{host}:{options.rpc_port}",
            "serveRepair": cluster,
            "shredVersion": _SHRED_VERSION,
            "tpu": None,  # the port of plain UDP, which there is none of any more
            "tpuForwards": None,  # likewise
            "tpuForwardsQuic": tpu,
            "tpuQuic": tpu,
            "tpuVote": f"{host}:{ports.votes}",
            "tvu": cluster,
            "version": NEWEST.name,
        }
        for validator in call.ledger.schedule.validators
    ]


class SupplyConfig(Config, frozen=True, kw_only=True):
    node_struct = "RpcSupplyConfig"
    node_drops = frozenset({"commitment"})

    commitment: Commitment | None = None
    exclude_non_circulating_accounts_list: bool = False


@methods.add("getSupply")
def get_supply(call: Node, config: SupplyConfig = SupplyConfig()) -> dict[str, Any]:
    """All lamports; those of stakes that are locked up do not circulate."""
    bank = bank_for(call, ContextConfig(commitment=config.commitment))
    total = sum(account.lamports for _, account in bank.everything())
    locked = non_circulating(bank)
    kept = sum(locked.values())
    hidden = config.exclude_non_circulating_accounts_list
    return in_context(
        bank,
        {
            "circulating": total - kept,
            "nonCirculating": kept,
            "nonCirculatingAccounts": [] if hidden else [str(key) for key in locked],
            "total": total,
        },
    )


@methods.add("getRecentPerformanceSamples")
def get_recent_performance_samples(call: Node, limit: USIZE | None = None) -> list[dict[str, int]]:
    """One sample of the newest blocks: a localnet keeps no longer memory of its speed."""
    if limit is not None and limit > _MOST_SAMPLES:
        raise BadParams(f"Invalid limit; max {_MOST_SAMPLES}")
    ledger = call.ledger
    # Not those before a warp: the sample's seconds are a u16 for clients.
    newest = ledger.storage.last_slots(60)
    slots = [slot for slot in newest if slot > newest[0] - _SAMPLED_SLOTS]
    if limit == 0 or len(slots) < 2:
        return []
    transactions = ledger.storage.transaction_count(slots[-1], slots[0])
    votes = ledger.storage.transactions_with(bytes(VOTE), slots[-1], slots[0])
    span = slots[0] - slots[-1]
    return [
        {
            "numNonVoteTransactions": transactions - votes,
            "numSlots": span,
            "numTransactions": transactions,
            "samplePeriodSecs": max(round(span * ledger.slot_seconds), 1),
            "slot": slots[0],
        }
    ]


@methods.add("getInflationGovernor")
def get_inflation_governor(
    call: Node,
    config: CommitmentConfig | None = None,
) -> dict[str, float]:
    """All zero: nothing is minted here."""
    return {
        "foundation": 0.0,
        "foundationTerm": 0.0,
        "initial": 0.0,
        "taper": 1.0,
        "terminal": 0.0,
    }


@methods.add("getInflationRate")
def get_inflation_rate(call: Node) -> dict[str, Any]:
    return {"epoch": call.ledger.head.epoch, "foundation": 0.0, "total": 0.0, "validator": 0.0}


class InflationRewardConfig(ContextConfig, frozen=True, kw_only=True):
    node_struct = "RpcEpochConfig"

    epoch: U64 | None = None


@methods.add("getInflationReward")
def get_inflation_reward(
    call: Node,
    addresses: list[Pubkey],
    config: InflationRewardConfig = InflationRewardConfig(),
) -> list[None]:
    """Null for each address, as nothing is minted; of an epoch whose next one has a block."""
    most = NEWEST.most_rewarded
    if most is not None and len(addresses) > most:
        raise BadParams(f"Too many inputs provided; max {most}")
    epoch, schedule = config.epoch, call.ledger.schedule
    if epoch is None:
        epoch = max(bank_for(call, config).epoch - 1, 0)
    first = Slot(min(schedule.first_slot(Epoch(epoch + 1)), U64_MAX))
    kept = call.ledger.storage.first_slot() or Slot(0)
    if first < kept:
        raise BlockCleanedUp(first, kept)
    at_least_confirmed(config)
    if first > bank_for(call, config).slot:
        raise BlockNotAvailable(first)
    return [None] * len(addresses)


@methods.add("getStakeMinimumDelegation")
def get_stake_minimum_delegation(
    call: Node,
    config: ContextConfig = ContextConfig(),
) -> dict[str, Any]:
    return in_context(bank_for(call, config), _LEAST_STAKE)


@methods.add("getHighestSnapshotSlot")
def get_highest_snapshot_slot(call: Node) -> dict[str, int | None]:
    """Of those that createSnapshot wrote."""
    found = newest_slots(call.options.folder / "snapshots")
    if found is None:
        raise NoSnapshot
    return {"full": found[0], "incremental": found[1]}


@methods.add("getMaxRetransmitSlot")
def get_max_retransmit_slot(call: Node) -> int:
    return call.ledger.head.slot


@methods.add("getMaxShredInsertSlot")
def get_max_shred_insert_slot(call: Node) -> int:
    return call.ledger.head.slot


def require_scheduled(call: Node, first: int, last: int) -> None:
    """Raises BadParams where a node does not know who leads one of the slots."""
    length = call.ledger.schedule.epoch_slots
    for epoch in range(first // length, last // length + 1):
        if not _is_scheduled(call, Epoch(epoch)):
            text = f"Invalid slot range: leader schedule for epoch {epoch} is unavailable"
            raise BadParams(text)


def _is_scheduled(call: Node, epoch: Epoch) -> bool:
    """A node keeps the newest schedules, up to that of the next epoch."""
    newest = call.ledger.head.epoch + 1
    return newest - _KEPT_SCHEDULES < epoch <= newest
