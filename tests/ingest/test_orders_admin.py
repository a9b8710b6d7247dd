"""The pages of orders over ranges of slots, as a browser's requests."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.utils import timezone

from chain.slot_ranges import SlotRange
from historical.models import Gap
from ingest.models import Finding, RangeOrder
from ingest.services import orders
from staff.models import AuditEntry

ORDERS = "/admin/ingest/rangeorder/"

pytestmark = pytest.mark.usefixtures("empty_ledger")


@pytest.fixture(autouse=True)
def node(settings: Any) -> None:
    settings.FILL_RPC_URLS = ["http://node.example:8899/secret-key"]


def text_of(answer: Any) -> str:
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def order(**changes: Any) -> RangeOrder:
    told = {"archive": True, "ledger": True, "source": "", "asked_by": "ada", **changes}
    window = SlotRange(told.pop("first", 100), told.pop("last", 199))
    return orders.ask("verify", window, now=timezone.now(), **told)


def viewer(client: Any, django_user_model: Any, *permissions: str) -> Any:
    user = django_user_model.objects.create_user("viewer", password="x", is_staff=True)
    user.user_permissions.add(*Permission.objects.filter(codename__in=permissions))
    client.force_login(user)
    return client


def test_an_order_is_given_and_written_down(admin_client: Any) -> None:
    page = text_of(admin_client.get(f"{ORDERS}add/?kind=verify&first_slot=100&last_slot=250"))
    assert 'value="100"' in page and 'value="250"' in page
    assert "Node node.example:8899 (getBlock)" in page
    assert "secret-key" not in page
    told = {
        "kind": "reingest",
        "first_slot": "1,000",
        "last_slot": "1999",
        "ledger": "on",
        "source": "node.example:8899",
    }
    answer = text_of(admin_client.post(f"{ORDERS}add/", told, follow=True))
    assert "The order is created" in answer
    row = RangeOrder.objects.get()
    assert (row.first_slot, row.last_slot, row.ledger, row.archive) == (1_000, 1_999, True, False)
    assert (row.kind, row.source, row.asked_by) == ("reingest", "node.example:8899", "admin")
    entry = AuditEntry.objects.get(subject_type="ingest.rangeorder")
    assert (entry.who, entry.subject) == ("admin", "re-ingest of slots 1000 to 1999")
    answer = text_of(admin_client.post(f"{ORDERS}add/", told, follow=True))
    assert "Another order over some of these slots" in answer
    assert RangeOrder.objects.count() == 1


@pytest.mark.parametrize(
    ("told", "text"),
    [
        ({"first_slot": "-4"}, "Not a slot"),
        ({"last_slot": "50"}, "must not lie above"),
        ({"ledger": "", "archive": ""}, "Choose the archive, the ledger, or both"),
        ({"kind": "reingest"}, "Choose the source to fetch the slots from"),
        ({"kind": "reingest", "source": "node.example:8899"}, "A node has no account writes"),
        ({"source": "elsewhere"}, "elsewhere is not one of the available choices"),
        ({"last_slot": "9000000"}, "too many at once"),
    ],
)
def test_what_cannot_be_ordered_is_said_on_the_form(
    admin_client: Any, told: dict[str, str], text: str
) -> None:
    form = {"kind": "verify", "first_slot": "100", "last_slot": "200", "ledger": "on"}
    form = {**form, "archive": "on", "source": "", **told}
    answer = text_of(admin_client.post(f"{ORDERS}add/", {k: v for k, v in form.items() if v}))
    assert text in answer
    assert not RangeOrder.objects.exists()


def test_the_page_tells_findings_and_what_helps(admin_client: Any) -> None:
    row = order()
    assert "None so far." in text_of(admin_client.get(f"{ORDERS}{row.pk}/change/"))
    RangeOrder.objects.update(state="done", next_slot=200, sound=97, findings=2)
    Finding.objects.create(order=row, slot=150, area="ledger", what="parent_missing", detail="x<y")
    Finding.objects.create(order=row, slot=160, area="archive", what="wrong_balance")
    page = text_of(admin_client.get(f"{ORDERS}{row.pk}/change/"))
    assert "The block is not stored, but its child is" in page
    assert "x&lt;y" in page
    assert "Open a gap: it is then filled automatically" in page
    assert "?kind=reingest&amp;first_slot=150&amp;last_slot=160" in page
    answer = text_of(admin_client.post(f"{ORDERS}{row.pk}/gaps/", follow=True))
    assert "1 slot is in an open gap now" in answer
    gap = Gap.objects.get()
    assert (gap.from_slot, gap.to_slot, gap.cause) == (150, 150, "verification")
    assert AuditEntry.objects.latest("pk").verb == "opened gaps"


def test_orders_are_found_by_a_slot_and_cancelled(admin_client: Any) -> None:
    first, second = order(), order(first=300, last=400)
    listed = text_of(admin_client.get(ORDERS, {"q": "150"}))
    assert "100 to 199" in listed and "300 to 400" not in listed
    assert "100 to 199" not in text_of(admin_client.get(ORDERS, {"q": "no slot"}))
    answer = admin_client.post(f"{ORDERS}{first.pk}/cancel/", follow=True)
    assert "1 order is cancelled" in text_of(answer)
    action = {"action": "cancel_orders", "_selected_action": [first.pk, second.pk]}
    assert "1 order is cancelled" in text_of(admin_client.post(ORDERS, action, follow=True))
    assert set(RangeOrder.objects.values_list("state", flat=True)) == {"cancelled"}
    assert AuditEntry.objects.filter(verb="cancelled").count() == 2


def test_who_may_only_look_orders_nothing(client: Any, django_user_model: Any) -> None:
    row = order()
    viewer(client, django_user_model, "view_rangeorder", "view_slottally")
    page = text_of(client.get(f"{ORDERS}{row.pk}/change/"))
    assert "Cancel the order" not in page and "cancel_orders" not in text_of(client.get(ORDERS))
    assert client.get(f"{ORDERS}add/").status_code == 403
    form = {"kind": "verify", "first_slot": "1", "last_slot": "2", "ledger": "on"}
    assert client.post(f"{ORDERS}add/", form).status_code == 403
    for path in ("cancel", "gaps"):
        assert client.post(f"{ORDERS}{row.pk}/{path}/").status_code == 403
    client.post(ORDERS, {"action": "cancel_orders", "_selected_action": [row.pk]})
    assert set(RangeOrder.objects.values_list("state", flat=True)) == {"queued"}
    assert not AuditEntry.objects.filter(subject_type="ingest.rangeorder").exists()


def test_orders_by_get_are_refused(admin_client: Any) -> None:
    row = order()
    for path in ("cancel", "gaps"):
        assert admin_client.get(f"{ORDERS}{row.pk}/{path}/").status_code == 405


def test_a_page_asks_no_more_for_more_orders(
    admin_client: Any, django_assert_max_num_queries: Any
) -> None:
    rows = [order(first=1_000 * n, last=1_000 * n + 9) for n in range(1, 31)]
    Finding.objects.bulk_create(
        Finding(order=rows[0], slot=n, area="ledger", what="node_differs") for n in range(300)
    )
    RangeOrder.objects.filter(pk=rows[0].pk).update(findings=300)
    with django_assert_max_num_queries(8):
        text_of(admin_client.get(ORDERS))
    with django_assert_max_num_queries(10):
        assert "The first 200 of 300" in text_of(admin_client.get(f"{ORDERS}{rows[0].pk}/change/"))
