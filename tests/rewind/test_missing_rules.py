"""A feature is active on the chain that the engine does not have: every place says so."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from solders.account import Account
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain import addresses
from chain.units import U64_MAX
from operations.readings.present import read
from rewind.baselines.services import baseline
from rewind.models import RuntimeAccount
from rewind.recording.store import runtime_accounts
from rewind.replay.models import Divergence
from rewind.replay.services import audit, features
from rewind.replay.services.replay import forget_verdicts
from simulator.newer_features import NEWER_FEATURES
from tests.conftest import Rpc
from tests.operations.test_metrics import scrape
from tests.priority.bundling import Post, flat
from tests.priority.conftest import post
from tests.rewind.conftest import NOW
from tests.rewind.little_chain import SOL, LittleChain
from tests.rewind.simulating import answer, call, own_place, simulated, stored, with_write
from tests.rewind.test_jobs import Ask, ask, results, text, work
from tests.rewind.test_replay_pages import address, opened
from tests.rewind.test_simulation_fidelity import with_meta

__all__ = ["ask", "post"]
pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("empty_ledger", "nothing_remembered"),
]

TARGET = Keypair.from_seed(bytes([77]) * 32).pubkey()
# No Agave has ever heard of it; the next one may.
UNHEARD_OF = Pubkey(bytes([211]) * 32)
NAMED = next(key for key, feature in NEWER_FEATURES.items() if not feature.harmless)
HARMLESS = next(key for key, feature in NEWER_FEATURES.items() if feature.harmless)
NATIVE, SYSVAR = (Pubkey(bytes([number]) * 32) for number in (60, 61))
MISSING_RULES = "engine_missing_rules"


def feature(slot: int) -> Account:
    return Account(SOL, b"\x01" + slot.to_bytes(8, "little"), addresses.FEATURE, False, U64_MAX)


def entry(pubkey: Pubkey, kind: str = "feature") -> dict[str, Any]:
    newer = NEWER_FEATURES.get(pubkey)
    return {"kind": kind, "address": str(pubkey), "name": newer.name if newer else None}


MISSING = sorted([entry(UNHEARD_OF), entry(NAMED)], key=lambda each: each["address"] != str(NAMED))


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    features.forget()
    forget_verdicts()
    yield
    features.forget()
    forget_verdicts()


@pytest.fixture
def chain(tmp_path: Path, settings: Any) -> Iterator[LittleChain]:
    """Slots 0 to 3 with a payment each. Two features that the engine does not have, and one without
    an effect, are on from slot 2.
    """
    settings.UPSTREAM_RPC_URL = ""
    made = LittleChain(
        tmp_path,
        given={
            NATIVE: Account(SOL, b"native", addresses.NATIVE_LOADER, True, U64_MAX),
            SYSVAR: Account(SOL, bytes(8), addresses.SYSVAR_OWNER, False, U64_MAX),
        },
    )
    for slot in (1, 2, 3):
        made.block(made.payment(TARGET, SOL + slot))
    record = made.records[2]
    for key in (UNHEARD_OF, NAMED, HARMLESS):
        record = with_write(record, key, feature(2))
    made.records[2] = record
    yield made
    made.close()


def context(rpc: Rpc, transaction: VersionedTransaction, **config: Any) -> dict[str, Any]:
    found: dict[str, Any] = answer(rpc, transaction, config)["result"]["context"]
    return found


def named(context: dict[str, Any]) -> list[dict[str, Any]]:
    return sorted(context["missingRules"], key=lambda each: each["address"] != str(NAMED))


def test_every_place_says_so(
    chain: LittleChain, rpc: Rpc, post: Post, ask: Ask, admin_client: Client
) -> None:
    stored(chain.records)
    first, _, third = chain.sent
    strange = chain.payment(TARGET, 9 * SOL)
    # simulateHistoricalTransaction: before the features, and with them.
    assert "missingRules" not in context(rpc, strange, slot=1)
    assert simulated(rpc, strange, slot=1)["fidelityReason"] == "not_in_ledger"
    assert named(context(rpc, strange, slot=3)) == MISSING
    assert simulated(rpc, strange, slot=3)["fidelityReason"] == MISSING_RULES
    # What the chain recorded in full is verified all the same: the record agrees.
    own = {"anchor": own_place(third)}
    assert named(context(rpc, third, **own)) == MISSING
    assert simulated(rpc, third, **own)["fidelity"] == "verified"
    # simulateBundle at a past position.
    sent = [strange, chain.payment(TARGET, 8 * SOL)]
    assert named(flat(post, sent, slot=3)["context"]) == MISSING
    before = flat(post, sent, slot=1, replaceRecentBlockhash=True)
    assert "missingRules" not in before["context"]
    # A job.
    job = ask(
        "submitSimulationJob",
        {"transactions": [text(strange)], "positions": [{"slot": 1}, {"slot": 3}]},
    )
    work(job["jobId"])
    one, other = results(ask, job["jobId"])
    assert "missingRules" not in one["context"]
    assert named(other["context"]) == MISSING
    assert other["value"]["fidelityReason"] == MISSING_RULES
    # The page of a replay.
    kept = admin_client.post(address(third))
    page = opened(admin_client, kept.headers["Location"])
    assert "rules that the engine of this version does not have" in page
    assert f"Feature {UNHEARD_OF}" in page and f"{NAMED} : {NEWER_FEATURES[NAMED].name}" in page
    kept = admin_client.post(address(first))
    assert "does not have" not in opened(admin_client, kept.headers["Location"])


def test_the_operator_is_told(chain: LittleChain, client: Client, rpc: Rpc) -> None:
    from config.doctor.service_checks import of_alarms, of_rules
    from operations.rules.table import BY_NAME

    rule = BY_NAME["rules_missing"]
    stored(chain.records[:2])
    assert not list(rule.check(read(NOW)) or ())
    features.forget()
    stored(chain.records[2:])
    (finding,) = rule.check(read(NOW)) or ()
    assert finding.text.startswith("The chain has 2 rules that this version does not support: ")
    assert str(UNHEARD_OF) in finding.text and NEWER_FEATURES[NAMED].name in finding.text
    metrics = scrape(client)
    counted = {kind: metrics["tidemark_missing_rules", kind] for kind in ("feature", "program")}
    assert counted == {"feature": 2, "program": 1}
    said = [*of_alarms(), *of_rules()]
    assert any("2 rules that this version" in each.text and each.advice for each in said)
    assert any(str(NATIVE) in each.text for each in said)
    assert any(str(SYSVAR) in each.text for each in said)


def test_a_record_that_is_short_proves_nothing(chain: LittleChain, rpc: Rpc) -> None:
    short = [*chain.records[:3], with_meta(chain.records[3], 0, logMessages=None)]
    stored(short)
    third = chain.sent[2]
    value = simulated(rpc, third, anchor=own_place(third))
    assert (value["fidelity"], value["fidelityReason"]) == ("unverified", MISSING_RULES)


def test_a_transaction_that_was_not_loaded_has_no_logs_to_be_short_of(
    chain: LittleChain, rpc: Rpc
) -> None:
    """As a node records it: the fee, the error, and neither logs nor inner instructions."""
    absent = chain.signed([call(Pubkey(bytes([99]) * 32))], chain.payers[0])
    record = chain.block(absent)
    nothing = {"logMessages": None, "innerInstructions": None, "computeUnitsConsumed": 0}
    stored([*chain.records[:-1], with_meta(record, 0, **nothing)])
    value = simulated(rpc, absent, anchor=own_place(absent))
    assert value["err"] == "ProgramAccountNotFound"
    assert (value["fidelity"], value["fidelityReason"]) == ("verified", None)


def test_a_difference_may_be_a_missing_rules(chain: LittleChain, rpc: Rpc) -> None:
    other = [
        chain.records[0],
        with_meta(chain.records[1], 0, fee=5_001),
        chain.records[2],
        with_meta(chain.records[3], 0, fee=5_001),
    ]
    stored(other)
    reasons = {}
    for sent in (chain.sent[0], chain.sent[2]):
        value = simulated(rpc, sent, anchor=own_place(sent))
        assert (value["fidelity"], value["fidelityFields"]) == ("diverged", ["fee"])
        reasons[value["rewindSlot"]] = value["fidelityReason"]
    assert reasons == {1: None, 3: MISSING_RULES}
    audit.audit_next(permille=1_000, now=lambda: NOW, seconds=30.0)
    assert {row.slot: row.reason for row in Divergence.objects.all()} == {1: "", 3: MISSING_RULES}


@pytest.mark.parametrize(("pubkey", "kind"), [(NATIVE, "program"), (SYSVAR, "sysvar")])
def test_native_code_and_sysvars_concern_those_that_name_them(
    chain: LittleChain, rpc: Rpc, post: Post, pubkey: Pubkey, kind: str
) -> None:
    stored(chain.records)
    names = chain.signed([call(TARGET, pubkey)], chain.payers[0])
    assert context(rpc, names, slot=1)["missingRules"] == [entry(pubkey, kind)]
    assert simulated(rpc, names, slot=1)["fidelityReason"] == MISSING_RULES
    found = flat(post, [names], slot=1, replaceRecentBlockhash=True)
    assert found["context"]["missingRules"] == [entry(pubkey, kind)]


def test_a_snapshot_brings_features_that_no_block_wrote(chain: LittleChain, rpc: Rpc) -> None:
    from chain.accounts import AccountWrite

    held = feature(0)
    write = AccountWrite(
        bytes(UNHEARD_OF),
        held.lamports,
        bytes(held.owner),
        held.data,
        held.executable,
        held.rent_epoch,
        0,
        None,
    )
    stored(chain.records[:2])
    baseline.record_baseline([write], chain.records[1].slot, source="a file", now=NOW)
    assert bytes(UNHEARD_OF) in runtime_accounts.known()
    strange = chain.payment(TARGET, 9 * SOL)
    assert context(rpc, strange, slot=1)["missingRules"] == [entry(UNHEARD_OF)]


def test_what_was_met_is_kept_once(chain: LittleChain) -> None:
    stored(chain.records)
    count = RuntimeAccount.objects.count()
    assert count >= 241 + 3 + 2
    runtime_accounts.keep([bytes(UNHEARD_OF), bytes(NAMED)])
    assert RuntimeAccount.objects.count() == count


def test_asking_costs_nothing_once_it_is_known(chain: LittleChain, rpc: Rpc) -> None:
    """The features are read once a minute, and judged once for each set of them."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    stored(chain.records)
    strange = chain.payment(TARGET, 9 * SOL)
    assert named(context(rpc, strange, slot=3)) == MISSING
    with CaptureQueriesContext(connection) as queries:
        assert named(context(rpc, strange, slot=3)) == MISSING
    assert not [each for each in queries if "runtimeaccount" in each["sql"]]
