"""Every recorded answer of a real node to a method of the ledger, asked of the ledger."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from chain.blocks import SlotRecord, TransactionRecord
from chain.commitment import Commitment
from chain.encodings import b58encode
from chain.units import Slot
from historical.methods import methods
from historical.recording.services.recording import record_blocks
from tests.recorded_answers import Asked, blocks, difference, load, recorded

pytestmark = pytest.mark.django_db

Ask = Callable[[bytes], Any]
_COMMITMENTS = [each.value for each in Commitment]


@pytest.fixture
def ask(client: Client, api_key: str, empty_ledger: None) -> Ask:
    """The response to a body, JSON or text."""

    def post(body: bytes) -> Any:
        response = client.post(
            "/historical",
            body,
            content_type="application/json",
            headers={"Authorization": api_key, "Host": "localhost"},
        )
        return json.loads(response.content) if response.content else ""

    return post


def record(records: list[SlotRecord]) -> None:
    record_blocks(records, now=datetime.now(UTC))


def test_the_ledger_answers_as_the_node_did(fixtures: Path, ask: Ask) -> None:
    found = recorded(fixtures)
    chain = blocks(fixtures)
    record(_moved(chain, found.facts["slot"]))
    served = {method.name for method in methods}
    # The ledger has neither of the methods with which the node's envelopes were tried.
    others = {"getVersion": "getSlot", "getHealth": "getSlot"}
    names = {found.facts["signature"]: _payment(chain)}
    counts = {"equal": 0, **dict.fromkeys(ON_PURPOSE, 0)}
    differing = {}
    for asked in found.asked:
        is_envelope = asked.method == "envelope"
        if not is_envelope and asked.method not in served:
            continue
        body = asked.body
        for recorded_name, ours in (others if is_envelope else names).items():
            body = body.replace(recorded_name.encode(), ours.encode())
        why = difference(_slot(asked.answer) if is_envelope else asked.answer, ask(body))
        kind = _purpose(asked) if why else "equal"
        if kind:
            counts[kind] += 1
        else:
            differing[asked.name] = why
    assert not differing
    assert counts == {"equal": 988, "commitment": 216, "envelope": 20, "genesis": 1}


# Where the ledger differs, and why.
ON_PURPOSE = {
    "commitment": "a commitment that does not exist is refused: a node takes it for `finalized` in"
    " silence, and its caller never learns of the mistake",
    "envelope": "a call without an id is refused, as a caller would else wait for its answer; what"
    " is no call is told what it lacks",
    "genesis": "the time of the genesis is known where its block is stored",
}


def _purpose(asked: Asked) -> str:
    """Which of these it is; empty: none."""
    if asked.method == "envelope":
        return "envelope"
    if asked.name == "getBlockTime [0]=0":
        return "genesis"
    given = [each for each in asked.request.get("params") or () if isinstance(each, dict)]
    wrong = any("commitment" in each and each["commitment"] not in _COMMITMENTS for each in given)
    return "commitment" if wrong and "result" in asked.answer else ""


def _slot(answer: Any) -> Any:
    """The answer as getSlot's."""
    if isinstance(answer, list):
        return [_slot(each) for each in answer]
    if isinstance(answer, dict) and "result" in answer:
        return {**answer, "result": 1}
    return answer


def _moved(chain: list[SlotRecord], slot: int) -> list[SlotRecord]:
    """The chain so many slots later that a block of legacy transactions stands at the slot, with 30
    blocks before it and some behind.
    """
    at = next(
        each.slot
        for each in reversed(chain[:-30])
        if all(one.decoded.version == "legacy" for one in each.transactions)
    )
    by = slot - at
    return [
        replace(each, slot=Slot(each.slot + by), parent_slot=Slot(each.parent_slot + by))
        for each in chain
        if each.slot
    ]


def _payment(chain: list[SlotRecord]) -> str:
    """The signature of a payment."""
    return next(
        b58encode(one.signature)
        for each in reversed(chain)
        for one in each.transactions
        if one.decoded.version == "legacy" and _is_payment(one)
    )


def _is_payment(record: TransactionRecord) -> bool:
    data = [each.data[:4] for each in record.decoded.instructions]
    return data == [b"\x02\0\0\0"]


def test_version_1_reads_as_the_node_writes_it(fixtures: Path, ask: Ask) -> None:
    record(blocks(fixtures))
    served = {method.name for method in methods}
    asked = [each for each in load(fixtures, "version-1") if each["request"]["method"] in served]
    answers = [ask(json.dumps(each["request"]).encode()) for each in asked]
    differing = {
        each["what"]: (each["answer"], ours)
        for each, ours in zip(asked, answers, strict=True)
        if difference(each["answer"], ours) or _value(each["answer"]) != _value(ours)
    }
    assert not differing
    assert len(asked) == 649


def _value(answer: dict[str, Any]) -> Any:
    """The result without the slot that it was true at."""
    result = answer.get("result")
    return result["value"] if isinstance(result, dict) and "context" in result else result
