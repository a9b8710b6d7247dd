"""The ledger of tips, with its sums by day and class."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from solders.signature import Signature
from unfold.paginator import InfinitePaginator

from access.admin.key_names import key_link, with_key_names
from access.admin.newest import NewestFilter
from access.admin.read_only import ReadOnlyAdmin
from staff.formatting import ago, badge, grouped, in_full, shortened
from tipping.admin.addresses import pubkey_in
from tipping.models import TipAddress, TipEntry
from tipping.store.days import days_of_tips

_HUES = {
    TipEntry.Kind.TIP: "good",
    TipEntry.Kind.SWEEP: "quiet",
    TipEntry.Kind.OTHER: "warning",
}
_DAYS = 7


class KindFilter(NewestFilter):
    title = "kind"
    field = parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(kind.value, kind.value) for kind in TipEntry.Kind]


@admin.register(TipEntry)
class TipEntryAdmin(ReadOnlyAdmin):
    list_display = ("name", "address", "what", "amount", "by_key", "slot_number", "recorded")
    list_display_links = ("name",)
    list_filter = (KindFilter,)
    list_per_page = 50
    ordering = ("-slot", "-pk")
    paginator = InfinitePaginator
    show_full_result_count = False
    search_fields = ("signature",)  # looked for in get_search_results
    search_help_text = "A whole signature or address"
    list_before_template = "admin/tipping/tipentry/days.html"
    readonly_fields = (
        *("whole_name", "whole_address", "what", "amount", "by_key", "slot_number", "recorded"),
        "way",
    )
    fieldsets = ((None, {"fields": readonly_fields}),)

    def get_queryset(self, request: HttpRequest) -> QuerySet[TipEntry]:
        queryset: QuerySet[TipEntry] = super().get_queryset(request)
        return with_key_names(queryset)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[TipEntry], search_term: str
    ) -> tuple[QuerySet[TipEntry], bool]:
        text = search_term.strip()
        if not text:
            return queryset, False
        pubkey = pubkey_in(text)
        if pubkey is not None:
            return queryset.filter(pubkey=pubkey), False
        try:
            return queryset.filter(signature=Signature.from_string(text)), False
        except ValueError:
            return queryset.none(), False

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        days, classes = days_of_tips(days=_DAYS)
        extra = {
            "classes": [f"{seconds:,} s" for seconds in classes],
            "days": [
                {
                    "day": day.day,
                    "static": grouped(day.static),
                    "by_class": [grouped(day.by_class.get(each, 0)) for each in classes],
                    "count": grouped(day.tips),
                    "swept": grouped(day.swept),
                }
                for day in days
            ],
            **(extra_context or {}),
        }
        response: HttpResponse = super().changelist_view(request, extra)
        return response

    # --- what is shown ---

    @admin.display(description="transaction")
    def name(self, entry: TipEntry) -> SafeString:
        return shortened(str(entry.signature))

    @admin.display(description="signature")
    def whole_name(self, entry: TipEntry) -> SafeString:
        return in_full(entry.signature)

    @admin.display(description="address")
    def address(self, entry: TipEntry) -> SafeString:
        hint = " (static)" if entry.is_static else ""
        return format_html("{}{}", shortened(str(entry.pubkey)), hint)

    @admin.display(description="address")
    def whole_address(self, entry: TipEntry) -> SafeString:
        text = in_full(entry.pubkey)
        if not TipAddress.objects.filter(pk=entry.pubkey).exists():
            return text
        link = reverse("admin:tipping_tipaddress_change", args=[str(entry.pubkey)])
        return format_html('<a class="tm-link" href="{}">{}</a>', link, text)

    @admin.display(description="kind")
    def what(self, entry: TipEntry) -> SafeString:
        return badge(entry.kind, _HUES[TipEntry.Kind(entry.kind)])

    @admin.display(description="its way")
    def way(self, entry: TipEntry) -> SafeString | str:
        if entry.key is None and entry.kind != TipEntry.Kind.SWEEP:
            return "not by a key of ours"
        link = reverse("admin:priority_submission_changelist")
        return format_html(
            '<a class="tm-link" href="{}?q={}">show the submission</a>', link, entry.signature
        )

    @admin.display(description="lamports")
    def amount(self, entry: TipEntry) -> str:
        return f"{entry.lamports:+,}"

    @admin.display(description="key")
    def by_key(self, entry: TipEntry) -> SafeString | str:
        return key_link(entry)

    @admin.display(description="slot", ordering="slot")
    def slot_number(self, entry: TipEntry) -> str:
        return str(entry.slot)

    @admin.display(description="recorded")
    def recorded(self, entry: TipEntry) -> SafeString | str:
        return ago(entry.recorded_at)
