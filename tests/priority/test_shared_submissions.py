"""What two customers submitted is in the lists and streams of both, each without the other's."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from solders.keypair import Keypair
from solders.transaction import VersionedTransaction

from access.models import ApiKey
from access.services import keys
from priority.acceptance.services.accepting import bundle_id_of
from priority.models import Bundle, Submission
from tests.management.conftest import member, root, token
from tests.patience import wait
from tests.priority.fate_streams import FateServer, serving
from tests.priority.landing import lander, upstream
from tests.priority.sending import result, signed, tip
from tests.priority.submitted import as_base64, tipping_transaction, tried
from tests.priority.submitters import (
    Customer,
    Door,
    another_key,
    bundle_read_by_a_lander,
    fate,
    land,
    read_by_a_lander,
    send,
    stored,
)
from tests.priority.test_fate_subscriptions import begin, socket

pytestmark = pytest.mark.django_db

__all__ = ["member", "root", "token"]


def told(stream: Any, count: int) -> list[tuple[str, str, Any]]:
    """(signature, state, bundle) of the next events, which are fates."""
    found = []
    for _ in range(count):
        event = stream.next()
        assert event.name == "fate", event
        found.append((event.data["signature"], event.data["state"], event.data.get("bundleId")))
    return found


@pytest.mark.django_db(transaction=True)
def test_the_streams_of_both_have_each_change_once(
    door: Door, api_key: str, customers: list[Customer]
) -> None:
    first, second, third = customers
    again = another_key("second")
    both, late = signed(tip()), signed(tip())
    name, last = (str(each.signatures[0]) for each in (both, late))
    secrets = [api_key, second.secret or "", third.secret or ""]
    with serving() as server:
        opened = [server.ready(secret) for secret in secrets]
        streams = [stream for stream, _place in opened]
        for secret in (first.secret, second.secret, again.secret):
            send(door, both, secret)
        with lander(None):
            wait(lambda: Submission.objects.exists(), "it is stored")
        land(both)
        send(door, late, first.secret)
        stored(late, first.key)
        land(late)
        for secret in (third.secret, second.secret, again.secret):
            send(door, late, secret)
        changes = [(name, "received", None), (name, "landed", None), (last, "landed", None)]
        assert [told(each, 3) for each in streams[:2]] == [changes, changes]
        assert told(streams[2], 1) == changes[2:], "only what it submitted itself"
        for stream in streams:
            stream.close()
        _read_again(server, second, opened[1][1], changes)


def _read_again(
    server: FateServer, second: Customer, place: str, changes: list[tuple[str, str, Any]]
) -> None:
    """After a place, or after a submission, by WebSocket."""
    issued = keys.IssuedKey(second.key, second.secret or "")
    with socket(server, issued) as reader:
        behind = begin(reader, {"fromEvent": place})[1]
        after = begin(reader, {"fromSignature": changes[0][0]})[1]
    for found, expected in ((behind, changes), (after, changes[2:])):
        assert {each["method"] for each in found} == {"fatesNotification"}
        results = [each["params"]["result"] for each in found]
        seen = [(each["signature"], each["state"], each.get("bundleId")) for each in results]
        assert seen == expected


def alone_and_in_a_bundle(alone: ApiKey, bundled: ApiKey) -> VersionedTransaction:
    """Sent by the one, then in a bundle by the other; both have a lander."""
    sent = tipping_transaction(Keypair())
    read_by_a_lander(sent, alone, in_bundle=False)
    read_by_a_lander(sent, bundled, in_bundle=True)
    tried(Submission.objects.get(signature=sent.signatures[0]))
    return sent


def test_who_sent_a_transaction_alone_is_in_no_bundle_of_another(
    door: Door, first: ApiKey, others: list[keys.IssuedKey]
) -> None:
    second, third = others
    sent = alone_and_in_a_bundle(first, second.key)
    name, bundle_id = str(sent.signatures[0]), bundle_id_of([bytes(sent.signatures[0])])
    assert Bundle.objects.get().submissions.count() == 1, "it decides the bundle's fate"
    own = fate(door, name)
    assert (own["bundleId"], own["tier"], len(own["attempts"])) == (None, "basic", 1)
    (short,) = result(door("/priority", "getTransactionFates", [name]))
    assert short["bundleId"] is None
    of_one = result(door("/bundle", "getBundleFate", name))
    assert (of_one["bundleId"], of_one["transactions"][0]["bundleId"]) == (bundle_id, None)
    theirs = fate(door, name, key=second.secret)
    assert (theirs["bundleId"], theirs["tier"], theirs["attempts"]) == (bundle_id, None, [])
    asked = result(door("/bundle", "getBundleFate", bundle_id, key=second.secret))
    (inside,) = asked["transactions"]
    assert (inside["bundleId"], inside["edge"], inside["attempts"]) == (bundle_id, None, [])
    assert fate(door, name, key=third.secret) == "signature_unknown"


def test_a_bundle_of_the_same_customer_is_its_own(door: Door, first: ApiKey) -> None:
    again = keys.issue_key(first.customer, tier=first.tier, name="again")
    sent = alone_and_in_a_bundle(first, again.key)
    bundle_id = bundle_id_of([bytes(sent.signatures[0])])
    for key in ({}, {"key": again.secret}):
        found = fate(door, str(sent.signatures[0]), **key)
        assert (found["bundleId"], len(found["attempts"])) == (bundle_id, 1)


@pytest.mark.parametrize("is_same", [False, True])
def test_a_transaction_is_in_the_bundle_of_each_customer(
    door: Door,
    api_key: str,
    customers: list[Customer],
    client: Client,
    token: Any,
    is_same: bool,
) -> None:
    """Its row is in the first one's bundle; the second one's has another one beside it, or is the
    same bundle.
    """
    from tests.portal.test_rules import work

    first, second, third = customers
    both, *beside = (tipping_transaction(Keypair()) for _ in range(3))
    name = str(both.signatures[0])
    ids = [bundle_read_by_a_lander([both, beside[0]], first.key)]
    ids.append(bundle_read_by_a_lander([both, beside[0 if is_same else 1]], second.key))
    assert (ids[0] == ids[1]) == is_same
    for customer, bundle_id in zip((first, second), ids, strict=True):
        secret = customer.secret or api_key
        assert fate(door, name, key=secret)["bundleId"] == bundle_id
        (short,) = result(door("/priority", "getTransactionFates", [name], key=secret))
        assert short["bundleId"] == bundle_id
        whole = result(door("/bundle", "getBundleFate", bundle_id, key=secret))
        assert {each["bundleId"] for each in whole["transactions"]} == {bundle_id}
        listed = client.get("/priority/fates", headers={"Authorization": secret}).json()
        assert {each["bundleId"] for each in listed} == {bundle_id}
        rows = token(customer.key.customer).get("submissions?kind=bundle").data["results"]
        assert [each["bundleId"] for each in rows] == [bundle_id] * 2
    land(both)
    work()
    assert first.heard() == [("submission.landed", first.key.pk, ids[0])]
    assert second.heard() == [("submission.landed", second.key.pk, ids[1])]
    assert third.heard() == []


def test_what_was_sent_alone_is_in_the_own_bundle_that_came_after_anothers(
    door: Door, first: ApiKey, others: list[keys.IssuedKey]
) -> None:
    sent = alone_and_in_a_bundle(first, others[0].key)
    bundle_id = bundle_read_by_a_lander([sent, tipping_transaction(Keypair())], first)
    name = str(sent.signatures[0])
    assert fate(door, name)["bundleId"] == bundle_id
    assert result(door("/bundle", "getBundleFate", name))["bundleId"] == bundle_id


def test_events_name_the_bundle_to_its_customer_alone(
    door: Door, customers: list[Customer]
) -> None:
    from tests.portal.test_rules import work

    first, second, third = customers
    sent = alone_and_in_a_bundle(first.key, second.key)
    land(sent)
    work()
    bundle_id = bundle_id_of([bytes(sent.signatures[0])])
    assert first.heard() == [("submission.landed", first.key.pk, None)]
    assert second.heard() == [("submission.landed", second.key.pk, bundle_id)]
    assert third.heard() == []


def test_the_lists_of_both_have_it(
    door: Door, first: ApiKey, others: list[keys.IssuedKey], client: Client, token: Any, member: Any
) -> None:
    second, third = others
    sent = alone_and_in_a_bundle(first, second.key)
    long_ago = datetime.now(UTC) - timedelta(hours=1)
    Submission.objects.update(request_id="of-the-first", only=["leaders"], accepted_at=long_ago)
    own = tipping_transaction(Keypair())
    read_by_a_lander(own, second.key, in_bundle=False)
    names = [str(each.signatures[0]) for each in (own, sent)]
    bundle_id = bundle_id_of([bytes(sent.signatures[0])])

    def newest(secret: str, **query: Any) -> list[Any]:
        found: list[Any] = client.get(
            "/priority/fates", query, headers={"Authorization": secret}
        ).json()
        return found

    listed = newest(second.secret)
    assert [each["signature"] for each in listed] == names
    assert (listed[1]["tier"], listed[1]["bundleId"]) == (None, bundle_id)
    assert [each["signature"] for each in newest(second.secret, limit=1)] == names[:1]
    assert newest(second.secret, before=names[1]) == []
    assert [each["signature"] for each in newest(second.secret, before=names[0])] == names[1:]
    assert newest(third.secret) == []

    api = token(second.key.customer)
    rows = api.get("submissions").data["results"]
    assert [each["signature"] for each in rows] == names
    assert rows == api.get(f"submissions?key={second.key.pk}").data["results"]
    hidden = ("key", "tier", "bundleId", "requestId", "tries")
    assert [rows[1][each] for each in hidden] == [second.key.pk, "", bundle_id, "", 0]
    assert api.get(f"submissions/{rows[1]['id']}").data == rows[1]
    assert rows[1]["kind"] == "bundle"
    assert api.get("submissions?kind=transaction").data["results"] == rows[:1]
    for query in (f"key={first.pk}", f"until={moment(rows[1])}"):
        assert api.get(f"submissions?{query}").data["results"] == []
    for query in ("kind=bundle", f"since={moment(rows[1])}&kind=bundle"):
        assert api.get(f"submissions?{query}").data["results"] == rows[1:]
    (of_first,) = token(first.customer).get("submissions").data["results"]
    assert (of_first["key"], of_first["bundleId"]) == (first.pk, None)
    assert token(third.key.customer).get("submissions").data["results"] == []

    client.force_login(member(second.key.customer, role="reader").user)
    page = client.get("/portal/fates/").content.decode()
    assert [name in page for name in names] == [True, True] and second.key.name in page
    assert first.name not in page


@pytest.mark.django_db(transaction=True)
def test_what_waits_for_a_lander_alone_and_in_bundles_is_stored_with_its_first_batch(
    door: Door, customers: list[Customer]
) -> None:
    first, second, third = customers
    upstream("engine", "block_engine", url="http://127.0.0.1:1")
    sent, other = tipping_transaction(Keypair()), tipping_transaction(Keypair())
    send(door, sent, first.secret)
    for bundle, key in (([sent], second), ([sent, other], third)):
        wires = [as_base64(each) for each in bundle]
        assert result(door("/bundle", "sendBundle", wires, key=key.secret))
    with lander(None):
        wait(lambda: Bundle.objects.count() == 2, "both bundles are stored")
        wait(lambda: Submission.objects.count() == 2, "both transactions are stored")
    states = {fate(door, str(sent.signatures[0]), key=each.secret)["state"] for each in customers}
    assert states == {"received"}


def moment(row: dict[str, Any]) -> str:
    """When it was accepted, for a query."""
    return str(row["acceptedAt"]).replace("+", "%2B")
