"""What a recorded node's WebSocket would say of its chain, by subscription: from its blocks and
the last writes in its stream.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.encodings import b64encode
from tests.real.sockets import LEVELS, TOKEN, Heard, slot_of, subscriptions
from tests.recorded_doors import VOTE, last_writes
from tests.recorded_node import Recording
from upstream.protobuf.geyser_pb2 import SlotStatus

_UPDATES = {
    SlotStatus.SLOT_FIRST_SHRED_RECEIVED: "firstShredReceived",
    SlotStatus.SLOT_COMPLETED: "completed",
    SlotStatus.SLOT_CREATED_BANK: "createdBank",
    SlotStatus.SLOT_PROCESSED: "frozen",
    SlotStatus.SLOT_CONFIRMED: "optimisticConfirmation",
    SlotStatus.SLOT_FINALIZED: "root",
    SlotStatus.SLOT_DEAD: "dead",
}


class Pubsub:
    """The subscriptions of the live meeting, with version 1, and of blocks that refuse it, to
    slots from `first` on. `wallet` pays for the most of their transactions.
    """

    def __init__(self, recording: Recording, first: int) -> None:
        self._recording = recording
        final = recording.last_final()
        slots = [slot for slot in recording.blocks if first <= slot <= final]
        self._ran = {slot: self._of(slot) for slot in slots}
        payers = [keys[0] for slot in slots for keys, vote in self._ran[slot] if not vote]
        self.wallet = max(sorted({*payers}), key=payers.count)
        self.asked = subscriptions([self.wallet])
        for level in LEVELS[1:]:
            at = {"commitment": level, "encoding": "json", "showRewards": True}
            self.asked[f"version 0, {level}"] = (
                "blockSubscribe",
                "all",
                at | {"maxSupportedTransactionVersion": 0},
            )
        for name, params in self.asked.items():
            if name.startswith(("blocks", "signatures")):
                params[-1]["maxSupportedTransactionVersion"] = 1

    def check(self, heard: Heard, slots: Sequence[int]) -> int:
        """Of these slots everything was notified, once and in its order. Returns how much it is."""
        assert not heard.failure, heard.failure
        count, wanted = 0, set(slots)
        for name, results in heard.results.items():
            kind = name.rpartition(", ")[0] or name
            own = [each for each in results if kind == "vote" or slot_of(name, each) in wanted]
            got = [self._said(kind, each) for each in own]
            due = [each for slot in slots for each in self._due(kind, slot)]
            if kind == "vote":  # a vote names the slots that it is for
                got = [each for each in got if each in set(due)]
            if kind in ("vote", "slots updates", "votes' accounts", "token accounts"):
                got, due = sorted(got), sorted(due)
            assert got == due, (name, *_differing(got, due))
            assert got, f"nothing of {name}"
            count += len(got)
        return count

    def _said(self, kind: str, result: Any) -> Any:
        """What a notification says, as `_due` has it."""
        match kind:
            case "slot":
                return result["slot"], result["parent"]
            case "root":
                return result
            case "vote":
                return result["signature"]
            case "slots updates":
                return result["slot"], result["type"]
        slot, value = result["context"]["slot"], result["value"]
        if kind.startswith("logs"):
            return slot, value["signature"], value["err"], value["logs"]
        match kind:
            case "clock":
                return slot, value["data"]["parsed"]["info"]["slot"]
            case "wallet":
                return slot, value["lamports"], value["data"][0]
            case "votes' accounts":
                return slot, value["pubkey"], value["account"]["data"][0]
            case "token accounts":
                data = value["account"]["data"]
                amount = data["parsed"]["info"]["tokenAmount"]["amount"]
                return slot, value["pubkey"], int(amount)
            case "signatures":
                return slot, value["block"]["signatures"]
            case "blocks of a wallet":
                return slot, [each["meta"] for each in value["block"]["transactions"]]
        return slot, value["err"] is None, value["block"]

    def _due(self, kind: str, slot: int) -> Iterator[Any]:
        recording = self._recording
        block, writes = recording.blocks[slot], self._writes[slot]
        transactions = list(zip(block["transactions"], self._ran[slot], strict=True))
        match kind:
            case "slot":
                yield slot, block["parentSlot"]
            case "root":
                yield slot
            case "vote":
                for each, (_, is_vote) in transactions:
                    if is_vote and each["meta"]["err"] is None:
                        yield each["transaction"]["signatures"][0]
            case "slots updates":
                updates = recording.of_slot(slot, "slot")
                yield from {(slot, _UPDATES[each.status]) for each in updates}
            case "logs of all" | "logs with votes" | "logs of a wallet":
                for each, (keys, is_vote) in transactions:
                    is_left_out = is_vote and kind == "logs of all"
                    if is_left_out or (kind == "logs of a wallet" and self.wallet not in keys):
                        continue
                    meta, signature = each["meta"], each["transaction"]["signatures"][0]
                    if meta["logMessages"] is not None:  # else it only paid its fee
                        yield slot, signature, meta["err"], meta["logMessages"]
            case "clock":
                yield slot, slot
            case "wallet":
                found = writes.get(self.wallet)
                if found is not None:
                    yield slot, found.lamports, b64encode(found.data)
            case "votes' accounts":
                for key, each in writes.items():
                    if each.owner == _VOTE:
                        yield slot, key, b64encode(each.data)
            case "token accounts":
                for key, each in writes.items():
                    if each.owner == _TOKEN and len(each.data) == 165:
                        yield slot, key, int.from_bytes(each.data[64:72], "little")
            case "signatures":
                yield slot, [each["transaction"]["signatures"][0] for each, _ in transactions]
            case "blocks of a wallet":
                metas = [each["meta"] for each, (keys, _) in transactions if self.wallet in keys]
                if metas:
                    yield slot, metas
            case "blocks":
                yield slot, True, block
            case "version 0":
                is_read = all(each["version"] != 1 for each, _ in transactions)
                yield slot, is_read, block if is_read else None

    def _of(self, slot: int) -> list[tuple[list[str], bool]]:
        """Of each transaction of a block its accounts, and whether it is a vote."""
        votes = {
            str(Signature(each.transaction.signature)): each.transaction.is_vote
            for each in self._recording.of_slot(slot, "transaction")
        }
        found = []
        for each in self._recording.blocks[slot]["transactions"]:
            loaded = each["meta"].get("loadedAddresses") or {"writable": [], "readonly": []}
            keys = each["transaction"]["message"]["accountKeys"]
            is_vote = votes[each["transaction"]["signatures"][0]]
            found.append(([*keys, *loaded["writable"], *loaded["readonly"]], is_vote))
        return found

    @cached_property
    def _writes(self) -> dict[int, dict[str, Any]]:
        return {
            slot: {
                str(Pubkey(key)): each for key, each in last_writes(self._recording, slot).items()
            }
            for slot in self._ran
        }


_VOTE, _TOKEN = (bytes(Pubkey.from_string(text)) for text in (VOTE, TOKEN))


def _differing(got: list[Any], due: list[Any]) -> tuple[str, str]:
    """The first of each that the other does not have, or has elsewhere."""
    place = next(
        (n for n, pair in enumerate(zip(got, due, strict=False)) if pair[0] != pair[1]), -1
    )
    return f"{len(got)}: {str(got[place])[:400]}", f"{len(due)}: {str(due[place])[:400]}"
