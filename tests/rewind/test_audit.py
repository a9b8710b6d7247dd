"""The replay audit: what it looks at, what it keeps, and what it says of a wrong archive."""

import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.blocks import Granularity
from ingest.services.slots import store_records
from rewind import tasks
from rewind.models import AccountChange, ArchiveState
from rewind.replay.models import AuditedDay, Divergence, ReplayTally
from rewind.replay.services import audit
from rewind.replay.store import audits as store
from rewind.replay.store.audits import Count
from tests.rewind.little_chain import SOL, LittleChain

NOW = datetime(2026, 1, 31, 14, 5, tzinfo=UTC)
SYSTEM = Pubkey(bytes(32))


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[LittleChain]:
    made = LittleChain(tmp_path)
    yield made
    made.close()


def stored(chain: LittleChain, *, blocks: int = 3, each: int = 4) -> list[Signature]:
    """Blocks of payments, in ledger and archive; what they are signed with."""
    amount = len(chain.sent) + 1
    for _ in range(blocks):
        payments = [
            chain.payment(Pubkey.new_unique(), SOL + amount + number, payer=number % 2)
            for number in range(each)
        ]
        amount += each
        chain.block(*payments, skip=1)
    keep(chain)
    return [transaction.signatures[0] for transaction in chain.sent]


def keep(chain: LittleChain) -> None:
    store_records(chain.records, source="stream", now=NOW)


def run(permille: int = 1_000, seconds: float = 30.0, most_behind: int = 100) -> Count:
    return audit.audit_next(
        permille=permille, now=lambda: NOW, seconds=seconds, most_behind=most_behind
    )


@pytest.mark.django_db
def test_what_was_stored_replays_as_the_chain_says(chain: LittleChain, empty_ledger: None) -> None:
    signatures = stored(chain)
    assert run() == Count(verified=len(signatures))
    assert not Divergence.objects.exists()
    day = AuditedDay.objects.get()
    assert (day.day, day.verified, day.passed_over) == (date(2026, 1, 31), 12, 0)
    tally = ReplayTally.objects.get()
    assert (tally.program, tally.verified, tally.diverged) == (SYSTEM, 12, 0)
    assert store.audited_to() == (chain.records[-1].slot, 2**31 - 1)
    assert run() == Count()
    assert AuditedDay.objects.get().verified == 12


@pytest.mark.django_db
def test_it_goes_on_within_a_slot_where_its_time_was_over(
    chain: LittleChain, empty_ledger: None
) -> None:
    stored(chain, blocks=2, each=5)
    counts = [run(seconds=0.0) for _ in range(15)]
    # Each run does the next transaction, or ends a slot.
    assert sum(count.verified for count in counts) == 10
    assert max(count.verified for count in counts) == 1
    assert AuditedDay.objects.get().verified == ReplayTally.objects.get().verified == 10


@pytest.mark.django_db
def test_a_share_is_the_same_everywhere(chain: LittleChain, empty_ledger: None) -> None:
    signatures = stored(chain, blocks=4, each=10)
    wanted = sum(audit.is_chosen(bytes(each), 300) for each in signatures)
    assert 0 < wanted < len(signatures)
    assert run(permille=300).verified == wanted
    chosen = [audit.is_chosen(number.to_bytes(64), 10) for number in range(50_000)]
    assert 400 < sum(chosen) < 600
    # A larger share has all of the smaller one.
    assert all(audit.is_chosen(n.to_bytes(64), 500) for n in range(999) if chosen[n])


@pytest.mark.django_db
def test_nothing_is_audited_at_0_permille(
    chain: LittleChain, empty_ledger: None, settings: Any
) -> None:
    stored(chain)
    settings.REPLAY_AUDIT_PERMILLE = 0
    tasks.audit_replays()
    assert not AuditedDay.objects.exists()
    settings.REPLAY_AUDIT_PERMILLE = 1_000
    tasks.audit_replays()
    assert AuditedDay.objects.get().verified == 12


def lines_of_the_audit(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.name == audit.__name__]


def spoil(signature: Signature, chain: LittleChain) -> Callable[[], None]:
    """The archive tells another balance of who the transaction paid; call it to put it right."""
    paid = next(each for each in chain.sent if each.signatures[0] == signature)
    pubkey = bytes(paid.message.account_keys[1])
    change = AccountChange.objects.filter(pubkey=pubkey, kind=0).order_by("slot").first()
    assert change is not None
    rows = AccountChange.objects.filter(pubkey=pubkey, slot=change.slot)
    lamports = change.lamports
    rows.update(lamports=lamports + 1)

    def mend() -> None:
        rows.update(lamports=lamports)

    return mend


@pytest.mark.django_db
def test_a_wrong_archive_opens_an_entry_until_it_is_right_again(
    chain: LittleChain, empty_ledger: None, caplog: pytest.LogCaptureFixture
) -> None:
    signatures = stored(chain, blocks=2, each=2)
    mend = spoil(signatures[2], chain)
    with caplog.at_level(logging.ERROR):
        assert run() == Count(verified=3, diverged=1)
    (told,) = lines_of_the_audit(caplog)
    assert str(signatures[2]) in told and "accounts differ" in told
    entry = Divergence.objects.get()
    assert (entry.signature, entry.slot, entry.position) == (signatures[2], 4, 0)
    assert entry.fields == ["accounts"]
    assert [str(program) for program in entry.programs] == [str(SYSTEM)]
    (difference,) = entry.differences
    assert difference["field"] == "accounts"
    assert difference["expected"]["lamports"] == difference["found"]["lamports"] + 1
    assert (entry.found_at, entry.tried_at, entry.resolved_at) == (NOW, NOW, None)
    later = NOW.replace(hour=15)
    verdict = audit.replay_again(entry.pk, now=later)
    assert verdict is not None and verdict.status == "diverged"
    entry.refresh_from_db()
    assert (entry.tried_at, entry.resolved_at) == (later, None)
    mend()
    verdict = audit.replay_again(entry.pk, now=later)
    assert verdict is not None and verdict.status == "verified"
    entry.refresh_from_db()
    assert entry.resolved_at == later
    assert entry.fields == ["accounts"]  # what it was about


