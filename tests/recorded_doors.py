"""What the doors of the service give of a recorded validator's chain, held against it."""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

import grpc
from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.encodings import b64decode, b64encode
from tests import forked_commands
from tests.clients.chain_endpoints import of_service
from tests.clients.service import Service, running_service
from tests.localnet_process import Localnet, free_ports
from tests.patience import PATIENCE_SECONDS
from tests.recorded_node import Filters, RecordedNode, Recording
from tests.subscriptions.socket_client import Socket
from tests.yellowstone.conftest import Geyser, Request
from upstream.protobuf import geyser_pb2 as schema

VOTE = "Vote111111111111111111111111111111111111111"
CLOCK = "SysvarC1ock11111111111111111111111111111111"
FINALIZED = schema.SlotStatus.SLOT_FINALIZED
# As the blocks were recorded.
WHOLE = {
    "encoding": "json",
    "transactionDetails": "full",
    "rewards": True,
    "maxSupportedTransactionVersion": 1,
}
# Of replays. Features of 4.4.0 that the engine does not have (docs/decisions/missing-rules.md).
# With 4.4.0, what a cut log could hide of rules that the engine lacks.
VERDICTS = {"4.1.2": {"verified"}, "4.4.0": {"verified", "unverified engine_missing_rules"}}
_BASE64 = {"encoding": "base64", "commitment": "confirmed"}
# Slower than the recorded validators: few slots are left out.
_SLOT_SECONDS = 0.5
# With everything that a validator sends, and chosen parts of it.
EVERYTHING = Request(
    accounts={"all": {}, "votes": {"owner": [VOTE]}, "clock": {"account": [CLOCK]}},
    transactions={
        "all": {},
        "votes": {"vote": True},
        "failed": {"failed": True},
        "others": {"account_exclude": [VOTE]},
    },
    slots={"all": {"interslot_updates": True}, "plain": {}},
    blocks_meta={"all": {}},
    entry={"all": {}},
    commitment=schema.CommitmentLevel.PROCESSED,
)


@contextmanager
def service_at(
    node: RecordedNode | Localnet, version: str, **settings: str
) -> Iterator[tuple[Service, int]]:
    """The whole service, which knows of the node its ports alone, and the port of its gRPC."""
    grpc_port = free_ports(1)[0]
    with running_service(
        UPSTREAM_RPC_URL=node.url,
        UPSTREAM_GEYSER_URL=node.geyser_url,
        GRPC_PORT=str(grpc_port),
        LEDGER_API_VERSION=version,
        **settings,
    ) as service:
        yield service, grpc_port


def import_snapshot(recording: Recording, folder: Path, slot: int, service: Service) -> None:
    """The node's full snapshot of the slot: its accounts and its stakes."""
    (path,) = folder.glob(f"snapshot-{slot}-*.tar.zst")
    import_baseline(path, recording.banks[0]["blockhash"], service)


def import_baseline(path: Path, genesis: str, service: Service) -> None:
    """A snapshot of the chain that began with this hash."""
    command = ["import_snapshot", str(path), "--genesis", genesis]
    forked_commands.run(command, environment=service.environment).check_returncode()


# --- what is stored -----------------------------------------------------------------------------


def check_blocks(
    recording: Recording, service: Service, slots: Sequence[int], *, has_restarted: bool = False
) -> None:
    """Each block is what the node's getBlock gave. After a start Agave computes the staking rewards
    of a block behind an epoch's turn again, and lists them in another order: one ledger, three
    starts, two orders.
    """
    asked = [("getBlock", slot, WHOLE) for slot in slots]
    for slot, block in zip(slots, of_service(service, "/historical", asked), strict=True):
        form = _with_sorted_rewards if has_restarted else dict
        ours, theirs = _in_lines(form(block)), _in_lines(form(recording.blocks[slot]))
        assert ours == theirs, (slot, sorted({*ours} ^ {*theirs})[:20])


def _with_sorted_rewards(block: dict[str, Any]) -> dict[str, Any]:
    return {**block, "rewards": sorted(block["rewards"], key=lambda each: str(each["pubkey"]))}


def _in_lines(value: Any) -> list[str]:
    """For a difference that can be read."""
    return json.dumps(value, sort_keys=True, indent=1).splitlines()


