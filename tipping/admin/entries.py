"""The ledger of tips, with its sums by day and class."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from access.admin.key_names import key_link, with_key_names
from staff.columns import column
from staff.filters import value_filter
from staff.formatting import ago, badge, in_full, lamports, link, shortened
from staff.parsing import pubkey_in, signature_in
from staff.read_only import LongListAdmin
from tipping.models import TipAddress, TipEntry
from tipping.store.days import days_of_tips

_HUES = {TipEntry.Kind.TIP: "good", TipEntry.Kind.SWEEP: "quiet", TipEntry.Kind.OTHER: "warning"}
_DAYS = 7


_KINDS = [(kind.value, kind.value) for kind in TipEntry.Kind]


@admin.register(TipEntry)
class TipEntryAdmin(LongListAdmin):
    list_display = ("name", "address", "what", "amount", "by_key", "slot_number", "recorded")
    list_filter = (value_filter("kind", "kind", lambda: _KINDS, newest=True),)
    ordering = ("-slot", "-pk")
    search_fields = ("signature",)  # by `condition`
    search_help_text = "A whole signature or address"
    list_before_template = "admin/tipping/tipentry/days.html"
    fields = (
        "whole_name",
        "whole_address",
        "what",
        "amount",
        "by_key",
        "slot_number",
        "recorded",
        "submission",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[TipEntry]:
        queryset: QuerySet[TipEntry] = super().get_queryset(request)
        return with_key_names(queryset)

    def condition(self, text: str) -> Q | None:
        pubkey, signature = pubkey_in(text), signature_in(text)
        if pubkey is not None:
            return Q(pubkey=pubkey)
        return None if signature is None else Q(signature=signature)

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        days, classes = days_of_tips(days=_DAYS)
        return {"days": days, "classes": classes}

    # --- what is shown ---

    name = column("transaction", lambda row: shortened(row.signature))
    whole_name = column("signature", lambda row: in_full(row.signature))

    @admin.display(description="address")
    def address(self, entry: TipEntry) -> SafeString:
        hint = " (static)" if entry.is_static else ""
        return format_html("{}{}", shortened(str(entry.pubkey)), hint)

    @admin.display(description="address")
    def whole_address(self, entry: TipEntry) -> SafeString:
        text = in_full(entry.pubkey)
        if not TipAddress.objects.filter(pk=entry.pubkey).exists():
            return text
        return link(text, "tipping_tipaddress_change", str(entry.pubkey))

    what = column("kind", lambda row: badge(row.kind, _HUES[TipEntry.Kind(row.kind)]))
    submission = column(
        "submission",
        lambda row: (
            "not sent with a key of this service"
            if row.key is None and row.kind != TipEntry.Kind.SWEEP
            else link("show the submission", "priority_submission_changelist", q=row.signature)
        ),
    )
    amount = column("lamports", lambda row: lamports(row.lamports, signed=True))
    by_key = column("key", key_link)
    slot_number = column("slot", lambda row: str(row.slot), "slot")
    recorded = column("recorded", lambda row: ago(row.recorded_at))
