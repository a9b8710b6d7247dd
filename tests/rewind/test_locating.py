"""A refuted slot is narrowed down to accounts, and repaired as a gap."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from tests.rewind.conftest import NOW
from tests.rewind.little_chain import LittleChain
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
    named = {line.split(":")[0] for line in text.splitlines()[:-1]}
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


def test_what_is_not_refuted_is_left_alone(committed: None, record: Any) -> None:
    record(*small(3).records)
    with pytest.raises(CommandError, match="slot 1 is not refuted"):
        located(1, "--open-gap")
