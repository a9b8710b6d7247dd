"""Archived slots and accounts, for the admin's search."""

from collections.abc import Iterator
from urllib.parse import urlencode

from django.urls import reverse

from historical.transactions.services.recorded_transactions import place_of
from rewind.accounts.services.account_history import account_history
from rewind.models import ArchivedSlot
from rewind.replay.admin.replay_pages import run_page
from staff.find import Hit, Kind, add
from staff.parsing import pubkey_in, signature_in, slot_in


def _slots(text: str) -> Iterator[Hit]:
    slot = slot_in(text)
    if slot is None:
        return
    for found in ArchivedSlot.objects.filter(slot=slot).values_list("slot", flat=True):
        page = reverse("admin:rewind_archivedslot_change", args=[found])
        yield Hit(f"Archived slot {found}", page)


def _accounts(text: str) -> Iterator[Hit]:
    pubkey = pubkey_in(text)
    if pubkey is None:
        return
    found = account_history(pubkey, first=None, last=None, before=None, limit=1)
    if found is not None and found.entries:
        page = reverse("admin:rewind_account_history")
        yield Hit(str(pubkey), f"{page}?{urlencode({'address': str(pubkey)})}", "its history")


def _transactions(text: str) -> Iterator[Hit]:
    signature = signature_in(text)
    place = None if signature is None else place_of(signature)
    if place is not None:
        note = f"slot {place[0]}, index {place[1]}: why, and replay"
        yield Hit(f"Transaction {text[:8]}…", run_page(text), note)


add(
    Kind("Archived slots", "a slot", _slots, "rewind.view_archivedslot"),
    Kind("Accounts", "a pubkey", _accounts, "rewind.view_accountchange"),
    Kind("Transactions", "a signature", _transactions, "rewind.view_replay"),
)
