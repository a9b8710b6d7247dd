"""Which votes settle a slot, and in which degree: proven, or only consistent."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from solders.hash import Hash
from solders.keypair import Keypair

from chain.accounts import AccountWrite
from chain.blocks import TransactionRecord
from chain.epochs import EpochSchedule
from chain.transactions import decode_wire, encode_wire
from rewind.baselines.models import Baseline
from rewind.coverage.services import epochs
from rewind.proof.models import SlotProof, SlotWrites
from rewind.proof.services import locating, proving
from rewind.proof.store import proof_runs
from rewind.recording.services import filters
from tests.chain.proofs import ACCOUNTS, VOTE, VOTERS
from tests.rewind.conftest import NOW
from tests.rewind.proved_chains import MadeChain, change, keep_stakes, vote_account, with_writes
from tests.rewind.test_running_proof import proven, save_baseline, small

OTHER = Keypair.from_seed(bytes([99]) * 32)
REWIND = "/rewind"


@pytest.fixture(autouse=True)
def fresh(db: None) -> None:
    proving.forget()


def runs() -> list[tuple[Any, ...]]:
    """Without what a run was before a gap."""
    return [run[:-1] for run in proof_runs.between(0, 10**6, 100)]


def made_of(*blocks: dict[str, Any]) -> MadeChain:
    """Six blocks with all votes, then these."""
    made = small(6)
    for each in blocks:
        made.block(**each)
    return made


def settled(record: Any, made: MadeChain, **policy: Any) -> int | None:
    """The highest slot that is proven or consistent."""
    record(*made.records)
    proven(**policy)
    return proof_runs.settled_through(10**6)


def test_votes_that_no_one_signed_settle_nothing(record: Any) -> None:
    made = MadeChain()
    for slot in range(20):
        made.block([change(slot, 1, slot)], forged=True)
    for trusts_node in (True, False):
        assert settled(record, made, trusts_node=trusts_node) is None
    assert runs() == [(0, 19, "unproven", "votes_not_seen", "", None)]


@pytest.mark.parametrize(("stakes", "through"), [((40, 30, 20, 10), 6), ((20, 30, 30, 20), 5)])
def test_a_vote_of_another_key_does_not_count(
    record: Any, stakes: Sequence[int], through: int
) -> None:
    """Without the third account's, 80 of 100 lamports vote for slot 6, or 70; and 60, not 100."""
    made = made_of({}, {"keys": {2: OTHER}, "voters": (0, 1, 2)})
    keep_stakes(*stakes)
    assert settled(record, made) == through
    row = SlotProof.objects.get(slot=through)
    assert row.voters in (2, 3)


def test_votes_of_another_key_do_not_refute(record: Any) -> None:
    made = small(8)
    lying = MadeChain(records=list(made.records))
    lying.hashes = {slot: bytes([slot + 1]) * 32 for slot in made.hashes}
    lying.sums = dict(made.sums)
    false = lying.block(keys=dict.fromkeys(range(4), OTHER))
    record(*made.records, false)
    proven()
    assert [run[2] for run in runs()] == ["proven", "unproven"]
    assert proof_runs.proven_through(99) == 6


@pytest.mark.parametrize(
    "of_last", [{"kind": 12}, {"votes_failed": True}, {"forged": True}, {"voters": ()}]
)
def test_retired_failed_and_unsigned_votes_do_not_count(record: Any, of_last: Any) -> None:
    made = made_of({}, of_last)
    assert settled(record, made) == 5
    made.block()
    assert settled(record, made) == 7


def test_votes_in_a_block_of_another_fork_do_not_count(record: Any) -> None:
    """Nor is that block proven with the chain that goes on without it."""
    made, forked = small(6), small(6)
    fork = with_writes(forked.block(voters=(0,)), [])
    made.block(slot=7, voters=(1, 2))
    record(*made.records[:6], fork)
    proven()
    assert proof_runs.settled_through(99) == 4
    assert locating.open_as_gap(locating.Located(6, []), now=NOW)
    record(made.records[6])
    proven()
    assert proof_runs.settled_through(99) == 4
    for slot in (8, 9, 10):
        made.block(slot=slot)
    record(*made.records[7:])
    proven()
    assert runs() == [
        (0, 5, "proven", "", "node", None),
        (6, 6, "unproven", "another_fork", "", None),
        (7, 9, "proven", "", "node", None),
        (10, 10, "unproven", "votes_not_seen", "", None),
    ]
    assert not SlotProof.objects.filter(slot=6).exists()