def check_accounts(recording: Recording, service: Service, slots: Sequence[int]) -> int:
    """At the end of each slot, each account that it wrote is as the stream's last write has it.
    Returns how many states were compared.
    """
    wanted: dict[tuple[int, str], Any] = {}
    for slot in slots:
        for account in last_writes(recording, slot).values():
            wanted[slot, str(Pubkey(account.pubkey))] = account
    # The large ones alone: a batch has a limit.
    for large, group in groupby(wanted.items(), lambda each: len(each[1].data) > 200_000):
        pairs = list(group)
        for start in range(0, len(pairs), 1 if large else 20):
            part = pairs[start : start + (1 if large else 20)]
            asked = [("getAccountInfo", key, {"slot": at}) for (at, key), _ in part]
            for (place, account), found in zip(
                part, of_service(service, "/rewind", asked), strict=True
            ):
                assert _state(found["value"]) == _written(account), place
    return len(wanted)


def last_writes(recording: Recording, slot: int) -> dict[bytes, Any]:
    """The newest write of each account in the slot."""
    found: dict[bytes, Any] = {}
    for update in recording.of_slot(slot, "account"):
        known = found.get(update.account.pubkey)
        if known is None or known.write_version < update.account.write_version:
            found[update.account.pubkey] = update.account
    return found


def _written(account: Any) -> Any:
    if not account.lamports:
        return None
    owner = str(Pubkey(account.owner))
    return account.lamports, owner, account.executable, account.rent_epoch, account.data


def _state(value: Any) -> Any:
    if value is None:
        return None
    names = ("lamports", "owner", "executable", "rentEpoch")
    return (*(value[name] for name in names), b64decode(value["data"][0]))


def check_replays(
    recording: Recording, service: Service, slots: Sequence[int], *, tolerate_gaps: bool = False
) -> Counter[str]:
    """Each transaction runs again as it ran at the node. Returns the verdicts and their reasons."""
    config = {**WHOLE, "encoding": "base64"}
    blocks = of_service(service, "/historical", [("getBlock", slot, config) for slot in slots])
    asked, metas = [], []
    for slot, block in zip(slots, blocks, strict=True):
        for index, each in enumerate(block["transactions"]):
            place: dict[str, Any] = {"anchor": {"slot": slot, "transactionIndex": index}}
            place["tolerateGaps"] = tolerate_gaps
            asked.append(("simulateHistoricalTransaction", each["transaction"][0], place))
            metas.append(recording.blocks[slot]["transactions"][index]["meta"])
    verdicts: Counter[str] = Counter()
    for question, answer, meta in zip(
        asked, of_service(service, "/rewind", asked), metas, strict=True
    ):
        value = answer["value"]
        verdicts[f"{value['fidelity']} {value['fidelityReason'] or ''}".strip()] += 1
        if value["fidelity"] == "verified":
            ended = value["err"], value["logs"], value["unitsConsumed"]
            theirs = meta["err"], meta["logMessages"] or [], meta["computeUnitsConsumed"]
            assert ended == theirs, question[2]
    return verdicts


def check_banks(recording: Recording, service: Service, slots: Sequence[int]) -> None:
    """Each bank's hash is the one in the node's log."""
    short = {"includeLattice": False, "includeVotes": False}
    asked = [("getSlotProof", slot, short) for slot in slots]
    for slot, found in zip(slots, of_service(service, "/rewind", asked), strict=True):
        bank = recording.banks[slot]
        assert (found["bankHash"], found["signatureCount"]) == (
            bank["bankHash"],
            bank["signatureCount"],
        ), slot


# --- what is sent as it happens -----------------------------------------------------------------


def until_heard(node: RecordedNode, port: int, key: str, joined: int) -> int:
    """Plays on from the middle of the slot in which the stream was joined, until the service has
    heard of one above it: the slot in whose middle the chain is then.
    """
    geyser, slot = Geyser(port, None, key), joined  # type: ignore[arg-type]
    while _processed(geyser) <= joined:
        slot += 1
        assert slot < node.recording.messages[-1].slot, "nothing is heard of the chain"
        node.play(node.recording.place(slot, 0.5))
        time.sleep(_SLOT_SECONDS)
    return slot


