"""Histories that come in any order, sealed, moved, corrected and cut in between: every door says
what the model has.
"""

import base64
import random
from dataclasses import replace
from typing import Any

import pytest
import zstandard
from django.db import transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from chain.encodings import b58decode
from columns.kept import forget_all
from tests.examples import examples
from tests.rewind import sealed_forms
from tests.rewind.conftest import NOW
from tests.rewind.histories import ACCOUNTS, Ask, History, Slot, asking, histories, text
from tests.rewind.samples import key
from tests.rewind.test_account_info_histories import (
    Named,
    check_diff,
    positions_of,
    told,
    wanted,
)

KEYS = [text(key(account)) for account in ACCOUNTS]


@pytest.fixture
def ask(client: Any, api_key: str, empty_ledger: None) -> Ask:
    return asking(client, api_key)


def restart() -> None:
    from rewind.recording.store import partitions
    from rewind.sealed.store import cold_blocks, open_blocks

    forget_all()
    partitions.forget()
    open_blocks.forget()
    cold_blocks.forget()


def forget_layout() -> None:
    """All partitions of one test are of one transaction, and have its number."""
    from rewind.recording.store import partitions

    partitions.forget()


def record(slots: list[Slot], **options: Any) -> None:
    from historical.recording.services.recording import record_blocks
    from rewind.recording.services.recording import record_slots

    record_slots([each.record() for each in slots], source="stream", now=NOW, **options)
    record_blocks([each.record() for each in slots if each.in_ledger], now=NOW)


def compare(ask: Ask, history: History, chance: random.Random, log: list[Any]) -> None:
    named = positions_of(history)
    questions, expected = [], []
    for config, slot, position in chance.sample(named, min(len(named), 14)):
        tolerant = chance.random() < 0.6
        config = config | {"tolerateGaps": tolerant}
        answers = [wanted(history, a, slot, position, tolerant=tolerant) for a in ACCOUNTS]
        for pubkey, answer in zip(KEYS, answers, strict=True):
            questions.append(("getAccountInfo", pubkey, config))
            expected.append(answer)
        questions.append(("getMultipleAccounts", KEYS, config))
        refused = next((each for each in answers if "code" in each), None)
        expected.append(refused or [each["value"] for each in answers])
    for account, pubkey in zip(ACCOUNTS, KEYS, strict=True):
        first, last = history.first, history.last
        questions.append(("getAccountChanges", pubkey, {"fromSlot": first, "toSlot": last}))
        expected.append(history.changes(account, first, last))
    for question, answer, right in zip(questions, ask(questions), expected, strict=True):
        found = told(answer)
        if question[0] == "getMultipleAccounts" and "value" in found:
            found = found["value"]
        elif question[0] == "getAccountChanges":
            assert found["value"]["gaps"] == history.gaps_between(history.first, history.last), log
            found = found["value"]["changes"]
        assert found == right, (question, log)
    compare_pairs(ask, history, chance, named, log)
    compare_cuts(ask, history, chance, named, log)


def compare_pairs(
    ask: Ask, history: History, chance: random.Random, named: list[Named], log: list[Any]
) -> None:
    """Differences between any two of the positions, in either order of time."""
    asked = []
    for _ in range(6):
        pair, number = chance.choices(named, k=2), chance.randrange(len(KEYS))
        config: dict[str, Any] = {"tolerateGaps": chance.random() < 0.6}
        sides = [
            wanted(history, ACCOUNTS[number], slot, position, tolerant=config["tolerateGaps"])
            for _, slot, position in pair
        ]
        for name, (place, _, _) in zip("AB", pair, strict=True):
            config |= {f"{each}{name}": value for each, value in place.items()}
        asked.append((sides, ("getAccountDiff", KEYS[number], config)))
    answers = ask([question for _, question in asked])
    for (sides, question), answer in zip(asked, answers, strict=True):
        check_diff(told(answer), *sides)
        if "result" in answer:
            found = answer["result"]["context"]["completeness"]
            causes = [e for side in sides for e in side["context"]["completeness"]["causes"]]
            assert all(each in causes for each in found["causes"]), (question, log)
            assert (found["status"] == "incomplete") == bool(causes), (question, log)


def compare_cuts(
    ask: Ask, history: History, chance: random.Random, named: list[Named], log: list[Any]
) -> None:
    """Pieces of the data in each encoding."""
    asked = []
    for _ in range(8):
        (place, slot, position), number = chance.choice(named), chance.randrange(len(KEYS))
        row = history.at(ACCOUNTS[number], slot, position)
        offset, length = (
            chance.choice([0, 1, 2, 128, 129, 130, 300, 2**63, 2**64 - 1]) for _ in "ab"
        )
        encoding = chance.choice(["base64", "base58", "base64+zstd"])
        config = place | {
            "tolerateGaps": True,
            "encoding": encoding,
            "dataSlice": {"offset": offset, "length": length},
        }
        asked.append((row, ("getAccountInfo", KEYS[number], config)))
    answers = ask([question for _, question in asked])
    for (row, question), answer in zip(asked, answers, strict=True):
        config = question[2]
        encoding, (offset, length) = config["encoding"], config["dataSlice"].values()
        if row is None or row.lamports == 0:
            assert answer["result"]["value"] is None, (config, log)
            continue
        cut = row.data[offset : offset + length]
        if encoding == "base58" and len(cut) > 129:
            assert answer["error"]["data"]["reason"] == "data_too_long_for_base58", (config, answer)
            continue
        (text_of, named_as), space = (answer["result"]["value"][name] for name in ("data", "space"))
        assert (named_as, space) == (encoding, len(row.data)), (config, log)
        read = {
            "base64": base64.b64decode,
            "base58": b58decode,
            "base64+zstd": lambda text: (
                zstandard.ZstdDecompressor().decompressobj().decompress(base64.b64decode(text))
            ),
        }[encoding]
        assert read(text_of) == cut, (config, log)


