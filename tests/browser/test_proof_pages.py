"""The pages of the proof in a real browser: a refuted slot, from the map to an order."""

from collections.abc import Callable

import pytest
from django.utils import timezone

from ingest.models import Finding, RangeOrder
from rewind.proof.services import proving
from rewind.recording.services.recording import record_slots
from tests.browser.conftest import Watched
from tests.browser.looking import barriers
from tests.rewind.proved_chains import with_writes
from tests.rewind.test_running_proof import proven, small

pytestmark = pytest.mark.soak


def test_from_the_map_to_a_search(watched: Callable[[], Watched]) -> None:
    visitor = watched()
    made = small(7)
    true = made.records[3]
    faulty = with_writes(true, (true.account_writes or [])[:-1])
    proving.forget()
    record_slots(
        [*made.records[:3], faulty, *made.records[4:]], source="stream", now=timezone.now()
    )
    assert proven()["refuted"] == [(3, 3, "votes_differ")]
    visitor.sign_in()
    page = visitor.page
    for path in ("", "epoch/", "slots/"):
        visitor.open(f"/admin/rewind/slottally/{path}")
        assert not barriers(page)
    page.click("a[title='Slot 3: refuted']")
    page.wait_for_selector("text=The bank of slot 3")
    assert not barriers(page)
    page.click("text=Search the accounts that differ")
    page.wait_for_selector("#id_first_slot")
    assert page.input_value("#id_first_slot") == page.input_value("#id_last_slot") == "3"
    assert not barriers(page)
    page.click("button[name=_save], input[name=_save]")
    page.wait_for_selector("text=The order is created")
    order = RangeOrder.objects.get()
    assert (order.kind, order.source, order.ledger) == ("locate", "stream", False)
    order.state = RangeOrder.State.DONE
    order.findings = 1
    order.save()
    Finding.objects.create(order=order, slot=3, area="archive", what="refuted_account", detail="x")
    visitor.open(f"/admin/ingest/rangeorder/{order.pk}/change/")
    page.wait_for_selector("text=Open gaps for these slots")
    assert not barriers(page)
    assert visitor.problems == []
