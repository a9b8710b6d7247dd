"""Random histories of a few accounts, and a plain model of what the archive must say of them."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hypothesis import strategies as st

from chain.accounts import AccountWrite
from chain.blocks import Granularity
from chain.units import U64_MAX
from rewind.positions import END_OF_SLOT, START_OF_SLOT
from tests.rewind import sealed_forms
from tests.rewind.conftest import NOW
from tests.rewind.samples import block, key, signature
from tests.rewind.sealed_forms import Form

ACCOUNTS = (1, 2, 3)
TRANSACTIONS = 3
_OWNERS = (bytes([7]) * 32, bytes([9]) * 32)
# Short, packed, and so large that it does not come with its row; one byte apart.
_LARGE = hashlib.shake_256(b"account").digest(9_000)
_DATA = (b"", b"a", b"b", bytes(300), bytes(301), _LARGE, _LARGE[:-1] + b"\0")
# Near an edge of partitions, and of the runs of partitions that one statement reads.
_BEGINNINGS = (100, 35_996, 431_995)


class Row(NamedTuple):
    """A state as the archive keeps it."""

    slot: int
    position: int
    is_write: bool
    lamports: int
    owner: bytes
    data: bytes
    executable: bool
    rent_epoch: int

    @property
    def place(self) -> tuple[int, int]:
        return self.slot, self.position


@dataclass
class Slot:
    """An archived slot; `writes` are by account and position."""

    slot: int
    parent: int
    is_coarse: bool
    in_ledger: bool
    writes: dict[tuple[int, int], AccountWrite] = field(default_factory=dict)

    def record(self) -> Any:
        told = sorted(self.writes.items(), key=lambda each: each[0][1])
        return block(
            self.slot,
            self.parent,
            [write for _, write in told],
            transactions=TRANSACTIONS,
            granularity=Granularity.SLOT if self.is_coarse else Granularity.WRITE,
        )


@dataclass
class History:
    """Slots ascending, and a baseline at the end of one of them."""

    slots: list[Slot]
    base_slot: int
    base: list[AccountWrite]
    form: Form = Form.HOT
    gaps: dict[int, str] = field(default_factory=dict)
    rows: dict[int, list[Row]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for below, above in zip(self.slots, self.slots[1:], strict=False):
            if above.parent > below.slot:
                self.gaps |= dict.fromkeys(range(below.slot + 1, above.parent), "unknown")
                self.gaps[above.parent] = "missing"
        for account in ACCOUNTS:
            found = {
                (each.slot, position): _row(each.slot, position, True, write)
                for each in self.slots
                for (number, position), write in each.writes.items()
                if number == account
            }
            for write in self.base:
                place = self.base_slot, END_OF_SLOT
                if write.pubkey == key(account) and write.lamports and place not in found:
                    found[place] = _row(*place, False, write)
            self.rows[account] = [found[place] for place in sorted(found)]

    @property
    def first(self) -> int:
        return self.slots[0].slot

    @property
    def last(self) -> int:
        return self.slots[-1].slot

    def archive(self) -> None:
        """Into the archive and the ledger, in a transaction that is rolled back later."""
        from historical.recording.services.recording import record_blocks
        from rewind.baselines.services.baseline import record_baseline
        from rewind.recording.services.recording import record_slots
        from rewind.recording.store import partitions

        records = [each.record() for each in self.slots]
        record_slots(records, source="stream", now=NOW)
        if self.form is Form.LATE:
            sealed_forms.seal()
        record_baseline(self.base, self.base_slot, source="snapshot", now=NOW)
        if self.form is not Form.HOT:
            sealed_forms.seal(half=self.form is Form.HALF)
        if self.form is Form.COLD:
            sealed_forms.use_folder()
            sealed_forms.move()
        if self.form is Form.LATE:
            record_slots(records, source="again", now=NOW, recheck=True)
        record_blocks([each.record() for each in self.slots if each.in_ledger], now=NOW)
        # All partitions of one test are of one transaction, and have its number.
        partitions.forget()

    def at(self, account: int, slot: int, position: int) -> Row | None:
        """The newest row at or before the position."""
        found = [row for row in self.rows[account] if row.place <= (slot, position)]
        return found[-1] if found else None

    def is_uncertain(self, account: int, slot: int, position: int) -> bool:
        """Whether of a coarse slot the position lies before the account's last write."""
        return any(each.is_coarse for each in self.slots if each.slot == slot) and any(
            row.is_write and row.slot == slot and row.position > position
            for row in self.rows[account]
        )

    def before(self, account: int, row: Row) -> Row | None:
        found = [each for each in self.rows[account] if each.place < row.place]
        return found[-1] if found else None

    def changes(
        self, account: int, first: int, last: int, below: tuple[int, int] | None = None
    ) -> list[dict[str, Any]]:
        """The entries of getAccountChanges, newest first."""
        return [
            self._entry(account, row)
            for row in reversed(self.rows[account])
            if row.is_write and first <= row.slot <= last and (below is None or row.place < below)
        ]

    def gap_since(self, known: int, slot: int) -> dict[str, Any] | None:
        """The newest gap that begins at or below the slot, unless it ends before what is known."""
        newest = max((each for each in self.gaps if each <= slot), default=None)
        if newest is None:
            return None
        status, first, last = self.gaps[newest], newest, newest
        while self.gaps.get(first - 1) == status:
            first -= 1
        while self.gaps.get(last + 1) == status:
            last += 1
        return None if last <= known else {"fromSlot": first, "toSlot": last, "status": status}

    def completeness(self, account: int, slot: int, position: int) -> dict[str, Any]:
        """`context.completeness` of the account's state at the position."""
        row = self.at(account, slot, position)
        gap = self.gap_since(-1 if row is None else row.slot, slot)
        causes: list[tuple[str, int | None, int | None]] = []
        if gap is not None:
            causes.append(("gap", gap["fromSlot"], gap["toSlot"]))
        if self.is_uncertain(account, slot, position):
            causes.append(("last_writes_only", slot, slot))
        if row is None:
            causes.append(("not_recorded", None, None))
        return {
            "status": "incomplete" if causes else "whole",
            "causes": [
                {"cause": name, "fromSlot": first, "toSlot": last, "accounts": [text(key(account))]}
                for name, first, last in causes
            ],
        }

    def gaps_between(self, first: int, last: int) -> list[dict[str, Any]]:
        told: list[dict[str, Any]] = []
        for slot in range(first, last + 1):
            status = self.gaps.get(slot)
            if told and told[-1]["toSlot"] == slot - 1 and told[-1]["status"] == status:
                told[-1]["toSlot"] = slot
            elif status is not None:
                told.append({"fromSlot": slot, "toSlot": slot, "status": status})
        return told

    def _entry(self, account: int, row: Row) -> dict[str, Any]:
        older = self.before(account, row)
        index = row.position if 0 <= row.position < END_OF_SLOT else None
        in_ledger = any(each.in_ledger for each in self.slots if each.slot == row.slot)
        return {
            "slot": row.slot,
            "lamports": row.lamports,
            "owner": text(row.owner),
            "executable": row.executable,
            "rentEpoch": row.rent_epoch,
            "space": len(row.data),
            "dataHash": hashlib.sha256(row.data).hexdigest(),
            "dataChanged": row.data != (b"" if older is None else older.data),
            "txnSignature": signed(row.slot, index) if in_ledger and index is not None else None,
            "transactionIndex": index,
        }


