"""Methods that only localnet has: its faults, a block's account writes, and snapshots."""

from dataclasses import fields
from typing import Any, Literal

from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.encodings import b64encode
from chain.units import Slot
from jsonrpc.params import U64, Config
from jsonrpc.wire import to_camel
from localnet.errors import BadParams, BlockNotAvailable
from localnet.faults import Faults
from localnet.methods.table import Node, methods
from localnet.snapshots import write_snapshot


class FaultsConfig(Config, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields of Faults; what is absent stays as it is. A misspelt one would be a test that
    tries nothing.
    """

    skip_slots: U64 | None = None
    fork_slots: U64 | None = None
    two_banks: U64 | None = None
    two_banks_later: bool | None = None
    two_banks_freeze: bool | None = None
    bank_ids: Literal["none", "blocks", "all"] | None = None
    drop_streams: bool | None = None
    refuse_streams: bool | None = None
    duplicate_percent: float | None = None
    reorder_percent: float | None = None
    lose_percent: float | None = None
    corrupt_write: U64 | None = None
    lose_write: U64 | None = None
    forged_votes: U64 | None = None
    replay_last_writes: bool | None = None
    replay_slots: U64 | None = None
    tpu: Literal["ok", "slow", "refuse"] | None = None
    tpu_delay_seconds: float | None = None


class SnapshotConfig(Config, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A base makes it an incremental one over that full snapshot."""

    base_slot: U64 | None = None


@methods.add("getFaults")
def get_faults(call: Node) -> dict[str, Any]:
    """What localnet does wrong at the moment."""
    return {to_camel(field.name): getattr(call.faults, field.name) for field in fields(Faults)}


@methods.add("setFaults")
def set_faults(call: Node, config: FaultsConfig) -> dict[str, Any]:
    """Sets the given fields, and answers all of them."""
    wanted = {
        field.name: getattr(config, field.name)
        for field in fields(Faults)
        if getattr(config, field.name) is not None
    }
    for name, value in wanted.items():
        if name.endswith("_percent") and not 0 <= value <= 100:
            raise BadParams(f"{to_camel(name)}: expected 0 to 100, found {value}")
        if name == "tpu_delay_seconds" and not 0 <= value <= 60:
            raise BadParams(f"tpuDelaySeconds: expected 0 to 60, found {value}")
    for name, value in wanted.items():
        setattr(call.faults, name, value)
    return get_faults(call)


@methods.add("getAccountWrites")
def get_account_writes(call: Node, slot: U64) -> list[dict[str, Any]]:
    """Every account write of a finalized block, in order: what a stream must have shown of it."""
    final = slot <= call.ledger.root.slot
    record = call.ledger.storage.block(Slot(slot)) if final else None
    if record is None:
        raise BlockNotAvailable(Slot(slot))
    return [
        {
            "pubkey": str(Pubkey(write.pubkey)),
            "lamports": write.lamports,
            "owner": str(Pubkey(write.owner)),
            "data": [b64encode(write.data), "base64"],
            "executable": write.executable,
            "rentEpoch": write.rent_epoch,
            "writeVersion": write.write_version,
            "signature": None if write.signature is None else str(Signature(write.signature)),
        }
        for write in record.account_writes or ()
    ]


@methods.add("createSnapshot")
def create_snapshot(call: Node, config: SnapshotConfig = SnapshotConfig()) -> dict[str, Any]:
    """Writes a snapshot archive of the newest finalized block into the chain's folder."""
    made = write_snapshot(call.ledger, call.options.folder / "snapshots", config.base_slot)
    answer = {"path": str(made.path), "slot": made.slot, "hash": str(made.hash)}
    return answer if made.base_slot is None else {**answer, "baseSlot": made.base_slot}
