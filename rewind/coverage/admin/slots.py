"""Archived slots with the accounts' histories, gaps, and baselines: read-only."""

from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils.safestring import SafeString

from chain.blocks import Granularity
from gaps.admin import GapAdmin
from rewind.accounts import admin as account_history
from rewind.baselines.models import Baseline
from rewind.coverage.services.gaps import archive_gaps
from rewind.models import ArchivedSlot, Gap
from staff.columns import column
from staff.formatting import ago, badge, grouped, in_full, shortened
from staff.own_pages import PagesAdmin
from staff.parsing import slot_in
from staff.read_only import LongListAdmin


@admin.register(ArchivedSlot)
class ArchivedSlotAdmin(PagesAdmin, LongListAdmin):
    own_pages = account_history.PAGES
    list_display = (
        "slot_number",
        "short_hash",
        "parent",
        "written",
        "detail",
        "source",
        "recorded",
    )
    search_fields = ("slot",)  # by `condition`
    search_help_text = "A slot"
    fields = ("slot_number", "hash", "parent", "written", "detail", "source", "recorded")

    def condition(self, text: str) -> Q | None:
        slot = slot_in(text)
        return None if slot is None else Q(slot=slot)

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> Any:
        if slot_in(object_id) is None:
            return None
        return super().get_object(request, object_id, from_field)

    slot_number = column("slot", lambda row: str(row.slot), "slot")
    short_hash = column("blockhash", lambda row: shortened(row.blockhash))
    hash = column("blockhash", lambda row: in_full(row.blockhash))
    parent = column("parent slot", lambda row: str(row.parent_slot))
    written = column("changes", lambda row: grouped(row.changes))

    @admin.display(description="holds")
    def detail(self, archived: ArchivedSlot) -> SafeString:
        if archived.granularity == Granularity.WRITE:
            return badge("every write", "good")
        hint = "At least the last write of each account; earlier ones of the slot may be missing"
        return badge("last writes", "warning", hint)

    recorded = column("recorded", lambda row: ago(row.recorded_at), "recorded_at")


@admin.register(Gap)
class ArchiveGapAdmin(GapAdmin):
    gaps = archive_gaps
    area = "archive"


@admin.register(Baseline)
class BaselineAdmin(LongListAdmin):
    list_display = ("slot_number", "source", "number", "proof", "recorded")
    fields = ("slot_number", "source", "number", "proof", "base", "bank", "recorded")
    why_nothing = (
        "A baseline is every account of a snapshot, so that an account is known that was not"
        " written since. On the server: manage.py import_snapshot FILE"
    )

    slot_number = column("slot", lambda row: str(row.slot), "slot")
    number = column("accounts", lambda row: grouped(row.accounts), "accounts")
    base = column("base", lambda row: "none" if row.base_slot is None else str(row.base_slot))
    bank = column(
        "bank hash", lambda row: "none" if row.bank_hash is None else in_full(row.bank_hash)
    )

    @admin.display(description="accounts are all of the chain", ordering="proven")
    def proof(self, baseline: Baseline) -> SafeString:
        if baseline.proven:
            return badge("proven", "good", "They make the hash that the snapshot declares")
        return badge("unproven", "warning", baseline.why_unproven)

    recorded = column("recorded", lambda row: ago(row.recorded_at), "recorded_at")
