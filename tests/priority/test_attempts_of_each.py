"""One transaction by two customers, on two ways: each sees what was done for it, staff sees all."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.urls import reverse
from solders.keypair import Keypair
from solders.transaction import VersionedTransaction

from access.services import keys
from priority.acceptance.services.accepting import bundle_id_of
from priority.fates.services import settling
from priority.fates.store.settling import keys_of
from priority.models import Attempt, Bundle, Submission
from priority.reports.services import counting
from priority.upstreams.models import Upstream
from tests.management.conftest import member, root, token
from tests.patience import wait
from tests.portal.test_rules import work
from tests.priority.landing import lander, upstream
from tests.priority.odd_nodes import odd_node
from tests.priority.sending import SENT, result, text
from tests.priority.submitted import as_base64, tipping_transaction
from tests.priority.submitters import Customer, Door, fate, stored

__all__ = ["member", "root", "token"]

PAGE = "/admin/priority/submission/{}"


def refusing(words: str) -> Callable[[bytes], tuple[int, bytes]]:
    refusal = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32002, "message": words}}
    return lambda body: (200, json.dumps(refusal).encode())


def by_node_and_by_engine(
    door: Door, first: str | None, second: str | None
) -> VersionedTransaction:
    """Sent once by the first customer's key, to a node; then in a bundle by the second one's, to an
    engine, more than once. Both are refused.
    """
    Upstream.objects.all().delete()
    sent = tipping_transaction(Keypair())
    with (
        odd_node(refusing("not by a node")) as node,
        odd_node(refusing("not by an engine")) as engine,
        lander(None),
    ):
        upstream("node", url=node.url)
        result(
            door("/priority", "sendTransaction", text(sent), {**SENT, "maxRetries": 0}, key=first)
        )
        wait(lambda: Attempt.objects.exists(), "the node has refused it")
        upstream("engine", "block_engine", url=engine.url)
        assert result(door("/bundle", "sendBundle", [as_base64(sent)], key=second))
        tried = Attempt.objects.filter(upstream="engine", number__gte=2)
        wait(lambda: tried.exists(), "the engine has refused it twice")
    return sent


@pytest.mark.django_db(transaction=True)
def test_each_customer_sees_its_own_attempts_and_reasons(
    door: Door, customers: list[Customer], token: Any
) -> None:
    first, second, third = customers
    sent = by_node_and_by_engine(door, first.secret, second.secret)
    name, bundle_id = str(sent.signatures[0]), bundle_id_of([bytes(sent.signatures[0])])
    assert not Bundle.objects.get().engine_ids

    def seen(customer: Customer) -> tuple[set[str], bool, Any]:
        """The upstreams of its attempts, whether there was more than one, and the reason."""
        found = fate(door, name, key=customer.secret)
        (row,) = token(customer.key.customer).get("submissions").data["results"]
        (short,) = result(door("/priority", "getTransactionFates", [name], key=customer.secret))
        assert (row["tries"], row["reason"]) == (found["tries"], found["reason"] or "")
        assert (short["tries"], short["reason"]) == (found["tries"], found["reason"])
        return {each["upstream"] for each in found["attempts"]}, found["tries"] > 1, found["reason"]

    def in_bundle() -> tuple[set[str], Any, Any]:
        found = result(door("/bundle", "getBundleFate", bundle_id, key=second.secret))
        (inside,) = found["transactions"]
        upstreams = {each["upstream"] for each in inside["attempts"]}
        return upstreams, found["reason"].partition(":")[0], inside["reason"]

    refused = "upstream_refused: node: not by a node (-32002)"
    assert seen(first) == ({"node"}, False, refused)
    assert seen(second) == ({"engine"}, True, None)
    assert in_bundle() == ({"engine"}, "engine_refused", None)
    assert fate(door, name, key=third.secret) == "signature_unknown"

    settling.settle_lost({Submission.objects.get().pk: "blockhash_expired"}, now=datetime.now(UTC))
    assert seen(first) == ({"node"}, False, refused)
    assert seen(second) == ({"engine"}, True, "not_accepted")
    assert in_bundle() == ({"engine"}, "engine_refused", "not_accepted")
    work()
    told = [[json.loads(body) for _path, _headers, body in c.receiver.got] for c in customers]
    assert [[each["data"]["reason"] for each in events] for events in told] == [
        [refused],
        ["not_accepted"],
        [],
    ]


@pytest.mark.django_db(transaction=True)
def test_what_came_without_a_key_is_not_the_first_customers(
    door: Door, customers: list[Customer]
) -> None:
    sent = by_node_and_by_engine(door, None, "")
    found = fate(door, str(sent.signatures[0]))
    assert ({each["upstream"] for each in found["attempts"]}, found["tries"]) == ({"node"}, 1)


@pytest.mark.django_db(transaction=True)
def test_staff_sees_all_attempts_and_submitters(
    door: Door, customers: list[Customer], admin_client: Any
) -> None:
    first, second, third = customers
    by_node_and_by_engine(door, first.secret, second.secret)
    page = admin_client.get(PAGE.format(f"{Submission.objects.get().pk}/change/")).content.decode()
    assert f"for the submission with key {second.key.pk}: " in page
    for each in (first, second):
        assert reverse("admin:access_apikey_change", args=[each.key.pk]) in page

    for each, listed in ((first, True), (second, True), (third, False)):
        for query in (f"?key={each.key.pk}", f"?customer={each.key.customer_id}"):
            rows = admin_client.get(PAGE.format(query)).context["cl"].result_list
            assert bool(list(rows)) is listed, (each.key.name, query)

    counting.count(kept=timedelta(days=30), now=datetime.now(UTC), calm=timedelta(0))
    landing = PAGE.format("landing/?key={}")
    words = [admin_client.get(landing.format(each.key.pk)).content.decode() for each in customers]
    assert [("not by a node" in each, "not by an engine" in each) for each in words] == [
        (True, False),
        (False, True),
        (False, False),
    ]


@pytest.mark.django_db
def test_a_tip_is_of_the_first_key_that_submitted_its_transaction(
    door: Door, first: Any, others: list[keys.IssuedKey]
) -> None:
    sent = tipping_transaction(Keypair())
    name = bytes(sent.signatures[0])
    Upstream.objects.get_or_create(name="engine", kind="block_engine")
    for secret in ("", *(each.secret for each in others)):
        assert result(door("/bundle", "sendBundle", [as_base64(sent)], key=secret))
    stored(sent, None)
    assert keys_of([name]) == {name: others[0].key.pk}
    Submission.objects.update(key=first)
    assert keys_of([name]) == {name: first.pk}