def test_what_no_one_vouches_for_is_consistent(record: Any, rpc: Any) -> None:
    made = small(6)
    assert settled(record, made, trusts_node=False) == 4
    assert runs()[0] == (0, 4, "consistent", "", "accounts", None)
    found = rpc(REWIND, "getRewindCoverage")["result"]
    assert (found["provenThrough"], found["consistentThrough"]) == (None, 4)
    assert found["proof"][0] == {
        "fromSlot": 0,
        "toSlot": 4,
        "state": "consistent",
        "restsOn": "accounts",
    }
    config = {"slot": 3, "proof": True}
    account = str(ACCOUNTS[0])
    said = rpc(REWIND, "getAccountInfo", account, config)["result"]["context"]["proof"]
    assert (said["state"], said["restsOn"], said["voters"]) == ("consistent", "accounts", 3)
    said = rpc(REWIND, "getSlotProof", 3)["result"]
    assert (said["state"], said["reason"], said["restsOn"]) == ("consistent", None, "accounts")

    keep_stakes(25, 25, 25, 25)
    made.block()
    assert settled(record, made, trusts_node=False) == 5
    made.block()
    # What is proven above proves what it has in its hash.
    assert settled(record, made) == 6
    assert runs()[0] == (0, 6, "proven", "", "node", None)


def test_a_snapshot_of_the_operators_proves_and_its_stakes_do(record: Any) -> None:
    made = small(6)
    keep_stakes(25, 25, 25, 25)
    assert settled(record, made, trusts_node=False) == 4
    assert runs()[0] == (0, 4, "consistent", "", "node", None)
    snapshot = Baseline.objects.create(
        slot=3, source="s", accounts=0, proven=True, bank_hash=Hash(made.hashes[3]), recorded_at=NOW
    )
    assert settled(record, made, trusts_node=False) == 4
    assert runs()[:2] == [
        (0, 3, "proven", "", "snapshot", 3),
        (4, 4, "consistent", "", "node", None),
    ]
    # Its stakes, and voters as its accounts have them.
    keep_stakes(25, 25, 25, 25, baseline=snapshot)
    made.block()
    assert settled(record, made, trusts_node=False) == 5
    assert runs()[0] == (0, 5, "proven", "", "snapshot", 3)


def test_another_banks_hash_proves_nothing(record: Any) -> None:
    made = small(6)
    Baseline.objects.create(
        slot=3, source="s", accounts=0, proven=True, bank_hash=Hash(made.hashes[2]), recorded_at=NOW
    )
    assert settled(record, made, trusts_node=False, roots={2: made.hashes[1]}) == 4
    assert runs()[0] == (0, 4, "consistent", "", "accounts", None)


def test_a_bank_that_the_operator_vouches_for_proves(record: Any) -> None:
    made = small(6)
    roots = {2: made.hashes[2]}
    assert settled(record, made, trusts_node=False, roots=roots) == 4
    assert runs()[:2] == [
        (0, 2, "proven", "", "operator", 2),
        (3, 4, "consistent", "", "accounts", None),
    ]
    keep_stakes(25, 25, 25, 25, baseline=Baseline(pk=5, slot=0, proven=True))
    Baseline.objects.create(pk=5, slot=0, source="s", accounts=0, proven=True, recorded_at=NOW)
    made.block()
    assert settled(record, made, trusts_node=False, roots=roots) == 5
    assert runs()[:2] == [
        (0, 2, "proven", "", "operator", 2),
        (3, 5, "proven", "", "snapshot", 0),
    ]


