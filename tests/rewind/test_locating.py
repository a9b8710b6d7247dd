"""A refuted slot is narrowed down to accounts, and repaired as a gap."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.system_program import (
    AllocateParams,
    InitializeNonceAccountParams,
    TransferParams,
    allocate,
    initialize_nonce_account,
    transfer,
)

from tests.rewind.conftest import NOW
from tests.rewind.little_chain import SOL, LittleChain
from tests.rewind.proved_chains import last_writes, with_writes
from tests.rewind.test_running_proof import proven, small
from tests.upstream.test_snapshots import archive, entry


def located(slot: int, *options: str) -> str:
    out = StringIO()
    call_command("locate_refuted", str(slot), *options, stdout=out)
    return out.getvalue()


@pytest.fixture
def little(tmp_path: Path) -> Any:
    chain = LittleChain(tmp_path)
    yield chain
    chain.close()


def test_the_accounts_of_lost_and_altered_writes_are_named(
    committed: None, record: Any, little: LittleChain
) -> None:
    from historical.recording.services.recording import record_blocks
    from rewind.accounts.store.states import newest_state
    from rewind.coverage.services.gaps import archive_gaps
    from rewind.proof.store import proof_runs

    to, other = Keypair().pubkey(), Keypair().pubkey()
    little.block(little.payment(to, 2_000_000), little.payment(other, 3_000_000, payer=1))
    little.block()
    true = little.records[1]
    writes = [each for each in true.account_writes or () if each.pubkey != bytes(to)]
    writes = [
        each._replace(lamports=each.lamports + 1) if each.pubkey == bytes(other) else each
        for each in writes
    ]
    records = [little.records[0], with_writes(true, writes), little.records[2]]
    record_blocks(records, now=NOW)
    record(*records)
    proof_runs.mark(1, 1, proof_runs.REFUTED, "votes_differ")
    text = located(1)
    named = {line.split(":")[0] for line in text.partition("slot 1: ")[0].splitlines()}
    assert named == {str(to), str(other)}
    assert "slot 1: 2 accounts differ; 2 transactions were replayed" in text
    assert located(1, "--open-gap").endswith("slot 1 is a gap now\n")
    (gap,) = archive_gaps.model.objects.filter(closed_at=None)
    assert (gap.from_slot, gap.to_slot, gap.cause) == (1, 1, "refuted")
    record(true)
    for pubkey, lamports in ((to, 2_000_000), (other, 3_000_000)):
        from rewind.accounts.store.slot_lookup import look_up_slot
        from rewind.positions import Position

        state = newest_state(bytes(pubkey), Position.end_of(1), look_up_slot(1).layout)
        assert state is not None
        assert state.lamports == lamports


@pytest.fixture
def strayed(committed: None, record: Any) -> Any:
    """A chain whose slot 3 has a write that never was, of an account 99, and wants another's data:
    no balance and no replay shows them.
    """
    from rewind.proof.services import proving

    proving.forget()
    made = small(7)
    true = made.records[3]
    writes = list(true.account_writes or ())
    stray = writes[-1]._replace(pubkey=bytes([99]) * 32)
    writes[-1] = writes[-1]._replace(data=b"otherwise")
    record(*made.records[:3], with_writes(true, [*writes, stray]), *made.records[4:])
    assert proven()["refuted"] == [(3, 3, "votes_differ")]
    return true


@pytest.fixture
def unseen(committed: None, record: Any, little: LittleChain) -> str:
    """Slot 2 lost the writes of an account that changed data alone: by a transaction that loads a
    filtered account, and by one that needs the first one's. The signature of the first one.
    """
    from historical.recording.services.recording import record_blocks
    from rewind.proof.store import proof_runs
    from rewind.recording.services import filters

    grown, hidden = Keypair(), Keypair().pubkey()
    little.block(little.payment(grown.pubkey(), SOL), little.payment(hidden, SOL))
    filters.filter_account(hidden, filtered=True)
    space = AllocateParams(pubkey=grown.pubkey(), space=80)
    gift = TransferParams(from_pubkey=little.payers[0].pubkey(), to_pubkey=hidden, lamports=1)
    nonce = InitializeNonceAccountParams(
        nonce_pubkey=grown.pubkey(), authority=little.payers[1].pubkey()
    )
    first = little.signed([allocate(space), transfer(gift)], little.payers[0], grown)
    little.block(first, little.signed([initialize_nonce_account(nonce)], little.payers[1]))
    true = little.records[2]
    writes = [each for each in true.account_writes or () if each.pubkey != bytes(grown.pubkey())]
    records = [*little.records[:2], with_writes(true, writes)]
    record_blocks(records, now=NOW)
    record(*records)
    proof_runs.mark(2, 2, proof_runs.REFUTED, "votes_differ")
    return str(first.signatures[0])


def test_a_search_that_cannot_replay_a_transaction_is_not_whole(unseen: str) -> None:
    lines = located(2).splitlines()
    assert lines[0] == "slot 2: 0 accounts differ; 1 transactions were replayed"
    assert f"not compared: transaction 0 ({unseen}): filtered_account" in lines
    assert any(
        line.startswith("not compared: transaction 1 (") and "the replay differs in err" in line
        for line in lines
    )
    assert "not compared: 1 accounts: a filter keeps them out of the archive" in lines
    assert "not compared: writes outside transactions: no other source is named" in lines
    assert lines[-1].startswith("The search is incomplete")


def test_an_order_says_which_transactions_it_did_not_compare(
    unseen: str, admin_client: Any
) -> None:
    from ingest.models import RangeOrder
    from ingest.services import orders

    form = {"kind": "locate", "first_slot": "0", "last_slot": "9"}
    admin_client.post("/admin/ingest/rangeorder/add/", form)
    while orders.work_off(now=timezone.now, seconds=10.0):
        pass
    order = RangeOrder.objects.get()
    assert [each.what for each in order.found.all()] == [
        "refuted_by_nothing",
        "not_compared",
        "not_compared",
        "not_compared",
    ]
    text = admin_client.get(f"/admin/ingest/rangeorder/{order.pk}/change/").content.decode()
    assert f"transaction 0 ({unseen}): filtered_account" in text


def test_a_search_without_the_block_is_not_whole(unseen: str) -> None:
    call_command("remove_blocks", "2", "2", stdout=StringIO())
    assert "not compared: all transactions: the ledger does not have the block" in located(2)


def test_a_snapshot_of_the_slot_shows_what_no_replay_does(strayed: Any, tmp_path: Path) -> None:
    path = tmp_path / "snapshot.tar"
    storage = b"".join(map(entry, last_writes(strayed.account_writes).values()))
    path.write_bytes(archive({"3.0": storage}, slot=3))
    text = located(3, "--snapshot", str(path))
    altered = str(Pubkey(strayed.account_writes[-1].pubkey))
    assert f"{Pubkey(bytes([99]) * 32)}: snapshot.tar has no write of it" in text
    size = len(strayed.account_writes[-1].data)
    assert f"{altered}: its data ({size} bytes) is otherwise in snapshot.tar" in text
    compared = len(last_writes(strayed.account_writes))
    assert "slot 3: 2 accounts differ" in text
    assert f"{compared} accounts were compared with snapshot.tar" in text


def test_a_snapshot_of_another_slot_says_nothing(strayed: Any, tmp_path: Path) -> None:
    path = tmp_path / "snapshot.tar"
    path.write_bytes(archive({"4.0": b""}, slot=4))
    with pytest.raises(CommandError, match="is of slot 4, not 3"):
        located(3, "--snapshot", str(path), "--open-gap")
    with pytest.raises(CommandError, match="snapshot"):
        located(3, "--snapshot", str(tmp_path / "none.tar"))
    with pytest.raises(CommandError, match=r"no accounts from 127\.0\.0\.1"):
        located(3, "--node", "http://127.0.0.1:9")


def test_a_refuted_slot_is_proven_once_it_came_again(committed: None, record: Any) -> None:
    from rewind.coverage.services.gaps import archive_gaps
    from rewind.proof.services import proving

    proving.forget()
    made = small(7)
    true = made.records[3]
    writes = list(true.account_writes or ())
    stray = writes[-1]._replace(pubkey=bytes([99]) * 32)
    record(*made.records[:3], with_writes(true, [*writes, stray]), *made.records[4:])
    assert proven()["refuted"] == [(3, 3, "votes_differ")]
    located(3, "--open-gap")
    assert archive_gaps.model.objects.filter(closed_at=None).count() == 1
    record(true)
    assert proven() == {"proven": [(0, 5, "")], "unproven": [(6, 6, "votes_not_seen")]}


def test_a_slot_that_comes_again_has_no_write_of_before(
    committed: None, record: Any, little: LittleChain, rpc: Any
) -> None:
    """A search names the altered account, not the one with a write that never was. What a filter
    keeps out since then stays.
    """
    from historical.recording.services.recording import record_blocks
    from rewind.proof.store import proof_runs
    from rewind.recording.services import filters

    to, hidden, stray = (Keypair().pubkey() for _ in range(3))
    little.block(little.payment(to, SOL), little.payment(hidden, 3 * SOL, payer=1))
    true = little.records[1]
    writes = list(true.account_writes or ())
    added = [each._replace(pubkey=bytes(stray)) for each in writes if each.pubkey == bytes(hidden)]
    for number, each in enumerate(writes):
        if each.pubkey == bytes(to):
            writes[number] = each._replace(lamports=each.lamports + 1)
    records = [little.records[0], with_writes(true, [*writes, *added])]
    record_blocks(records, now=NOW)
    record(*records)
    filters.filter_account(hidden, filtered=True)
    proof_runs.mark(1, 1, proof_runs.REFUTED, "votes_differ")
    text = located(1, "--open-gap")
    assert (str(to) in text, str(stray) in text) == (True, False)
    assert text.endswith("slot 1 is a gap now\n")
    record(true)

    def lamports(pubkey: Pubkey) -> list[int]:
        window = {"fromSlot": 1, "toSlot": 1}
        answer = rpc("/rewind", "getAccountChanges", str(pubkey), window)
        return [each["lamports"] for each in answer["result"]["value"]["changes"]]

    assert (lamports(to), lamports(stray)) == ([SOL], [])
    filters.filter_account(hidden, filtered=False)
    assert lamports(hidden) == [3 * SOL]


def test_what_is_not_refuted_is_left_alone(committed: None, record: Any) -> None:
    record(*small(3).records)
    with pytest.raises(CommandError, match="slot 1 is not refuted"):
        located(1, "--open-gap")
