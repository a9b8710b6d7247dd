"""Version 1 in the past: simulated, replayed, audited and explained by what it asked for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from solders.compute_budget import set_compute_unit_limit
from solders.keypair import Keypair
from solders.message import MessageV1, TransactionConfig
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain.encodings import b64encode
from rewind.replay.admin.replays.samples import samples_of
from rewind.replay.services import audit
from tests.conftest import Rpc
from tests.localnet.wallets import pay
from tests.rewind.conftest import NOW
from tests.rewind.little_chain import SOL, LittleChain
from tests.rewind.simulating import own_place, simulated, stored
from tests.rewind.test_jobs import Ask, ask, results, work
from tests.rewind.test_replay_pages import address, opened

__all__ = ["ask"]  # a fixture

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("empty_ledger", "nothing_remembered"),
]

TARGET = Pubkey(bytes([77]) * 32)
MIB = 1024 * 1024
GOOD, UNSIZED, UNPAID, MEANT, LARGE = range(5)


def version_1(
    chain: LittleChain, config: TransactionConfig, lamports: int, *, times: int = 1
) -> VersionedTransaction:
    payer = chain.payers[0]
    pays = [pay(payer, TARGET, lamports + each) for each in range(times)]
    return signed(chain, payer, [*pays], config)


def signed(
    chain: LittleChain, payer: Keypair, calls: list[Any], config: TransactionConfig
) -> VersionedTransaction:
    message = MessageV1.try_compile(payer.pubkey(), calls, chain.blockhash, config)
    return VersionedTransaction(message, [payer])


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[LittleChain]:
    """Slot 1: TARGET gets 1 SOL. Slot 2 has version 1: one that succeeds, one without a size, one
    without units, one with Compute Budget instructions, and one of 60 instructions.
    """
    made = LittleChain(tmp_path)
    made.block(made.payment(TARGET, SOL))
    asked = TransactionConfig(7, 20_000, MIB)
    budget = [set_compute_unit_limit(1)] * 3
    made.block(
        version_1(made, asked, SOL),
        version_1(made, TransactionConfig(None, 20_000), SOL),
        version_1(made, TransactionConfig(5, None, MIB), SOL),
        signed(made, made.payers[0], [*budget, pay(made.payers[0], TARGET, 5)], asked),
        version_1(made, TransactionConfig(None, 60 * 150, MIB), 1_000, times=60),
    )
    made.block(made.payment(TARGET, SOL + 1))
    stored(made.records)
    yield made
    made.close()


def sent(chain: LittleChain) -> list[VersionedTransaction]:
    return chain.sent[1:6]


ERRORS = [
    None,
    "MaxLoadedAccountsDataSizeExceeded",
    {"InstructionError": [0, "ComputationalBudgetExceeded"]},
    None,
    None,
]
UNITS = [150, 0, 0, 4 * 150, 60 * 150]


def test_each_is_verified_at_its_own_place(chain: LittleChain, rpc: Rpc) -> None:
    assert len(bytes(sent(chain)[LARGE])) > 1_232
    metas = [each.meta or {} for each in chain.records[2].transactions]
    assert [each["fee"] for each in metas] == [5_007, 5_000, 5_005, 5_007, 5_000]
    for transaction, err, units in zip(sent(chain), ERRORS, UNITS, strict=True):
        value = simulated(rpc, transaction, anchor=own_place(transaction))
        assert (value["err"], value["unitsConsumed"]) == (err, units)
        assert (value["fidelity"], value["fidelityFields"]) == ("verified", [])


def test_one_that_was_never_sent_runs_at_a_past_slot(chain: LittleChain, rpc: Rpc) -> None:
    fresh = version_1(chain, TransactionConfig(9, 150, MIB), 3 * SOL)
    wanted = {"encoding": "base64", "addresses": [str(TARGET), str(chain.payers[0].pubkey())]}
    value = simulated(rpc, fresh, slot=1, accounts=wanted)
    assert (value["err"], value["unitsConsumed"], value["fidelity"]) == (None, 150, "unverified")
    lamports = [each["lamports"] for each in value["accounts"]]
    assert lamports == [4 * SOL, 999 * SOL - 5_000 - 3 * SOL - 5_009]
    # A payer changed by hand pays the same.
    payer = {str(chain.payers[0].pubkey()): {"lamports": 3 * SOL + 5_008}}
    value = simulated(rpc, fresh, slot=1, overrides=payer)
    assert value["err"] == {"InstructionError": [0, {"Custom": 1}]}


def test_jobs_run_it_by_text_and_by_signature(chain: LittleChain, ask: Ask) -> None:
    texts = [b64encode(bytes(each)) for each in sent(chain)]
    by_text = {"transactions": texts, "slotRange": {"fromSlot": 1, "toSlot": 1}}
    by_signature = {"signatures": [str(each.signatures[0]) for each in sent(chain)]}
    for spec in (by_text, by_signature):
        job = ask("submitSimulationJob", spec)["jobId"]
        work(job)
        found = [each["value"] for each in results(ask, job)]
        assert [each["err"] for each in found] == ERRORS
        assert [each["unitsConsumed"] for each in found] == UNITS
    assert {each["fidelity"] for each in found} == {"verified"}


def test_the_audit_finds_nothing_wrong(chain: LittleChain) -> None:
    count = audit.audit_next(permille=1_000, now=lambda: NOW, seconds=30.0, most_behind=100)
    assert (count.verified, count.diverged, count.unverified) == (7, 0, 0)


def test_pages_say_what_it_asked_for(admin_client: Client, chain: LittleChain) -> None:
    for number, sentence in (
        (UNSIZED, "It asks for no loaded accounts data size limit"),
        (UNPAID, "It asks for no compute units"),
    ):
        text = opened(admin_client, address(sent(chain)[number]))
        assert sentence in text


def test_the_samples_sign_it_again(chain: LittleChain) -> None:
    wire = b64encode(bytes(sent(chain)[GOOD]))
    python, typescript = (each["text"] for each in samples_of([wire], base="https://x"))
    assert "PublicKey, VersionedTransaction }" in typescript
    assert "bytes[0] === 0x81" in typescript
    names: dict[str, Any] = {}
    begin = python.index("def renewed(")
    exec(
        "from solders.hash import Hash\n"
        "from solders.message import Message, MessageV0, MessageV1, VersionedMessage\n"
        + python[begin : python.index("\n\n\nlatest = ")],
        names,
    )
    message = sent(chain)[GOOD].message
    again = names["renewed"](message, chain.blockhash)
    assert isinstance(message, MessageV1)
    assert (again.config, again.instructions) == (message.config, message.instructions)
    assert again.recent_blockhash == chain.blockhash != message.recent_blockhash
    older = b64encode(bytes(chain.sent[0]))
    assert "createPrivateKey" not in samples_of([older], base="https://x")[1]["text"]
