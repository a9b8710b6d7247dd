"""A batch's life cycle: prepared, open for its window, closed; no address is issued twice."""

import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import call_command
from django.db import connection, connections
from solders.pubkey import Pubkey

from chain.derived_keys import derived_keypair
from tests.lock_waits import waiting_sessions
from tests.tipping.conftest import SEED
from tipping.errors import ClassHasBatches
from tipping.models import Edge, TipAddress, TipBatch, TipEpoch, TtlClass
from tipping.services import batches
from tipping.services import ttl_classes as classes
from tipping.store import addresses

NOW = datetime(2030, 1, 1, 12, 0, 0, tzinfo=UTC)
START = int(NOW.timestamp())


def later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def states(ttl_class):
    found = TipBatch.objects.filter(ttl_class=ttl_class).order_by("number")
    return [batch.state for batch in found]


def issue_all_but(count, ttl_class, edge="e"):
    """Issues all of the open batch but so many; the batch."""
    batch = TipBatch.objects.get(ttl_class=ttl_class, state="open")
    edge_id = addresses.edge_id_of(edge, now=NOW)
    addresses.claim(batch.pk, edge_id=edge_id, count=batch.size - count)
    addresses.issue(batch.pk, edge_id=edge_id, count=batch.size - count, key_id=0, now=NOW)
    return batch


def test_two_batches_wait_for_each_class_and_no_more(ttl_classes):
    first, second = ttl_classes(600, 7200)
    assert batches.prepare_batches(seed=SEED, now=NOW) == 4
    assert batches.prepare_batches(seed=SEED, now=NOW) == 0
    assert states(first) == states(second) == ["prepared", "prepared"]
    numbers = list(TipBatch.objects.order_by("pk").values_list("number", flat=True))
    assert numbers == [START, START + 1, START + 2, START + 3]


def test_the_keys_come_from_the_seed_and_the_batchs_place(ttl_classes):
    (ttl_class,) = ttl_classes(600, size=16)
    batches.prepare(ttl_class.pk, seed=SEED, now=NOW, keep=1)
    for address in TipAddress.objects.order_by("position"):
        epoch = TipEpoch.objects.get().word
        keypair = derived_keypair(SEED, "tip", epoch, 600, START, address.position)
        assert address.pubkey == keypair.pubkey()
    assert TipAddress.objects.count() == 16


def test_a_restored_copy_derives_none_of_the_addresses_that_its_original_does(ttl_classes):
    (ttl_class,) = ttl_classes(600, size=16)
    begun = batches.prepare(ttl_class.pk, seed=SEED, now=NOW, keep=1)
    in_the_backup = list(TipEpoch.objects.values("pk", "word", "began_at"))

    def of_the_next_batch() -> set[bytes]:
        """As if from the backup: the batch of before, and the next one, made at the same moment."""
        batches.prepare(ttl_class.pk, seed=SEED, now=NOW, keep=begun + 1)
        newest = TipBatch.objects.latest("number")
        assert newest.number == START + 1
        found = {bytes(each.pubkey) for each in newest.addresses.all()}
        newest.addresses.all().delete()
        newest.delete()
        return found

    original = of_the_next_batch()
    assert of_the_next_batch() == original, "the same epoch, the same addresses"
    TipEpoch.objects.all().delete()
    TipEpoch.objects.bulk_create(TipEpoch(**each) for each in in_the_backup)
    call_command("renew_tip_batches", verbosity=0)
    batches.prepare(ttl_class.pk, seed=SEED, now=NOW, keep=1)
    derived = {bytes(pubkey) for pubkey in TipAddress.objects.values_list("pubkey", flat=True)}
    assert len(original) == len(derived) == 16
    assert TipBatch.objects.latest("number").number == START
    assert not original & derived


def test_a_number_is_never_used_again(ttl_classes):
    ttl_classes(600, size=16)
    batches.prepare_batches(seed=SEED, now=NOW)
    batches.rotate_due(now=NOW)
    # A clock that was set back, and a database that lost its newest batches.
    batches.prepare_batches(seed=SEED, now=later(-1000))
    TipAddress.objects.all().delete()
    TipBatch.objects.all().delete()
    batches.prepare_batches(seed=SEED, now=later(60))
    numbers = set(TipBatch.objects.values_list("number", flat=True))
    assert numbers == {START + 60, START + 61}