def _processed(geyser: Geyser) -> int:
    try:
        return int(geyser.call("GetSlot", schema.GetSlotRequest()).slot)
    except grpc.RpcError:
        return 0


@contextmanager
def subscribed_geyser(port: int, key: str) -> Iterator[list[Any]]:
    """All that the service's own gRPC sends of EVERYTHING, until the end of the block."""
    updates: list[Any] = []
    is_open = threading.Event()
    with Geyser(port, None, key).subscribed(EVERYTHING) as stream:  # type: ignore[arg-type]
        stream.send(Request(ping={"id": 1}))
        threading.Thread(target=_appended, args=(updates, stream, is_open), daemon=True).start()
        assert is_open.wait(PATIENCE_SECONDS)
        yield updates


def _appended(updates: list[Any], stream: Any, is_open: threading.Event) -> None:
    """What was asked for before the ping counts once that is answered."""
    try:
        for each in stream:
            if each.HasField("pong"):
                is_open.set()
            else:
                updates.append(each)
    except Exception as error:
        updates.append(error)
    is_open.set()


def is_final(updates: Sequence[Any], slot: int) -> bool:
    """Whether the stream said that the slot is final, or ended."""
    return any(
        isinstance(each, Exception) or (each.slot.slot, each.slot.status) == (slot, FINALIZED)
        for each in reversed(updates)
    )


def check_geyser(recording: Recording, updates: Sequence[Any], slots: Sequence[int]) -> None:
    """Of each slot the service sent what the plugin did, under the names of the same filters: of an
    account its last write in the slot, all else as it was.
    """
    filters = Filters(EVERYTHING)
    wanted: dict[int, Counter[Any]] = {slot: Counter() for slot in slots}
    states = {slot: last_writes(recording, slot) for slot in slots}
    for message in recording.messages:
        if message.slot in wanted:
            update = message.update
            if message.kind == "account":
                account = update.account.account
                newest = states[message.slot][account.pubkey]
                if newest.write_version != account.write_version:
                    continue
            names = filters.names(message)
            if names:
                wanted[message.slot][_content(update, names)] += 1
    found: dict[int, Counter[Any]] = {slot: Counter() for slot in slots}
    for update in updates:
        assert not isinstance(update, Exception), update
        slot = getattr(update, update.WhichOneof("update_oneof")).slot
        if slot in found:
            found[slot][_content(update, update.filters)] += 1
    for slot in slots:
        assert found[slot] == wanted[slot], (
            slot,
            [_short(each) for each in (found[slot] - wanted[slot])],
            [_short(each) for each in (wanted[slot] - found[slot])],
        )


def _content(update: Any, names: Sequence[str]) -> tuple[tuple[str, ...], bytes]:
    bare = schema.SubscribeUpdate()
    bare.CopyFrom(update)
    bare.ClearField("filters")
    bare.ClearField("created_at")
    # The service's statuses name the bank that the block's message names.
    if bare.HasField("slot"):
        bare.slot.ClearField("bank_id")
    return tuple(sorted(names)), bare.SerializeToString(deterministic=True)


def _short(content: tuple[tuple[str, ...], bytes]) -> str:
    update = schema.SubscribeUpdate.FromString(content[1])
    if update.HasField("account"):
        update.account.account.data = b""
    return f"{content[0]} {update!s:.600}"


def _slot_of(result: Any) -> int:
    """The slot that a notification is about."""
    if isinstance(result, int):
        return result
    return int(result["context"]["slot"] if "context" in result else result["slot"])


