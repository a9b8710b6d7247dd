"""Archived slots, gaps and baselines, to look at."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.paginator import InfinitePaginator

from access.admin.read_only import ReadOnlyAdmin, slot_in
from chain.blocks import Granularity
from historical.admin.gaps import GapAdmin
from rewind.models import ArchivedSlot, Baseline, Gap
from rewind.services import gaps
from staff.formatting import ago, badge, grouped


@admin.register(ArchivedSlot)
class ArchivedSlotAdmin(ReadOnlyAdmin):
    list_display = (
        "slot_number",
        "short_hash",
        "parent",
        "written",
        "detail",
        "source",
        "recorded",
    )
    list_display_links = ("slot_number",)
    list_per_page = 50
    # A count of all slots would scan an index of millions; the page of coverage has the number.
    paginator = InfinitePaginator
    show_full_result_count = False
    search_fields = ("slot",)  # looked for in get_search_results
    search_help_text = "A slot"
    readonly_fields = ("slot_number", "hash", "parent", "written", "detail", "source", "recorded")
    fieldsets = ((None, {"fields": readonly_fields}),)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[ArchivedSlot], search_term: str
    ) -> tuple[QuerySet[ArchivedSlot], bool]:
        if not search_term.strip():
            return queryset, False
        slot = slot_in(search_term.strip())
        return (queryset.none() if slot is None else queryset.filter(slot=slot)), False

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> Any:
        if slot_in(object_id) is None:
            return None
        return super().get_object(request, object_id, from_field)

    @admin.display(description="slot", ordering="slot")
    def slot_number(self, archived: ArchivedSlot) -> str:
        return str(archived.slot)

    @admin.display(description="blockhash")
    def short_hash(self, archived: ArchivedSlot) -> SafeString:
        text = str(archived.blockhash)
        return format_html('<code title="{}">{}…{}</code>', text, text[:8], text[-4:])

    @admin.display(description="blockhash")
    def hash(self, archived: ArchivedSlot) -> SafeString:
        return format_html('<code class="tm-break">{}</code>', archived.blockhash)

    @admin.display(description="parent slot")
    def parent(self, archived: ArchivedSlot) -> str:
        return str(archived.parent_slot)

    @admin.display(description="changes")
    def written(self, archived: ArchivedSlot) -> str:
        return grouped(archived.changes)

    @admin.display(description="holds")
    def detail(self, archived: ArchivedSlot) -> SafeString:
        if archived.granularity == Granularity.WRITE:
            return badge("every write", "good")
        told = "At least the last write of each account; earlier ones of the slot may be missing"
        return badge("last writes", "warning", told)

    @admin.display(description="recorded", ordering="recorded_at")
    def recorded(self, archived: ArchivedSlot) -> SafeString | str:
        return ago(archived.recorded_at)


@admin.register(Gap)
class ArchiveGapAdmin(GapAdmin):
    services = gaps
    area = "archive"


@admin.register(Baseline)
class BaselineAdmin(ReadOnlyAdmin):
    list_display = ("slot_number", "source", "number", "recorded")
    list_display_links = ("slot_number",)
    readonly_fields = ("slot_number", "source", "number", "recorded")
    fieldsets = ((None, {"fields": readonly_fields}),)

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changes = super().get_changelist_instance(request)
        changes.why_nothing = (
            "A baseline is every account of a snapshot, so that an account is known that was not"
            " written since. On the server: manage.py import_snapshot FILE"
        )
        return changes

    @admin.display(description="slot", ordering="slot")
    def slot_number(self, baseline: Baseline) -> str:
        return str(baseline.slot)

    @admin.display(description="accounts", ordering="accounts")
    def number(self, baseline: Baseline) -> str:
        return grouped(baseline.accounts)

    @admin.display(description="recorded", ordering="recorded_at")
    def recorded(self, baseline: Baseline) -> SafeString | str:
        return ago(baseline.recorded_at)