Ask = Callable[[Sequence[tuple[Any, ...]]], list[dict[str, Any]]]


def asking(client: Any, secret: str) -> Ask:
    """`ask([(method, *params), …])` → the JSON-RPC answers, in order, through the public door."""

    def ask(questions: Sequence[tuple[Any, ...]]) -> list[dict[str, Any]]:
        answers: list[dict[str, Any]] = []
        for start in range(0, len(questions), 100):
            body = [
                {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
                for number, (method, *params) in enumerate(questions[start : start + 100])
            ]
            response = client.post(
                "/rewind",
                json.dumps(body),
                content_type="application/json",
                headers={"Authorization": secret},
            )
            answers += json.loads(response.content)
        assert len(answers) == len(questions)
        return answers

    return ask


def signed(slot: int, index: int) -> str:
    """A transaction's signature as text."""
    from solders.signature import Signature

    return str(Signature(signature(slot, index)))


def text(pubkey: bytes) -> str:
    from solders.pubkey import Pubkey

    return str(Pubkey(pubkey))


def _row(slot: int, position: int, is_write: bool, write: AccountWrite) -> Row:
    return Row(
        slot, position, is_write, write.lamports, write.owner, write.data, write.executable,
        write.rent_epoch,
    )  # fmt: skip


_places = st.tuples(
    st.sampled_from(ACCOUNTS), st.sampled_from([START_OF_SLOT, *range(TRANSACTIONS), END_OF_SLOT])
)
_states = st.tuples(
    st.sampled_from([0, 0, 1, 5, U64_MAX]),
    st.sampled_from(_OWNERS),
    st.sampled_from(_DATA),
    st.booleans(),
    st.sampled_from([0, 361, U64_MAX]),
)


@st.composite
def histories(draw: Any) -> History:
    """Slots that are there, skipped or missing; closed accounts, several writes in a slot, writes
    outside transactions, a baseline, slots of last writes alone, blocks that the ledger lacks.
    """
    number = draw(st.sampled_from(_BEGINNINGS))
    slots: list[Slot] = []
    lost = number - 1
    for fate in [*draw(st.lists(st.sampled_from("aaaaaclms"), min_size=1, max_size=9)), "a"]:
        if fate == "m":
            lost = number  # a block that is not here
        elif fate != "s":
            parent = max(lost, slots[-1].slot if slots else 0)
            slots.append(Slot(number, parent, is_coarse=fate == "c", in_ledger=fate != "l"))
            slots[-1].writes = _writes(
                number, draw(st.dictionaries(_places, _states, max_size=7)), fate == "c"
            )
        number += 1
    base_slot = draw(st.integers(slots[0].slot, slots[-1].slot))
    base = [
        AccountWrite(key(account), *state, 0, None)
        for account, state in draw(
            st.dictionaries(st.sampled_from(ACCOUNTS), _states, max_size=2)
        ).items()
    ]
    return History(slots, base_slot, base, draw(st.sampled_from(Form)))


def _writes(
    slot: int, states: dict[tuple[int, int], Any], is_coarse: bool
) -> dict[tuple[int, int], AccountWrite]:
    """What stands where: without a transaction's write nothing stands before the transactions."""
    if is_coarse:
        last = dict(sorted(states))
        states = {place: states[place] for place in last.items()}
    if not any(0 <= position < END_OF_SLOT for _, position in states):
        states = {(number, END_OF_SLOT): states[number, place] for number, place in sorted(states)}
    return {
        (account, position): AccountWrite(
            key(account),
            *state,
            position + 2,
            signature(slot, position) if 0 <= position < END_OF_SLOT else None,
        )
        for (account, position), state in states.items()
    }
