"""Simulations on an archive that lacks any of a chain's slots, against the whole archive's: what is
called whole is the same, and what is called verified is whole.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from hypothesis import event, given, settings
from hypothesis import strategies as st
from solders.transaction import VersionedTransaction

from chain.blocks import Granularity, SlotRecord
from chain.encodings import b64encode
from historical.recording.services.recording import record_blocks
from rewind.recording.services.recording import record_slots
from rewind.recording.store import partitions
from rewind.replay.services import features
from tests.conftest import Rpc
from tests.examples import examples
from tests.rewind.conftest import NOW
from tests.rewind.little_chain import SOL, LittleChain

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_ledger")]
SETTINGS = settings(
    max_examples=examples(10),
)
SLOTS = 6


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[LittleChain]:
    """Three wallets that pay one another, two payments a slot, a slot skipped in the middle."""
    made = LittleChain(tmp_path, payers=3)
    wallets = [payer.pubkey() for payer in made.payers]
    for slot in range(SLOTS):
        made.block(
            made.payment(wallets[(slot + 1) % 3], SOL, payer=slot % 3),
            made.payment(wallets[slot % 3], SOL + slot, payer=(slot // 2) % 3),
            skip=int(slot == 3),
        )
    yield made
    made.close()


def last_writes(record: SlotRecord) -> SlotRecord:
    last = {write.pubkey: write for write in record.account_writes or ()}
    return replace(record, granularity=Granularity.SLOT, account_writes=list(last.values()))


def questions(chain: LittleChain) -> list[tuple[str, str, dict[str, Any]]]:
    """(method, transaction, config): some transactions around each transaction and slot."""
    probes = [chain.sent[number] for number in (0, 3, 7, 10)]
    asked: list[tuple[str, str, dict[str, Any]]] = []
    places: list[dict[str, Any]] = []
    for record in chain.records[1:]:
        places.append({"slot": record.slot})
        for index in range(2):
            anchor = {"slot": record.slot, "transactionIndex": index}
            places.append({"anchor": anchor})
    for number, place in enumerate(places):
        tolerant = {**place, "tolerateGaps": True}
        probe = probes[number % len(probes)]
        text, wallets = b64encode(bytes(probe)), shown(chain, probe)
        for config in (place, tolerant):
            asked.append(("simulateHistoricalTransaction", text, {**config, "accounts": wallets}))
        asked.append(("simulateBundle", text, {**tolerant, "replaceRecentBlockhash": True}))
    for number, sent in enumerate(chain.sent):
        anchor = {"slot": chain.records[1 + number // 2].slot, "transactionIndex": number % 2}
        config = {"anchor": anchor, "accounts": shown(chain, sent)}
        asked.append(("simulateHistoricalTransaction", b64encode(bytes(sent)), config))
    return asked


def shown(chain: LittleChain, sent: VersionedTransaction) -> dict[str, Any]:
    """As many wallets as may be named, also those that the transaction does not name."""
    wallets = [str(each.pubkey()) for each in reversed(chain.payers)]
    return {"encoding": "base64", "addresses": wallets[: len(sent.message.account_keys)]}


def answers(rpc: Rpc, asked: list[tuple[str, str, dict[str, Any]]]) -> list[dict[str, Any]]:
    found = []
    for method, text, config in asked:
        if method == "simulateBundle":
            found.append(rpc("/", method, {"encodedTransactions": [text], **config}))
        else:
            found.append(rpc("/rewind", method, text, config))
    return found


def archive(records: list[SlotRecord]) -> None:
    record_slots(records, source="stream", now=NOW)
    partitions.forget()
    features.forget()


def outcome(answer: dict[str, Any]) -> Any:
    """What was answered, without how far that is proved."""
    result = answer["result"]
    value = result.get("value", result)
    unproved = ("context", "fidelity", "fidelityFields", "fidelityReason", "ownPlace")
    return {name: told for name, told in value.items() if name not in unproved}


def test_what_is_whole_is_what_the_whole_archive_says(chain: LittleChain, rpc: Rpc) -> None:
    record_blocks(chain.records, now=NOW)
    asked = questions(chain)
    with transaction.atomic():
        archive(chain.records)
        right = answers(rpc, asked)
        transaction.set_rollback(True)
    for answer in right:
        assert answer["result"]["context"]["completeness"]["status"] == "whole"
    seen = set()

    @SETTINGS
    @given(st.lists(st.sampled_from("aaalc"), min_size=SLOTS - 1, max_size=SLOTS - 1))
    def check(fates: list[str]) -> None:
        # The first slots and the last are there: between them is what may lack.
        kept = [*chain.records[:1]]
        for record, fate in zip(chain.records[1:], [*fates, "a"], strict=True):
            if fate != "l":
                kept.append(last_writes(record) if fate == "c" else record)
        with transaction.atomic():
            archive(kept)
            for question, answer, whole in zip(asked, answers(rpc, asked), right, strict=True):
                if "error" in answer:
                    assert answer["error"]["code"] == -32018, (question, answer)
                    continue
                status = answer["result"]["context"]["completeness"]["status"]
                seen.add(status)
                event(status)
                if status == "whole":
                    assert outcome(answer) == outcome(whole), (fates, question)
                else:
                    value = answer["result"].get("value", {})
                    assert value.get("fidelity") not in ("verified", "diverged")
                if "l" not in fates and "c" not in fates:
                    assert status == "whole"
            transaction.set_rollback(True)

    check()
    assert seen == {"whole", "incomplete"}
