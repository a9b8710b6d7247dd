"""Submissions with their attempts and outcomes, read-only."""

import json
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from access.admin.key_names import key_link, with_key_names
from chain.shown_text import escaped
from priority.fates.admin import lookup
from priority.fates.admin.fate_timeline import fate_of
from priority.fates.admin.fates import slots_after, state_label
from priority.fates.admin.list_filters import (
    CustomerFilter,
    KeyFilter,
    KindFilter,
    SinceFilter,
    StateFilter,
    TierFilter,
    UpstreamFilter,
)
from priority.fates.admin.lookup import fate_page
from priority.models import CoSubmitter, Submission
from priority.reports.admin.comparing import compare_page
from priority.reports.admin.landing import landing_page
from staff.columns import column
from staff.formatting import (
    after,
    ago,
    counted,
    grouped,
    in_full,
    lamports,
    link,
    shortened,
    timed,
    utc,
)
from staff.own_pages import OwnPage, PagesAdmin
from staff.read_only import LongListAdmin
from tipping.services.expiries import expiry_of


@admin.register(Submission)
class SubmissionAdmin(PagesAdmin, LongListAdmin):
    list_display = (
        "name",
        "standing",
        "by_key",
        "tip",
        "landed_in",
        "latency",
        "attempts_made",
        "came",
    )
    list_filter = (
        StateFilter,
        SinceFilter,
        KindFilter,
        TierFilter,
        UpstreamFilter,
        KeyFilter,
        CustomerFilter,
    )
    search_fields = ("signature",)  # by `condition`
    search_help_text = (
        "A signature or at least its first 6 characters, a whole bundle id, tip address or"
        " request id"
    )
    own_pages = (
        OwnPage("landing/", "priority_landing", landing_page),
        OwnPage("fate/", "priority_fate", fate_page),
        OwnPage("compare/", "priority_compare", compare_page),
    )
    change_form_outer_before_template = "admin/priority/submission/fate.html"
    fieldsets = (
        (None, {"fields": ("whole_name", "error", "sending", "known_to_fail")}),
        (
            "Sender and options",
            {
                "fields": (
                    "by_key",
                    "also_by",
                    "tier",
                    "what",
                    "chosen",
                    "retries",
                    "edge",
                    "request_number",
                )
            },
        ),
        ("Tip", {"fields": ("tip", "tip_goes_to", "tip_stands_in")}),
        ("Times", {"fields": ("accepted", "sent", "seen", "settled", "good_until", "hash")}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Submission]:
        queryset: QuerySet[Submission] = super().get_queryset(request)
        return with_key_names(queryset).select_related("bundle")

    def condition(self, text: str) -> Q | None:
        return lookup.condition(text)

    def beside_fields(self, request: HttpRequest, row: Submission) -> dict[str, Any]:
        return fate_of(row, now=timezone.now())

    # --- what is shown ---

    name = column("transaction", lambda row: shortened(row.signature))
    whole_name = column("signature", lambda row: in_full(row.signature))
    standing = column("state", state_label)
    sending = column(
        "sending", lambda row: f"stopped: {row.stopped}" if row.stopped else "as usual"
    )
    known_to_fail = column("known to fail", lambda row: row.will_fail or "no")
    error = column(
        "error", lambda row: "none" if row.err is None else in_full(escaped(json.dumps(row.err)))
    )
    by_key = column("key", key_link)

    @admin.display(description="also submitted by")
    def also_by(self, row: Submission) -> SafeString | str:
        others = CoSubmitter.objects.filter(name=bytes(row.signature)).exclude(key=row.key_id)
        links = [(key_link(each),) for each in with_key_names(others).order_by("pk")]
        return format_html_join(", ", "{}", links) or "-"

    @admin.display(description="kind")
    def what(self, row: Submission) -> SafeString | str:
        label = Submission.Kind(row.kind).label
        if row.bundle is None:
            return str(label)
        bundle = link(shortened(row.bundle.bundle_id), "priority_bundle_change", row.bundle.pk)
        place = "" if row.bundle_index is None else f", number {row.bundle_index + 1}"
        return format_html("{}: {}{}", label, bundle, place)

    tip = column("tip (lamports)", lambda row: lamports(row.tip_lamports))

    @admin.display(description="to")
    def tip_goes_to(self, row: Submission) -> SafeString | str:
        if row.tip_address is None:
            return "-"
        text = in_full(row.tip_address)
        if expiry_of(bytes(row.tip_address)) is None:
            return text  # a static one: it has no page
        return link(text, "tipping_tipaddress_change", str(row.tip_address))

    tip_stands_in = column("instruction", lambda row: grouped(row.tip_instruction_index))
    landed_in = column("slot", lambda row: "-" if row.slot is None else str(row.slot))
    latency = column("slots to land", lambda row: grouped(slots_after(row)))
    attempts_made = column("attempts", lambda row: grouped(row.tries))
    chosen = column("chosen upstreams", lambda row: ", ".join(row.only) or "all of the tier")

    @admin.display(description="retries")
    def retries(self, row: Submission) -> str:
        most = "until it lands or expires" if row.max_retries is None else f"{row.max_retries:,}"
        return f"{counted(row.tries, 'round')} made; retries asked for: {most}"

    request_number = column(
        "request id", lambda row: in_full(row.request_id) if row.request_id else "-"
    )
    came = column("accepted", lambda row: ago(row.accepted_at), "accepted_at")

    @admin.display(description="accepted")
    def accepted(self, row: Submission) -> SafeString:
        slot = "" if row.accepted_slot is None else f", slot {row.accepted_slot}"
        return timed(utc(row.accepted_at, seconds=True) + slot)

    sent = column("sent first", lambda row: _after(row.sent_at, row.accepted_at))
    seen = column("seen in a block", lambda row: _after(row.seen_at, row.accepted_at))
    settled = column("settled", lambda row: _after(row.settled_at, row.accepted_at))

    @admin.display(description="valid until")
    def good_until(self, row: Submission) -> str:
        if row.is_nonced:
            nonce = "" if row.nonce is None else f" {row.nonce}"
            return f"its durable nonce{nonce} is used: it does not expire"
        height = row.last_valid_block_height
        return "unknown" if height is None else f"block height {height}"

    hash = column("blockhash", lambda row: in_full(row.blockhash))


def _after(at: datetime | None, start: datetime) -> str:
    if at is None:
        return "not yet"
    return timed(f"{utc(at, seconds=True)}, {after((at - start).total_seconds())}")
