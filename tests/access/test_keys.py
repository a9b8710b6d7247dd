"""Issuing, identifying, rotating, suspending and revoking keys."""

import time
from collections.abc import Callable
from dataclasses import fields
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from access import buckets, key_cache, key_text
from access.callers import Caller
from access.errors import (
    ActionRefused,
    BadNetwork,
    KeyExpired,
    KeyIsRevoked,
    KeyMalformed,
    KeyRefused,
    KeyRevoked,
    KeyUnknown,
    UnknownScope,
)
from access.models import ApiKey, Customer, Tier
from access.services import keys
from eventloop.faces import complete
from shared_state.redis_client import client

Issue = Callable[..., keys.IssuedKey]


def identify(secret: str):
    return keys.identify(secret, now=timezone.now())


def test_the_secret_is_nowhere_in_the_row(issue: Issue) -> None:
    issued = issue()
    row = ApiKey.objects.values().get(pk=issued.key.pk)
    hidden = issued.secret[len(issued.key.shown_prefix) : -len(issued.key.last_four)]
    assert all(hidden not in str(value) for value in row.values())
    assert bytes(row["digest"]) == key_text.digest_of(issued.secret)


def test_a_key_is_identified_with_its_rights_and_its_tiers_limits(issue: Issue) -> None:
    issued = issue(scopes=["historical"], networks=["10.1.2.3/8"], requests_per_second=7)
    caller = identify(issued.secret)
    assert caller.key_id == issued.key.pk
    assert caller.scopes == {"historical"}
    assert [str(network) for network in caller.networks] == ["10.0.0.0/8"]
    assert caller.quotas["requests"].rate == 7


def test_a_known_key_costs_no_query_the_second_time(issue: Issue, known_keys: None) -> None:
    issued = issue()
    identify(issued.secret)
    with CaptureQueriesContext(connection) as queries:
        identify(issued.secret)
    assert len(queries) == 0


def test_a_key_that_lay_idle_is_confirmed_by_redis_alone(issue: Issue, monkeypatch: Any) -> None:
    issued = issue()
    key_cache.confirm(0, time.monotonic())  # what a limited request learns from Redis
    identify(issued.secret)
    monkeypatch.setattr(key_cache, "FRESH_SECONDS", 0.0)
    client().set(buckets.GENERATION_KEY, 0)
    with CaptureQueriesContext(connection) as queries:
        identify(issued.secret)
    assert len(queries) == 0
    client().incr(buckets.GENERATION_KEY)  # another process changed a key
    with CaptureQueriesContext(connection) as queries:
        identify(issued.secret)
    assert len(queries) == 1