class Notified:
    """The notifications of one WebSocket, by the name of the subscription: of what happens, or of
    everything since `from_slot`. `gaps` are the slots that were reported as missing.
    """

    def __init__(self, url: str, key: str, from_slot: int | None = None) -> None:
        self._socket = Socket(url, key)
        self.failure: list[BaseException] = []
        self.results: dict[str, list[Any]] = {}
        self.gaps: dict[str, set[int]] = {}
        since = {} if from_slot is None else {"fromSlot": from_slot}
        whole = {**WHOLE, "commitment": "confirmed", "showRewards": True, **since}
        del whole["rewards"]
        subscriptions: dict[str, tuple[Any, ...]] = {
            "slot": (since,) if since else (),
            "root": (since,) if since else (),
            "vote": (since,) if since else (),
            "logs": ("allWithVotes", {"commitment": "confirmed", **since}),
            "block": ("all", whole),
            "account": (CLOCK, {**_BASE64, **since}),
            "program": (VOTE, {**_BASE64, **since}),
        }
        names = {}
        for name, params in subscriptions.items():
            names[self._socket.call(f"{name}Subscribe", *params)] = name
            self.results[name], self.gaps[name] = [], set()
        self._names, self._is_of_past = names, from_slot is not None
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            while True:
                message = self._socket.kept.pop(0) if self._socket.kept else self._socket.receive()
                params = message["params"]
                assert "subscription" in params, message
                name, result = self._names[params["subscription"]], params["result"]
                if message["method"] == "gapNotification":
                    self.gaps[name] |= {*range(result["fromSlot"], result["toSlot"] + 1)}
                else:
                    self.results[name].append(result)
        except BaseException as error:
            self.failure.append(error)

    def is_final(self, slot: int) -> bool:
        """Whether the slot was notified as a root, or reading ended."""
        return bool(self.failure) or slot in self.results["root"]

    def is_told(self, slot: int) -> bool:
        """Whether each subscription was notified of the slot, or that it is missing."""
        told = [
            slot in {_slot_of(each) for each in results[-500:]} | self.gaps[name]
            for name, results in self.results.items()
            if name != "vote"
        ]
        return bool(self.failure) or all(told)

    def check(self, recording: Recording, slots: Sequence[int]) -> None:
        """Of each of these slots, all of which are final, everything was notified, and once, but
        for those that were reported as missing.
        """
        assert not self.failure, self.failure

        def due(name: str) -> list[int]:
            return [slot for slot in slots if slot not in self.gaps[name]]

        def of(name: str) -> list[Any]:
            wanted = set(due(name))
            found = [each for each in self.results[name] if _slot_of(each) in wanted]
            # What was missed at first may come after what is not final yet.
            return sorted(found, key=_slot_of) if self._is_of_past else found

        for name in ("slot", "root"):
            opened = list(map(_slot_of, of(name)))
            assert opened == due(name), (name, Counter(opened), {*due(name)} - {*opened})
        blocks = {_slot_of(each): each["value"]["block"] for each in of("block")}
        assert len(blocks) == len(of("block")) == len(due("block"))
        for slot, block in blocks.items():
            assert _in_lines(block) == _in_lines(recording.blocks[slot]), slot
        ran = [
            (slot, each["transaction"]["signatures"][0], each["meta"]["err"])
            for slot in due("logs")
            for each in recording.blocks[slot]["transactions"]
            if each["meta"]["logMessages"] is not None  # it only paid its fee
        ]
        logs = [(_slot_of(e), e["value"]["signature"], e["value"]["err"]) for e in of("logs")]
        assert logs == ran, [each for each in [*logs, *ran] if [*logs, *ran].count(each) != 2]
        clocks = [(_slot_of(each), each["value"]["data"][0]) for each in of("account")]
        clock = bytes(Pubkey.from_string(CLOCK))
        states = {slot: last_writes(recording, slot) for slot in slots}
        wanted = [(slot, b64encode(states[slot][clock].data)) for slot in due("account")]
        assert clocks == wanted
        accounts = Counter((_slot_of(e), e["value"]["pubkey"]) for e in of("program"))
        vote = bytes(Pubkey.from_string(VOTE))
        written = Counter(
            (slot, str(Pubkey(key)))
            for slot in due("program")
            for key, account in states[slot].items()
            if account.owner == vote
        )
        assert accounts == written, (accounts - written, written - accounts)
        votes = {each["signature"] for each in self.results["vote"]}
        cast = [
            str(Signature(update.transaction.signature))
            for slot in due("vote")
            for update in recording.of_slot(slot, "transaction")
            if update.transaction.is_vote and not update.transaction.meta.err.err
        ]
        assert set(cast) <= votes and len(self.results["vote"]) == len(votes)

    def close(self) -> None:
        self._socket.socket.close()