@pytest.mark.django_db
def test_a_transaction_that_diverges_twice_has_one_entry_and_one_line(
    chain: LittleChain, empty_ledger: None, caplog: pytest.LogCaptureFixture
) -> None:
    signatures = stored(chain, blocks=1, each=2)
    spoil(signatures[0], chain)
    with caplog.at_level(logging.ERROR):
        assert run().diverged == 1
        ArchiveState.objects.update(audited_slot=-1)
        assert run().diverged == 1
    assert len(lines_of_the_audit(caplog)) == 1
    assert Divergence.objects.count() == 1
    assert AuditedDay.objects.get().diverged == 2


@pytest.mark.django_db
def test_where_too_many_are_open_others_are_only_counted(
    chain: LittleChain, empty_ledger: None, caplog: pytest.LogCaptureFixture
) -> None:
    signatures = stored(chain, blocks=1, each=3)
    for signature in signatures:
        spoil(signature, chain)
    Divergence.objects.bulk_create(
        Divergence(
            slot=1,
            position=0,
            signature=Signature(number.to_bytes(64)),
            programs=[],
            fields=[],
            differences=[],
            found_at=NOW,
            tried_at=NOW,
        )
        for number in range(audit.MOST_OPEN - 1)
    )
    with caplog.at_level(logging.ERROR):
        assert run() == Count(diverged=3)
    assert Divergence.objects.count() == audit.MOST_OPEN
    assert AuditedDay.objects.get().diverged == 3
    assert "2 have no entry" in caplog.text


@pytest.mark.django_db
def test_tallies_of_programs_are_forgotten_and_those_of_days_stay(settings: Any) -> None:
    settings.REPLAY_AUDIT_PERMILLE = 0
    for day in (date(2020, 1, 1), datetime.now(UTC).date()):
        store.add_to_day(day, Count(1))
        store.add_to_programs(day, {bytes(32): Count(1)})
    tasks.audit_replays()
    assert AuditedDay.objects.count() == 2
    assert ReplayTally.objects.get().day != date(2020, 1, 1)


@pytest.mark.django_db
def test_what_cannot_be_replayed_is_counted_by_its_reason(
    chain: LittleChain, empty_ledger: None
) -> None:
    for number in range(3):
        chain.block(
            *(chain.payment(SYSTEM, SOL + 2 * number + payer, payer=payer) for payer in (0, 1))
        )
    chain.records[2] = replace(chain.records[2], granularity=Granularity.SLOT)
    keep(chain)
    assert run() == Count(verified=4, unverified=2)
    assert AuditedDay.objects.get().reasons == {"writes_incomplete": 2}
    tally = ReplayTally.objects.get()
    assert (tally.program, tally.verified, tally.unverified) == (SYSTEM, 4, 2)
    store.add_to_day(
        NOW.date(), Count(unverified=4), reasons={"no_meta": 1, "writes_incomplete": 3}
    )
    assert AuditedDay.objects.get().reasons == {"writes_incomplete": 5, "no_meta": 1}


@pytest.mark.django_db
def test_what_lies_too_far_behind_is_passed_over_and_counted(
    chain: LittleChain, empty_ledger: None
) -> None:
    stored(chain, blocks=6, each=1)
    assert run(most_behind=4) == Count(verified=4)
    # Slot 0 and two of the six.
    assert AuditedDay.objects.get().passed_over == 3
    assert run(most_behind=4) == Count()
    assert AuditedDay.objects.get().passed_over == 3


@pytest.mark.django_db
def test_a_slot_that_comes_late_is_not_looked_at(chain: LittleChain, empty_ledger: None) -> None:
    for number in range(3):
        chain.block(chain.payment(Pubkey.new_unique(), SOL + number))
    first, late, *others = chain.records[1:]
    store_records([chain.records[0], first, *others], source="stream", now=NOW)
    run()
    store_records([late], source="replay", now=NOW)
    assert run() == Count()


@pytest.mark.django_db
def test_a_slot_of_the_archive_alone_waits_for_the_ledger(
    chain: LittleChain, empty_ledger: None
) -> None:
    from rewind.recording.services.recording import record_slots

    chain.block(chain.payment(Pubkey.new_unique(), SOL))
    record_slots(chain.records, source="stream", now=NOW)
    assert run() == Count()
    assert not AuditedDay.objects.exists()


def test_two_audits_at_once_count_each_transaction_once(
    chain: LittleChain, committed: None, transactional_db: None
) -> None:
    stored(chain, blocks=6, each=5)
    started = threading.Barrier(3)
    counts: list[Count] = []

    def audit_all() -> None:
        try:
            started.wait()
            while any(count := run(seconds=0.05)) or store.slots_above(store.audited_to().slot, 1):
                counts.append(count)
        finally:
            connection.close()

    threads = [threading.Thread(target=audit_all) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(count.verified for count in counts) == 30
    day, tally = AuditedDay.objects.get(), ReplayTally.objects.get()
    assert (day.verified, day.diverged, day.unverified) == (30, 0, 0)
    assert tally.verified == 30