def test_what_redis_said_before_a_key_changed_is_not_believed_for_longer(
    issue: Issue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that had no core between the reply of Redis and its next step."""
    monkeypatch.setattr(key_cache, "FRESH_SECONDS", 0.2)
    key_cache.confirm(0, time.monotonic())
    issued, asked_at = issue(), time.monotonic()
    assert not identify(issued.secret).suspended
    # Another process suspends the key, and announces it.
    with connection.cursor() as cursor:
        cursor.execute("UPDATE access_apikey SET suspended_at = now()")
    client().set(buckets.GENERATION_KEY, 1)
    time.sleep(0.2)
    key_cache.confirm(0, asked_at)  # the reply, at last
    assert identify(issued.secret).suspended


def test_a_typo_costs_no_query_at_all(db: None) -> None:
    secret = key_text.new_key().secret
    typo = secret[:-1] + ("a" if secret[-1] != "a" else "b")
    with CaptureQueriesContext(connection) as queries, pytest.raises(KeyMalformed):
        identify(typo)
    assert len(queries) == 0


def test_an_unknown_key_is_looked_up_once_and_stays_unknown(db: None, known_keys: None) -> None:
    secret = key_text.new_key().secret
    with CaptureQueriesContext(connection) as queries:
        for _ in range(3):
            with pytest.raises(KeyUnknown):
                identify(secret)
    assert len(queries) == 1


def test_guessing_keys_does_not_push_out_the_known_ones(issue: Issue, known_keys: None) -> None:
    issued = issue()
    identify(issued.secret)
    for _ in range(key_cache.MAX_REFUSALS + 10):
        complete(key_cache.afind(key_text.digest_of(key_text.new_key().secret), lambda: KeyUnknown))
    with CaptureQueriesContext(connection) as queries:
        identify(issued.secret)
    assert len(queries) == 0
    assert len(key_cache._refusals) <= key_cache.MAX_REFUSALS


def test_a_key_expires_at_its_moment_although_it_is_cached(issue: Issue) -> None:
    end = timezone.now() + timedelta(hours=1)
    issued = issue(expires_at=end)
    keys.identify(issued.secret, now=end - timedelta(seconds=1))
    with pytest.raises(KeyExpired) as refusal:
        keys.identify(issued.secret, now=end)
    assert refusal.value.data == {"reason": "key_expired", "expiredAt": int(end.timestamp())}
    assert refusal.value.key_id == issued.key.pk


@pytest.mark.django_db(transaction=True)
def test_every_order_is_heard_at_once_in_this_process(issue: Issue) -> None:
    issued = issue()
    assert not identify(issued.secret).suspended
    keys.suspend_key(issued.key.pk, now=timezone.now())
    assert identify(issued.secret).suspended
    keys.resume_key(issued.key.pk, now=timezone.now())
    assert not identify(issued.secret).suspended
    tier = issued.key.tier
    tier.requests_per_second = 99
    tier.save()
    assert identify(issued.secret).quotas["requests"].rate == 99
    keys.revoke_key(issued.key.pk, now=timezone.now())
    with pytest.raises(KeyRevoked):
        identify(issued.secret)
    ApiKey.objects.all().delete()
    with pytest.raises(KeyUnknown):
        identify(issued.secret)


@pytest.mark.django_db(transaction=True)
def test_a_rotated_key_works_until_the_overlap_ends_and_its_successor_after(issue: Issue) -> None:
    old = issue(scopes=["bundle"], networks=["10.0.0.0/8"], environment="live")
    now = timezone.now()
    new = keys.rotate_key(old.key.pk, overlap=timedelta(hours=1), now=now)
    assert new.secret != old.secret
    assert new.key.rotated_from_id == old.key.pk
    assert keys.identify(old.secret, now=now + timedelta(minutes=59)).scopes == {"bundle"}
    with pytest.raises(KeyExpired):
        keys.identify(old.secret, now=now + timedelta(hours=1))
    successor = keys.identify(new.secret, now=now + timedelta(days=1000))
    assert successor.scopes == {"bundle"} and len(successor.networks) == 1
    assert new.key.environment == "live"


def test_a_rotation_never_lengthens_a_keys_life(issue: Issue) -> None:
    now = timezone.now()
    end = now + timedelta(minutes=5)
    old = issue(expires_at=end)
    new = keys.rotate_key(old.key.pk, overlap=timedelta(days=30), now=now)
    old.key.refresh_from_db()
    assert old.key.expires_at == end == new.key.expires_at


def test_rotating_is_no_way_out_of_a_suspension(issue: Issue) -> None:
    old = issue()
    keys.suspend_key(old.key.pk, now=timezone.now())
    new = keys.rotate_key(old.key.pk, overlap=timedelta(0), now=timezone.now())
    assert identify(new.secret).suspended


def test_orders_that_make_no_sense_are_refused(issue: Issue) -> None:
    issued = issue()
    now = timezone.now()
    with pytest.raises(ActionRefused, match="negative"):
        keys.rotate_key(issued.key.pk, overlap=timedelta(seconds=-1), now=now)
    keys.rotate_key(issued.key.pk, overlap=timedelta(0), now=now)
    with pytest.raises(ActionRefused, match="successor"):
        keys.rotate_key(issued.key.pk, overlap=timedelta(0), now=now)
    keys.revoke_key(issued.key.pk, now=now)
    with pytest.raises(KeyIsRevoked):
        keys.rotate_key(issued.key.pk, overlap=timedelta(0), now=now)
    with pytest.raises(UnknownScope, match="typo"):
        issue(scopes=["typo"])
    with pytest.raises(BadNetwork, match=r"10\.0\.0"):
        issue(networks=["10.0.0/33"])


def test_a_customer_with_keys_cannot_be_deleted(issue: Issue) -> None:
    issue()
    with pytest.raises(Exception, match="protected"):
        Customer.objects.all().delete()


def test_a_caller_has_the_fields_of_its_tier(issue: Issue, tier: Any) -> None:
    """A field of both names is passed on, and not left at the caller's default."""
    shared = {each.name for each in Tier._meta.fields} & {each.name for each in fields(Caller)}
    values = {name: 7_001 + number for number, name in enumerate(sorted(shared - {"rank"}))}
    values["landing_weight"] = 71  # at most 100
    caller = identify(issue(tier=tier("shared", rank=11, **values)).secret)
    found = {name: getattr(caller, name) for name in values}
    assert len(found) >= 2
    assert found == values, "pass the field on in caller_of() of platform/access/services/keys.py"


@pytest.mark.django_db
def test_the_tiers_of_the_contract_are_there() -> None:
    found = {
        tier.name: (tier.rank, tier.requests_per_second, tier.bundles_per_second)
        for tier in Tier.objects.filter(name__in=["basic", "ultra", "elite", "epic"])
    }
    assert found["basic"] == (10, 10, 5)
    assert found["ultra"] == (20, 50, 10)
    assert found["elite"] == (30, 200, 15)
    assert found["epic"] == (40, 500, 15)
    anonymous = complete(keys.aanonymous())
    assert anonymous.quotas["requests"].rate == 5
    assert anonymous.quotas["tip_fetches"].burst == 20


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("field", "value"),
    [("requests_per_second", 0), ("bundles_per_second", -1), ("tip_fetches_burst", 0)],
)
def test_a_limit_that_nobody_could_meet_is_refused_by_the_database(field: str, value: int) -> None:
    from django.db import IntegrityError, transaction

    with pytest.raises(IntegrityError), transaction.atomic():
        Tier.objects.create(name="odd", rank=1, **{field: value})


def test_refusals_have_their_word_and_status() -> None:
    for refusal in KeyRefused.__subclasses__():
        assert refusal.status == 401 and refusal.code == -32003
        assert refusal.reason.startswith("key_") and refusal.__doc__