def test_a_window_ends_and_the_next_batch_opens(opened):
    (ttl_class,) = opened(600, now=NOW + timedelta(microseconds=900_000))
    batch = TipBatch.objects.get(state="open")
    assert batch.opened_at == NOW and batch.window_ends_at == later(60)
    assert batch.expires_at == later(660)
    assert batches.rotate_due(now=later(59.9)) == 0
    assert batches.rotate_due(now=later(60)) == 1
    assert states(ttl_class) == ["closed", "open"]
    batch.refresh_from_db()
    assert batch.closed_at == later(60)
    assert TipBatch.objects.get(state="open").expires_at == later(720)


def test_a_used_up_batch_is_followed_by_the_next(opened):
    (ttl_class,) = opened(600, now=NOW)
    issue_all_but(0, ttl_class)
    assert batches.rotate_due(now=later(1)) == 1
    assert states(ttl_class) == ["closed", "open"]


def test_a_batch_rotates_when_one_edge_has_no_addresses_left(opened):
    (ttl_class,) = opened(600, now=NOW)
    batch = issue_all_but(1, ttl_class)
    here, there = (addresses.edge_id_of(name, now=NOW) for name in ("e", "f"))
    assert addresses.claim(batch.pk, edge_id=there, count=5) == 1
    assert not batches.rotate(ttl_class.pk, now=later(1))
    assert not batches.rotate(ttl_class.pk, now=later(1), edge_id=there)
    assert batches.rotate(ttl_class.pk, now=later(1), edge_id=here)


def test_a_last_batch_stays_open_while_an_edge_has_addresses(opened):
    (ttl_class,) = opened(600, now=NOW)
    TipBatch.objects.filter(state="prepared").update(ttl_seconds=1)
    batch = issue_all_but(1, ttl_class)
    there = addresses.edge_id_of("f", now=NOW)
    addresses.claim(batch.pk, edge_id=there, count=1)
    here = addresses.edge_id_of("e", now=NOW)
    assert not batches.rotate(ttl_class.pk, now=later(1), edge_id=here)
    assert states(ttl_class)[0] == "open"


def test_a_class_without_a_batch_is_logged_once(opened, caplog):
    (ttl_class,) = opened(600, now=NOW)
    with caplog.at_level(logging.INFO, "tipping"):
        assert batches.rotate_due(now=later(60)) == 1
        for second in range(120, 125):
            assert batches.rotate_due(now=later(second)) == 0
        assert batches.rotate(ttl_class.pk, now=later(126)) is False
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == 1 and "10 min" in errors[0].getMessage()
    (state,) = batches.overview(now=later(126))
    assert not state.is_available and state.unavailable_since == later(120)
    assert state.batch is None and state.prepared == 0
    batches.prepare_batches(seed=SEED, now=later(200))
    assert batches.rotate_due(now=later(200)) == 1
    (state,) = batches.overview(now=later(200))
    assert state.is_available and state.unavailable_since is None


def test_a_class_is_unavailable_once_the_window_of_its_last_batch_is_over(opened):
    opened(600, now=NOW)
    (state,) = batches.overview(now=later(60))
    assert state.prepared == 1 and state.is_available, "the next fetch opens the prepared one"
    assert batches.rotate_due(now=later(60)) == 1
    (state,) = batches.overview(now=later(119))
    assert state.is_available and state.unavailable_since is None
    # No worker closed it: it is open, and nothing may be issued from it.
    (state,) = batches.overview(now=later(125))
    assert state.batch is not None and state.left == 32
    assert not state.is_available and state.unavailable_since == later(120)


def test_the_overview_counts_what_is_left(opened):
    (ttl_class,) = opened(600, now=NOW)
    (state,) = batches.overview(now=NOW)
    assert (state.issued, state.left, state.prepared) == (0, 32, 1)
    assert state.is_available and not state.is_nearly_dry
    issue_all_but(3, ttl_class)
    (state,) = batches.overview(now=NOW)
    assert (state.issued, state.left) == (29, 3) and state.is_nearly_dry


def test_staff_may_rotate_early_if_a_batch_is_prepared(opened):
    (ttl_class,) = opened(600, now=NOW)
    assert batches.rotate(ttl_class.pk, now=later(1), force=True)
    assert not batches.rotate(ttl_class.pk, now=later(2), force=True)
    assert states(ttl_class) == ["closed", "open"]


def test_unissued_addresses_are_deleted_with_their_batch(opened):
    (ttl_class,) = opened(600, now=NOW)
    batch = issue_all_but(20, ttl_class)
    batches.rotate_due(now=later(60))
    assert batches.delete_never_issued(most=5) == 5
    assert batches.delete_never_issued() == 15
    assert TipAddress.objects.filter(batch=batch).count() == 12
    assert TipAddress.objects.filter(batch__state="open").count() == 32


