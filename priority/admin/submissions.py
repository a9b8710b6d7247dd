"""Submissions, their tries and fates, to look at."""

import json
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.paginator import InfinitePaginator

from access.admin.key_names import key_link, with_key_names
from access.admin.read_only import ReadOnlyAdmin
from priority.admin.fate_timeline import fate_of, span
from priority.admin.fates import slots_after, state_word
from priority.admin.landing import landing_page
from priority.admin.list_filters import (
    CustomerFilter,
    KeyFilter,
    KindFilter,
    SinceFilter,
    TierFilter,
    UpstreamFilter,
)
from priority.admin.looking_up import fate_page, found
from priority.admin.states import StateFilter
from priority.models import Submission
from staff.formatting import ago, grouped, in_full, shortened, utc
from tipping.services.standing import expiry_of


@admin.register(Submission)
class SubmissionAdmin(ReadOnlyAdmin):
    list_display = (
        "name",
        "standing",
        "by_key",
        "tip",
        "landed_in",
        "latency",
        "tries_made",
        "came",
    )
    list_display_links = ("name",)
    list_filter = (
        *(StateFilter, SinceFilter, KindFilter, TierFilter, UpstreamFilter),
        *(KeyFilter, CustomerFilter),
    )
    list_per_page = 50
    # A count of all would scan an index of millions.
    paginator = InfinitePaginator
    show_full_result_count = False
    search_fields = ("signature",)  # looked for in get_search_results
    search_help_text = "A whole signature, bundle id, tip address or request id"
    change_form_outer_before_template = "admin/priority/submission/fate.html"
    fieldsets = (
        (None, {"fields": ("whole_name", "error")}),
        (
            "Who sent it, and how",
            {"fields": ("by_key", "tier", "what", "chosen", "retries", "edge", "request_number")},
        ),
        ("Tip", {"fields": ("tip", "tip_goes_to", "tip_stands_in")}),
        (
            "Times",
            {"fields": ("accepted", "sent", "seen", "settled", "good_until", "hash")},
        ),
    )
    readonly_fields = tuple(name for _, fields in fieldsets for name in fields["fields"])

    def get_urls(self) -> list[URLPattern]:
        landing = path(
            "landing/", self.admin_site.admin_view(self.landing), name="priority_landing"
        )
        fate = path("fate/", self.admin_site.admin_view(self.fate_of_one), name="priority_fate")
        return [landing, fate, *super().get_urls()]

    def landing(self, request: HttpRequest) -> HttpResponse:
        """The page of counts over all of them."""
        return landing_page(self, request)

    def fate_of_one(self, request: HttpRequest) -> HttpResponse:
        """The page that looks for one of them."""
        return fate_page(self, request)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Submission]:
        queryset: QuerySet[Submission] = super().get_queryset(request)
        return with_key_names(queryset).select_related("bundle")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Submission], search_term: str
    ) -> tuple[QuerySet[Submission], bool]:
        text = search_term.strip()
        if not text:
            return queryset, False
        return found(queryset, text), False

    def beside_fields(self, request: HttpRequest, object_id: str) -> dict[str, Any]:
        submission = self.get_object(request, object_id)
        return {} if submission is None else fate_of(submission, now=timezone.now())

    # --- what is shown ---

    @admin.display(description="transaction")
    def name(self, row: Submission) -> SafeString:
        return shortened(str(row.signature))

    @admin.display(description="signature")
    def whole_name(self, row: Submission) -> SafeString:
        return in_full(row.signature)

    @admin.display(description="state")
    def standing(self, row: Submission) -> SafeString:
        return state_word(row)

    @admin.display(description="error")
    def error(self, row: Submission) -> SafeString | str:
        return "none" if row.err is None else in_full(json.dumps(row.err))

    @admin.display(description="key")
    def by_key(self, row: Submission) -> SafeString | str:
        return key_link(row)

    @admin.display(description="kind")
    def what(self, row: Submission) -> SafeString | str:
        label = Submission.Kind(row.kind).label
        if row.bundle is None:
            return str(label)
        link = reverse("admin:priority_bundle_change", args=[row.bundle.pk])
        place = "" if row.bundle_index is None else f", number {row.bundle_index + 1}"
        return format_html(
            '{}: <a class="tm-link" href="{}">{}</a>{}',
            label,
            link,
            shortened(row.bundle.bundle_id),
            place,
        )

    @admin.display(description="tip (lamports)")
    def tip(self, row: Submission) -> str:
        return grouped(row.tip_lamports)

    @admin.display(description="to")
    def tip_goes_to(self, row: Submission) -> SafeString | str:
        if row.tip_address is None:
            return "-"
        text = in_full(row.tip_address)
        if expiry_of(bytes(row.tip_address)) is None:
            return text  # a static one: it has no page
        link = reverse("admin:tipping_tipaddress_change", args=[str(row.tip_address)])
        return format_html('<a class="tm-link" href="{}">{}</a>', link, text)

    @admin.display(description="instruction")
    def tip_stands_in(self, row: Submission) -> str:
        return grouped(row.tip_instruction_index)

    @admin.display(description="slot")
    def landed_in(self, row: Submission) -> str:
        return "-" if row.slot is None else str(row.slot)

    @admin.display(description="slots to land")
    def latency(self, row: Submission) -> str:
        return grouped(slots_after(row))

    @admin.display(description="tries")
    def tries_made(self, row: Submission) -> str:
        return grouped(row.tries)

    @admin.display(description="chosen upstreams")
    def chosen(self, row: Submission) -> str:
        return ", ".join(row.only) or "all of the tier"

    @admin.display(description="retries")
    def retries(self, row: Submission) -> str:
        most = "until it lands or expires" if row.max_retries is None else f"{row.max_retries:,}"
        noun = "round" if row.tries == 1 else "rounds"
        return f"{row.tries:,} {noun} made; retries asked for: {most}"

    @admin.display(description="request id")
    def request_number(self, row: Submission) -> SafeString | str:
        return in_full(row.request_id) if row.request_id else "-"

    @admin.display(description="accepted", ordering="accepted_at")
    def came(self, row: Submission) -> SafeString | str:
        return ago(row.accepted_at)

    @admin.display(description="accepted")
    def accepted(self, row: Submission) -> str:
        slot = "" if row.accepted_slot is None else f", slot {row.accepted_slot}"
        return utc(row.accepted_at, seconds=True) + slot

    @admin.display(description="sent first")
    def sent(self, row: Submission) -> str:
        return _after(row.sent_at, row.accepted_at)

    @admin.display(description="seen in a block")
    def seen(self, row: Submission) -> str:
        return _after(row.seen_at, row.accepted_at)

    @admin.display(description="settled")
    def settled(self, row: Submission) -> str:
        return _after(row.settled_at, row.accepted_at)

    @admin.display(description="may land until")
    def good_until(self, row: Submission) -> str:
        if row.is_nonced:
            return "its durable nonce is used: no block height ends it"
        height = row.last_valid_block_height
        return "not known" if height is None else f"block height {height}"

    @admin.display(description="blockhash")
    def hash(self, row: Submission) -> SafeString:
        return in_full(row.blockhash)


def _after(at: datetime | None, start: datetime) -> str:
    if at is None:
        return "not yet"
    return f"{utc(at, seconds=True)}, {span(at, start)}"
