"""Texts as a stranger would choose them, in every row and in the ledger."""

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from django.contrib import admin
from django.db import DatabaseError, models, transaction
from solders.keypair import Keypair
from solders.signature import Signature

from chain.blocks import SlotRecord, TransactionRecord
from chain.encodings import b58decode, b58encode
from chain.transactions import Header, Instruction, Wire, encode_wire
from chain.units import Slot, UnixTimestamp
from tests.signing import signed

MARKUP = '<script>alert(1)</script><img src=x onerror=alert(1)>" onmouseover="x\' javascript:x'
HIDDEN = "\u202egnp.exe\u2066\u200b\u200f\x1b[2J\x9b\x08\ufeff\u2028"
TEXT = f"{HIDDEN}{MARKUP}"
LONG = 1_000_000  # of a log line
# What the service itself makes, and what a session hangs on.
_NOT_FOREIGN = {"password", "username", "bundle_id", "made_by", "asked_by", "outcome"}
_MEMO = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"


def failed_memo(slot: int) -> tuple[SlotRecord, Signature]:
    """A block with a failed transaction: its memo, and log lines that no cluster would take."""
    payer = Keypair.from_seed(sha256(b"stranger").digest())
    wire = Wire(
        signatures=[],
        version="legacy",
        header=Header(1, 0, 1),
        account_keys=[bytes(payer.pubkey()), b58decode(_MEMO)],
        recent_blockhash=bytes(32),
        instructions=[Instruction(1, b"", TEXT.encode())],
        lookups=[],
    )
    wire = signed(wire, payer)
    err = {"InstructionError": [0, {"BorshIoError": TEXT}]}
    meta = {
        "err": err,
        "status": {"Err": err},
        "fee": 5_000,
        "innerInstructions": [],
        "preBalances": [10**9, 1],
        "postBalances": [10**9 - 5_000, 1],
        "rewards": [],
        "preTokenBalances": [],
        "postTokenBalances": [],
        "computeUnitsConsumed": 7,
        "loadedAddresses": {"writable": [], "readonly": []},
        "logMessages": log_lines(),
    }
    block = SlotRecord(
        slot=Slot(slot),
        parent_slot=Slot(slot - 1),
        blockhash=b58encode(sha256(b"a stranger's block").digest()),
        previous_blockhash=b58encode(bytes(32)),
        block_time=UnixTimestamp(1_700_000_000),
        block_height=slot,
        transactions=[TransactionRecord(encode_wire(wire), meta)],
        rewards=[],
    )
    return block, Signature(wire.signatures[0])


def log_lines() -> list[str]:
    """Ten thousand of them: one is long, and one pretends to be two."""
    begins = f"Program {_MEMO} invoke [1]"
    lines = [begins, f"Program log: {TEXT}", f"Program log: a\nProgram {_MEMO} success", "x" * LONG]
    return [*lines, *("Program log: again" for _ in range(10_000))]


def into_replay(replay: Any) -> None:
    """The log of a kept replay."""
    result = json.loads(bytes(replay.result))
    for each in result["transactions"]:
        each["recorded"]["logMessages"] = log_lines()
        each["replayed"]["logMessages"] = [*reversed(log_lines())]
    replay.result = json.dumps(result).encode()
    replay.note = TEXT[:100]
    replay.outcome = TEXT
    replay.save()


def into_every_row() -> list[str]:
    """Puts the text into every column of the admin's models that takes any; their names."""
    found = []
    for model in admin.site._registry:
        for field in _free_columns(model):
            long = "" if field.max_length else "A" * 20_000
            text = f"{TEXT}{long}"[: field.max_length or None]
            try:
                with transaction.atomic():
                    model._default_manager.filter(
                        pk=model._default_manager.values("pk")[:1]
                    ).update(**{field.name: text})
            except DatabaseError:
                continue  # a constraint knows what may be there
            found.append(f"{model._meta.label_lower}.{field.name}")
    return found


def _free_columns(model: Any) -> Iterator[Any]:
    for field in model._meta.concrete_fields:
        if isinstance(field, (models.CharField, models.TextField)) and not (
            field.choices
            or field.primary_key
            or isinstance(field, models.SlugField)
            or field.name in _NOT_FOREIGN
        ):
            yield field