def test_a_class_that_gets_another_ttl_issues_no_address_of_the_old_one(opened):
    (ttl_class,) = opened(600, now=NOW)
    ttl_class.ttl_seconds = 900
    classes.save_ttl_class(ttl_class)
    batches.rotate_due(now=later(1))
    assert states(ttl_class) == ["closed", "prepared"]
    batches.prepare_batches(seed=SEED, now=later(2))
    assert states(ttl_class) == ["closed", "prepared", "prepared"]
    assert batches.rotate_due(now=later(2)) == 1
    batch = TipBatch.objects.get(state="open")
    assert batch.ttl_seconds == 900 and batch.expires_at == later(962)


def test_a_class_of_another_size_gets_batches_of_it(opened):
    (ttl_class,) = opened(600, now=NOW)
    ttl_class.batch_size = 48
    classes.save_ttl_class(ttl_class)
    batches.prepare_batches(seed=SEED, now=later(1))
    sizes = TipBatch.objects.order_by("number").values_list("state", "size")
    assert list(sizes) == [("open", 32), ("prepared", 48), ("prepared", 48)]


def test_a_class_can_be_deleted_until_its_first_batch_opens(ttl_classes):
    _, spare = ttl_classes(600, 7200)
    batches.prepare_batches(seed=SEED, now=NOW)
    classes.delete_ttl_class(spare)
    assert TtlClass.objects.count() == 1 and TipAddress.objects.count() == 64
    (again,) = class_of(7200)
    batches.prepare_batches(seed=SEED, now=NOW)
    batches.rotate_due(now=NOW)
    with pytest.raises(ClassHasBatches, match="class of 2 h"):
        classes.delete_ttl_class(again)


def class_of(ttl):
    return [TtlClass.objects.create(ttl_seconds=ttl, window_seconds=60, batch_size=16)]


@pytest.mark.django_db(transaction=True)
def test_racing_rotations_open_one_batch(ttl_classes):
    (ttl_class,) = ttl_classes(600, size=16)
    for now in (NOW, later(60), later(120)):
        batches.prepare(ttl_class.pk, seed=SEED, now=now, keep=2)

        def rotate(number, now=now):
            try:
                return batches.rotate(ttl_class.pk, now=now, wait=number % 2 == 0)
            finally:
                connections.close_all()

        with ThreadPoolExecutor(24) as pool:
            opened = list(pool.map(rotate, range(24)))
        assert sum(opened) == 1
        assert TipBatch.objects.filter(state="open").count() == 1
    assert states(ttl_class) == ["closed", "closed", "open", "prepared"]


@pytest.mark.django_db(transaction=True)
def test_racing_preparations_make_two_batches_of_each_class(ttl_classes):
    made = ttl_classes(600, 7200, size=16)

    def prepare(_):
        try:
            return batches.prepare_batches(seed=SEED, now=NOW)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        total = sum(pool.map(prepare, range(8)))
    total += batches.prepare_batches(seed=SEED, now=NOW)
    assert total == 4
    assert [states(ttl_class) for ttl_class in made] == [["prepared"] * 2] * 2
    keys = list(TipAddress.objects.values_list("pubkey", flat=True))
    assert len(set(keys)) == 64 and all(isinstance(key, Pubkey) for key in keys)


@pytest.mark.django_db(transaction=True)
def test_an_address_that_was_issued_while_its_batch_closed_is_kept(opened):
    (ttl_class,) = opened(600, now=NOW, size=16)
    batch = TipBatch.objects.get(state="open")
    edge = Edge.objects.create(name="e", first_seen_at=NOW)
    addresses.claim(batch.pk, edge_id=edge.pk, count=16)
    with ThreadPoolExecutor(1) as pool, connection.cursor() as cursor:
        cursor.execute("BEGIN")
        # Issued, and not committed when the others close the batch and delete what is left.
        (issued,) = addresses.issue(batch.pk, edge_id=edge.pk, count=1, key_id=0, now=later(59))

        def close():
            try:
                batches.rotate(ttl_class.pk, now=later(60))
                return batches.delete_never_issued()
            finally:
                connections.close_all()

        closing = pool.submit(close)
        while not waiting_sessions():
            assert not closing.done(), closing.result()
        cursor.execute("COMMIT")
        assert closing.result() == 15
    assert TipAddress.objects.filter(batch=batch).values_list("pubkey", flat=True).get() == (
        Pubkey.from_bytes(issued)
    )
    assert addresses.issue(batch.pk, edge_id=edge.pk, count=1, key_id=0, now=later(59)) == []
