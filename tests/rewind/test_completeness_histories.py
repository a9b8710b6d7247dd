"""Whatever an archive lacks of any history: `completeness` is `whole` if and only if the answer is
the same for every history that the archive may come from.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import transaction
from hypothesis import event, given, settings
from hypothesis import strategies as st

from chain.accounts import AccountWrite
from rewind.positions import END_OF_SLOT, START_OF_SLOT
from tests.examples import examples
from tests.rewind.histories import (
    ACCOUNTS,
    TRANSACTIONS,
    Ask,
    History,
    Row,
    Slot,
    asking,
    histories,
    text,
)
from tests.rewind.samples import key

SETTINGS = settings(
    max_examples=examples(30),
)
KEYS = [text(key(account)) for account in ACCOUNTS]
_UNSEEN_OWNER = bytes([11]) * 32


@pytest.fixture
def ask(client: Any, api_key: str, empty_ledger: None) -> Ask:
    return asking(client, api_key)


@dataclass
class Kept:
    """What is archived, and whole histories that it may be a part of: in all of them each account
    was written before the first slot, in each missing slot, and in a slot of last writes before its
    last write.
    """

    archived: History
    full: list[History]


@st.composite
def kept_histories(draw: Any) -> Kept:
    drawn = draw(histories())
    full = [_filled(drawn, copies_data=copies) for copies in (False, True)]
    # A snapshot says what was: of accounts that were last written in an archived slot this is the
    # same in all histories.
    base_slot = draw(st.sampled_from([each.slot for each in drawn.slots]))
    base = []
    for account in draw(st.sets(st.sampled_from(ACCOUNTS))):
        rows = {one.at(account, base_slot, END_OF_SLOT) for one in full}
        if len(rows) == 1 and (row := rows.pop()) is not None:
            base.append(_write(account, row))
    return Kept(History(drawn.slots, base_slot, base), full)


def _write(account: int, row: Row) -> AccountWrite:
    return AccountWrite(
        key(account), row.lamports, row.owner, row.data, row.executable, row.rent_epoch, 0, None
    )


def _filled(drawn: History, *, copies_data: bool) -> History:
    """The drawn slots, and what the archive did not see of them. With `copies_data` an unseen
    write leaves the data that the next archived one has, so that only the first changed it.
    """
    there = {each.slot: each for each in drawn.slots}
    slots: list[Slot] = []
    for number in (drawn.first - 1, *range(drawn.first, drawn.last + 1)):
        known = there.get(number)
        if known is None and number >= drawn.first and number not in drawn.gaps:
            continue  # skipped
        unseen: dict[tuple[int, int], AccountWrite] = {}
        for account in ACCOUNTS:
            place = number, 1
            if known is not None:
                last = [position for each, position in known.writes if each == account]
                if not known.is_coarse or not last or last[0] == START_OF_SLOT:
                    continue
                place = number, START_OF_SLOT
            data = _next_data(drawn, account, place) if copies_data else None
            unseen[account, place[1]] = AccountWrite(
                key(account),
                1_000_000 + number,
                _UNSEEN_OWNER,
                b"unseen %d" % number if data is None else data,
                False,
                0,
                0,
                None,
            )
        parent = slots[-1].slot if slots else number - 1
        slot = Slot(number, parent, is_coarse=False, in_ledger=known is None or known.in_ledger)
        slot.writes = unseen | ({} if known is None else known.writes)
        slots.append(slot)
    return History(slots, drawn.first - 1, [])


def _next_data(drawn: History, account: int, place: tuple[int, int]) -> bytes | None:
    later = [row for row in drawn.rows[account] if row.is_write and row.place > place]
    return later[0].data if later else None


def positions_of(history: History) -> Iterator[tuple[dict[str, Any], int, int]]:
    for slot in range(history.first, history.last + 1):
        yield {"slot": slot}, slot, END_OF_SLOT
    for each in history.slots:
        for index in range(TRANSACTIONS):
            anchor = {"slot": each.slot, "transactionIndex": index}
            yield {"anchor": anchor}, each.slot, index - 1
            yield {"anchor": anchor | {"position": "after"}}, each.slot, index


def status_of(answer: dict[str, Any]) -> str:
    """Of a whole answer there are no causes, and of another some."""
    told: dict[str, Any] = answer["context"]["completeness"]
    assert bool(told["causes"]) == (told["status"] != "whole")
    for cause in told["causes"]:
        assert cause["accounts"] and set(cause["accounts"]) <= set(KEYS)
        assert (cause["fromSlot"] is None) == (cause["cause"] in ("not_recorded", "filtered"))
    status: str = told["status"]
    event(status)
    return status


def is_same(value: Any, row: Row | None) -> bool:
    """Whether a read account is the state; since which slot it is so a snapshot cannot tell."""
    if row is None or row.lamports == 0 or value is None:
        return value is None and (row is None or row.lamports == 0)
    found = value["lamports"], value["owner"], value["space"], value["rentEpoch"]
    return bool(found == (row.lamports, text(row.owner), len(row.data), row.rent_epoch))


@SETTINGS
@given(kept_histories(), st.data())
def test_reads_are_whole_where_no_history_would_say_otherwise(
    ask: Ask, kept: Kept, data: st.DataObject
) -> None:
    with transaction.atomic():
        kept.archived.archive()
        named = list(positions_of(kept.archived))
        tolerant = {"tolerateGaps": True}
        singles = [
            ("getAccountInfo", pubkey, config | tolerant)
            for config, _, _ in named
            for pubkey in KEYS
        ]
        several = [("getMultipleAccounts", KEYS, config | tolerant) for config, _, _ in named]
        pairs = data.draw(st.lists(st.tuples(*[st.sampled_from(named)] * 2), max_size=20))
        diffs = [
            (
                "getAccountDiff",
                KEYS[0],
                {f"{name}A": value for name, value in a[0].items()}
                | {f"{name}B": value for name, value in b[0].items()}
                | tolerant,
            )
            for a, b in pairs
        ]
        answers = [answer["result"] for answer in ask([*singles, *several, *diffs])]
        alone, together = answers[: len(singles)], answers[len(singles) :]

        def agrees(value: Any, account: int, slot: int, position: int) -> bool:
            return all(is_same(value, full.at(account, slot, position)) for full in kept.full)

        for number, (_, slot, position) in enumerate(named):
            right = []
            for account in ACCOUNTS:
                answer = alone[number * len(ACCOUNTS) + account - 1]
                right.append(agrees(answer["value"], account, slot, position))
                assert (status_of(answer) == "whole") == right[-1], (slot, position, account)
            assert (status_of(together[number]) == "whole") == all(right)
        for (a, b), answer in zip(pairs, together[len(named) :], strict=True):
            sides = [
                agrees(answer["value"][side], ACCOUNTS[0], *place[1:])
                for side, place in (("a", a), ("b", b))
            ]
            assert (status_of(answer) == "whole") == all(sides)
        transaction.set_rollback(True)


@SETTINGS
@given(kept_histories(), st.data())
def test_pages_of_changes_are_whole_where_no_history_would_say_otherwise(
    ask: Ask, kept: Kept, data: st.DataObject
) -> None:
    history = kept.archived
    with transaction.atomic():
        history.archive()
        ends = st.integers(history.first, history.last)
        questions, below = [], []
        for _ in range(20):
            account = data.draw(st.sampled_from(ACCOUNTS))
            first, last = sorted((data.draw(ends), data.draw(ends)))
            config = {"fromSlot": first, "toSlot": last, "limit": data.draw(st.integers(1, 6))}
            place = None
            if data.draw(st.booleans()):
                slot = data.draw(st.sampled_from([each.slot for each in history.slots]))
                index = data.draw(st.integers(0, TRANSACTIONS - 1))
                config["anchor"] = {"slot": slot, "transactionIndex": index}
                place = slot, index
            questions.append(("getAccountChanges", KEYS[account - 1], config))
            below.append((account, first, last, place))
        for question, where, answer in zip(questions, below, ask(questions), strict=True):
            result, limit = answer["result"], question[2]["limit"]
            found = [_without_signature(entry) for entry in result["value"]["changes"]]
            right = []
            for full in kept.full:
                entries = [_without_signature(entry) for entry in full.changes(*where)]
                is_cut = len(entries) > limit
                right.append(
                    found == entries[:limit] and is_cut == (result["value"]["next"] is not None)
                )
            assert (status_of(result) == "whole") == all(right), question
        transaction.set_rollback(True)


def _without_signature(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "txnSignature"}


@SETTINGS
@given(kept_histories())
def test_a_slot_of_last_writes_counts_apart(ask: Ask, kept: Kept) -> None:
    history = kept.archived
    with transaction.atomic():
        history.archive()
        (answer,) = ask([("getRewindCoverage",)])
        told = answer["result"]
        coarse = sum(each.is_coarse for each in history.slots)
        assert told["lastWritesOnlySlotCount"] == coarse
        assert told["wholeSlotCount"] == len(history.slots) - coarse
        assert told["slotRange"] == sum(
            told[f"{name}SlotCount"] for name in ("whole", "lastWritesOnly", "missing", "skipped")
        )
        transaction.set_rollback(True)