@settings(max_examples=examples(24))
@given(histories(), st.integers(0, 2**32), st.booleans())
def test_any_order_reads_as_the_model(ask: Ask, whole: History, seed: int, cut: bool) -> None:
    from rewind.baselines.services.baseline import record_baseline

    chance = random.Random(seed)
    log: list[Any] = [seed]
    with transaction.atomic():
        restart()
        sealed_forms.use_folder()
        left = list(whole.slots)
        if chance.random() < 0.7:
            chance.shuffle(left)
        there: dict[int, Slot] = {}
        base: list[Any] = []
        base_slot = whole.base_slot

        def model() -> History:
            return History([there[slot] for slot in sorted(there)], base_slot, base)

        while left or chance.random() < 0.6:
            act = chance.choice(
                ["record"] * 3
                + ["seal", "half", "move", "again", "alter", "base", "restart", "fine", "steps"]
            )
            if not there:
                act = "record"
            if act == "record":
                if not left:
                    continue
                some = [left.pop() for _ in range(min(len(left), chance.randint(1, 3)))]
                record(some)
                there |= {each.slot: each for each in some}
                log.append((act, [each.slot for each in some]))
            elif act in ("seal", "half"):
                late = chance.choice([0.0, 1.0])
                log.append((act, late, sealed_forms.seal(half=act == "half", late_share=late)))
            elif act == "steps":
                from rewind.sealed.services.sealing import Policy, seal_step

                seal_step(Policy(margin=-1_000_000, late_share=1.0), now=NOW)
                log.append(act)
            elif act == "move":
                log.append((act, sealed_forms.move()))
            elif act == "restart":
                restart()
                log.append(act)
            elif act == "again":
                some = chance.sample(list(there.values()), 1)
                record(some, recheck=chance.random() < 0.5)
                log.append((act, [each.slot for each in some]))
            elif act in ("alter", "fine"):
                found = there[chance.choice(list(there))]
                writes = dict(found.writes)
                if act == "alter" and not found.is_coarse:
                    for place in list(writes):
                        if chance.random() < 0.5:
                            lamports, data = chance.choice([0, 3, 7]), chance.choice([b"", b"xyz"])
                            writes[place] = writes[place]._replace(lamports=lamports, data=data)
                elif not (act == "fine" and found.is_coarse):
                    continue
                changed = replace(found, is_coarse=False, writes=writes)
                record([changed], recheck=True)
                there[found.slot] = changed
                log.append((act, found.slot))
            elif act == "base":
                if base or not (min(there) <= base_slot <= max(there)):
                    continue
                base = list(whole.base)
                record_baseline(base, base_slot, source="snapshot", now=NOW)
                log.append((act, base_slot))
            forget_layout()
            if chance.random() < 0.5:
                compare(ask, model(), chance, log)
        compare(ask, model(), chance, log)
        if cut:
            pruned(ask, model(), chance, log)
        transaction.set_rollback(True)


def pruned(ask: Ask, history: History, chance: random.Random, log: list[Any]) -> None:
    from rewind.recording.services.retention import prune

    edge = chance.choice([*range(history.first, history.last + 1), 36_000, 432_000])
    if not history.first <= edge <= history.last:
        return
    kept = [each.slot for each in history.slots if each.slot >= edge]
    questions: list[tuple[Any, ...]] = [
        ("getAccountInfo", pubkey, config | {"tolerateGaps": True})
        for config, slot, position in positions_of(history)
        if (slot, position) >= (kept[0], 0)
        for pubkey in KEYS
    ]
    questions += [
        ("getAccountChanges", pubkey, {"fromSlot": kept[0], "toSlot": history.last})
        for pubkey in KEYS
    ]
    questions.append(("getMultipleAccounts", KEYS, {"slot": history.last, "tolerateGaps": True}))
    before = ask(questions)
    again = chance.random() < 0.5
    log.append(("prune", edge))
    for _ in range(2):
        prune(edge)
        forget_layout()
        for question, old, new in zip(questions, before, ask(questions), strict=True):
            same(question, old, new, log)
        sealed_forms.seal(half=again, late_share=1.0)
        if again:
            sealed_forms.move()
        record([chance.choice([each for each in history.slots if each.slot >= edge])], recheck=True)
        restart()
        log.append("second")


def same(question: Any, old: Any, new: Any, log: list[Any]) -> None:
    assert "result" in new, (question, old, new, log)
    left, right = old["result"], new["result"]

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: plain(each) for name, each in value.items() if name != "rewindSlot"}
        if isinstance(value, list):
            return [plain(each) for each in value]
        return value

    assert plain(left["value"]) == plain(right["value"]), (question, old, new, log)
    was, now = left["context"]["completeness"], right["context"]["completeness"]
    if was["status"] == "incomplete":
        assert now["status"] == "incomplete", (question, old, new, log)