def test_voters_that_a_stream_makes_up_prove_nothing(record: Any) -> None:
    """It gives the accounts other voters and signs with those: the banks above agree with it."""
    made = small(6)
    save_baseline(made, record)
    keep_stakes(25, 25, 25, 25, baseline=Baseline.objects.get())
    made.block([vote_account(number, OTHER.pubkey()) for number in range(4)])
    for _ in range(4):
        made.block(keys=dict.fromkeys(range(4), OTHER))
    record(*made.records[6:])
    proven(trusts_node=False)
    assert proof_runs.settled_through(99) == 5


def test_who_may_vote_in_an_epoch_is_known_in_the_one_before(record: Any, rpc: Any) -> None:
    """The first account's voter is another one from epoch 2 on; its stakes alone are enough."""
    from historical.recording.services.recording import record_blocks

    epochs.keep(EpochSchedule(slots_per_epoch=32))
    for epoch in range(3):
        keep_stakes(70, 10, 10, 10, epoch=epoch)
    made = small(6)
    made.block([_with_voters({0: VOTERS[0], 2: OTHER})])
    for slot in range(7, 80):
        made.block([change(slot, 1, slot)], keys={0: OTHER} if slot >= 64 else {}, voters=(0,))
    record_blocks(made.records, now=NOW)
    assert settled(record, made) == 78
    # With the old one's signature it goes no further.
    made.block(voters=(0,))
    assert settled(record, made) == 78
    voters = [
        {vote["authorizedVoter"] for vote in rpc(REWIND, "getSlotProof", slot)["result"]["votes"]}
        for slot in (40, 63, 70)
    ]
    assert voters == [{str(VOTERS[0].pubkey())}, {str(OTHER.pubkey())}, {str(OTHER.pubkey())}]


def _with_voters(by_epoch: dict[int, Keypair]) -> AccountWrite:
    one = vote_account(0)
    entries = b"".join(
        epoch.to_bytes(8, "little") + bytes(key.pubkey()) for epoch, key in by_epoch.items()
    )
    head = one.data[: 4 + 64 + 1 + 9]
    return one._replace(data=head + len(by_epoch).to_bytes(8, "little") + entries + bytes(1_600))


@pytest.mark.parametrize("remembering", [True, False])
def test_filtered_vote_accounts_name_their_voters_too(
    record: Any, rpc: Any, remembering: bool
) -> None:
    from historical.recording.services.recording import record_blocks

    filters.filter_owner(VOTE, filtered=True)
    made = small(6)
    for slot in range(6, 12):
        made.block([vote_account(slot % 4)], slot=slot)
    record_blocks(made.records, now=NOW)
    assert settled(record, made, remembering=remembering) == 10
    votes = rpc(REWIND, "getSlotProof", 9)["result"]["votes"]
    assert {vote["authorizedVoter"] for vote in votes} == {str(key.pubkey()) for key in VOTERS}


def test_votes_of_an_older_version_do_not_count(record: Any) -> None:
    made = small(6)
    record(*made.records)
    SlotWrites.objects.update(vote_transactions=b"")
    proven()
    assert runs() == [(0, 5, "unproven", "votes_not_seen", "", None)]
    made.block()
    made.block()
    assert settled(record, made) == 6
    assert runs()[0][:3] == (0, 6, "proven")


def test_votes_of_version_1_count(record: Any) -> None:
    made = made_of({}, {})
    last = made.records[-1]
    again = replace(
        last,
        transactions=[_as_version_1(each, index) for index, each in enumerate(last.transactions)],
    )
    record(*made.records[:-1], again)
    proven()
    assert proof_runs.proven_through(99) == 6


def _as_version_1(transaction: TransactionRecord, index: int) -> TransactionRecord:
    wire = transaction.decoded
    if index < 2:
        return transaction
    wire = replace(wire, version=1)
    message = encode_wire(wire)[:-64]
    signed = replace(wire, signatures=[bytes(VOTERS[index - 2].sign_message(message))])
    assert decode_wire(encode_wire(signed)).version == 1
    return TransactionRecord(encode_wire(signed), None)
