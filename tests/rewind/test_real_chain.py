"""Real transactions of mainnet, replayed through the public door on what their metadata tell of the
accounts and on the program builds of their time.
"""

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import transaction
from django.utils import timezone
from solders.account import Account
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain import addresses
from chain.accounts import AccountWrite
from chain.blocks import Granularity, SlotRecord
from chain.encodings import b64encode
from chain.units import SLOTS_PER_EPOCH, Slot
from historical.recording.services.recording import record_blocks
from rewind.recording.services import filters
from rewind.recording.services.recording import record_slots
from rewind.recording.store import partitions
from simulator import defaults
from tests.conftest import Rpc
from tests.program_builds import BEFORE_P_TOKEN, programs_of
from tests.rewind.rebuilt import accounts_before
from upstream.archives.block_files import open_block_file

pytestmark = pytest.mark.django_db

# What the metadata do not tell, by the beginning of the signature: a mint with a transfer fee; and
# three that create token accounts by a build of that program which no wheel carries.
_UNTOLD = {"62wXJ8a2jp", "Bz2zLHgEJN", "33L1Mi3fLF", "2Smm8pWaix", "2jKKWhzwX8"}


@pytest.mark.usefixtures("empty_ledger")
@pytest.mark.parametrize("on_shelf", [False, True], ids=["archived", "imported"])
def test_transactions_of_mainnet_end_as_they_did(
    rpc: Rpc, fixtures: Path, tmp_path: Path, on_shelf: bool
) -> None:
    """With the builds of their time as the archive's own rows, or on the shelf alone."""
    index = json.loads((fixtures / "blocks" / "replay-candidates.json").read_bytes())
    programs = programs_of(BEFORE_P_TOKEN)
    filters.apply_defaults(filters.MAINNET_GENESIS_HASH)
    verified, diverged = 0, {}
    if on_shelf:
        _import(programs, tmp_path)
    for listed in index["blocks"]:
        block = _block(fixtures / "blocks" / listed["block_file"], Slot(listed["slot"]))
        record_blocks([block], now=timezone.now())
        partitions.ensure([block.slot, block.parent_slot])
        cases = {case["signature"]: case for case in listed["cases"]}
        for number, sent, meta in _candidates(block, cases):
            case = cases[str(sent.signatures[0])]
            accounts = accounts_before(
                sent,
                meta,
                programs,
                has_mint_authority=case.get("mint_authority_present", False),
                has_freeze_authority=case.get("freeze_authority_present", False),
            )
            if on_shelf:
                accounts = {key: held for key, held in accounts.items() if key not in programs}
            value = _replayed(rpc, block, number, sent, accounts)
            if value["fidelity"] == "verified":
                assert value["unitsConsumed"] == meta["computeUnitsConsumed"]
                assert value["logs"] == meta["logMessages"]
                verified += 1
            else:
                diverged[str(sent.signatures[0])[:10]] = value["fidelityFields"]
                # The shelf's word counts: then it is not the build that is unknown.
                reason = "engine_older_rules" if on_shelf else "program_build_unknown"
                assert value["fidelityReason"] == reason
    assert diverged.keys() == _UNTOLD, diverged
    assert verified == 41
    for fields in diverged.values():
        assert set(fields) <= {"computeUnitsConsumed", "logs", "postTokenBalances"}


def _import(programs: dict[Pubkey, Account], folder: Path) -> None:
    loaders = {addresses.LOADER_1: "deprecated", addresses.LOADER_2: "final"}
    for key, account in programs.items():
        file = folder / f"{key}.so"
        file.write_bytes(account.data)
        where = ["--program", str(key), "--from-slot", "0", "--loader", loaders[account.owner]]
        call_command("import_program", str(file), *where, stdout=io.StringIO())


def _block(path: Path, slot: Slot) -> SlotRecord:
    with open_block_file(path, slot=slot) as blocks:
        return next(iter(blocks))


def _candidates(
    block: SlotRecord, cases: dict[str, Any]
) -> Iterator[tuple[int, VersionedTransaction, dict[str, Any]]]:
    for number, record in enumerate(block.transactions):
        sent = VersionedTransaction.from_bytes(record.wire)
        if str(sent.signatures[0]) in cases:
            assert record.meta is not None
            yield number, sent, record.meta


def _replayed(
    rpc: Rpc,
    block: SlotRecord,
    number: int,
    sent: VersionedTransaction,
    accounts: dict[Pubkey, Account],
) -> dict[str, Any]:
    """The answer in an archive that has this transaction's accounts, and nothing of any other."""
    before = replace(
        block,
        slot=block.parent_slot,
        parent_slot=Slot(block.parent_slot - 1),
        blockhash=block.previous_blockhash,
        transactions=[],
        account_writes=[_write(key, account) for key, account in accounts.items()],
    )
    there = replace(
        block,
        account_writes=[_write(addresses.CLOCK, _clock(block.slot))],
        granularity=Granularity.SLOT,
    )
    point = transaction.savepoint()
    try:
        record_slots([before, there], source="made up", now=timezone.now())
        answer = rpc(
            "/rewind",
            "simulateHistoricalTransaction",
            b64encode(bytes(sent)),
            {"anchor": {"slot": block.slot, "transactionIndex": number}},
        )
    finally:
        transaction.savepoint_rollback(point)
    value: dict[str, Any] = answer["result"]["value"]
    return value


def _write(key: Pubkey, account: Account) -> AccountWrite:
    return AccountWrite(
        bytes(key),
        account.lamports,
        bytes(account.owner),
        account.data,
        account.executable,
        account.rent_epoch,
        0,
        None,
    )


def _clock(slot: Slot) -> Account:
    epoch = slot // SLOTS_PER_EPOCH
    data = b"".join(each.to_bytes(8, "little") for each in (slot, 0, epoch, epoch + 1, 0))
    own = defaults.sysvars()[addresses.CLOCK]
    return Account(own.lamports, data, own.owner, False, own.rent_epoch)
