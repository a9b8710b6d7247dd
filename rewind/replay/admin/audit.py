"""Pages of the replay audit: its rates by day and program, and the divergences."""

from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta
from typing import Any, ClassVar

from django.conf import settings
from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from solders.pubkey import Pubkey

from gaps.admin import in_words
from historical.models import Block
from rewind.accounts.admin import history_link
from rewind.coverage.admin.shares import percent_of
from rewind.replay.admin.divergences import differences_of
from rewind.replay.models import AuditedDay, Divergence
from rewind.replay.services import audit
from rewind.replay.services.audit_overview import Day, audit_overview
from rewind.replay.store.audits import Count
from staff.charts import Chart, Series
from staff.columns import column
from staff.filters import choice_filter
from staff.formatting import ago, badge, counted, grouped, in_full, link, shortened, utc
from staff.own_pages import PagesAdmin
from staff.parsing import signature_in, slot_in
from staff.read_only import OnePageAdmin, ReadOnlyAdmin

# A replay takes some milliseconds, or as long as a simulation may: the page waits for all.
_REPLAYED_AT_ONCE = 25
_NATIVE = {str(Pubkey(bytes(32))): "System"}


@admin.register(AuditedDay)
class AuditAdmin(OnePageAdmin):
    """All days are shown on one page; the audit writes the rows."""

    def one_page(self, request: HttpRequest) -> HttpResponse:
        found = audit_overview(now=timezone.now())
        context = {
            "title": "Replay audit",
            "audit": found,
            "permille": settings.REPLAY_AUDIT_PERMILLE,
            "share": f"{settings.REPLAY_AUDIT_PERMILLE / 10:g}%",
            "rates": {"today": rate(found.today.count), "all": rate(found.total)},
            "chart": chart_of_days(found.days),
            "programs": [
                (program, _NATIVE.get(str(program), ""), rate(count), count)
                for program, count in found.programs
            ],
            "reasons": [(in_words(reason), times) for reason, times in found.reasons],
            "may_see_divergences": request.user.has_perm("rewind.view_divergence"),
        }
        return self.page(request, "admin/rewind/auditedday/audit.html", context)


def rate(count: Count) -> str:
    """The share of replays that match the chain."""
    if not count.replayed:
        return "-"
    return percent_of(100 * count.verified / count.replayed)


def fields_of(entry: Divergence) -> str:
    return ", ".join(entry.fields)


_COUNTS: tuple[tuple[str, str, Callable[[Day], int]], ...] = (
    ("ok", "match the chain", lambda day: day.count.verified),
    ("errors", "diverge", lambda day: day.count.diverged),
    ("idle", "not replayed", lambda day: day.count.unverified),
)


def chart_of_days(days: list[Day]) -> Chart:
    """Begins at the first day with a replay, or a slot that was passed over."""
    first = next((n for n, day in enumerate(days) if day.count != Count() or day.passed_over), 0)
    days = days[first:]
    series = [
        Series(name, label, list(map(count, days)), shown=grouped(sum(map(count, days))))
        for name, label, count in _COUNTS
    ]
    note = f"No replays in the days before {days[0].day}: the chart begins there." if first else ""
    passed = [f"{day.passed_over:,} on {day.day}" for day in days if day.passed_over]
    if passed:
        note = f"{note} Slots passed over: {', '.join(passed)}.".strip()
    return Chart(
        title="Replays by day",
        starts=[datetime.combine(day.day, time(), UTC) for day in days],
        step=timedelta(days=1),
        series=series,
        note=note,
    )


OpenFilter = choice_filter(
    "state",
    "state",
    {
        "open": ("open", Q(resolved_at__isnull=True)),
        "resolved": ("resolved", Q(resolved_at__isnull=False)),
    },
)


@admin.register(Divergence)
class DivergenceAdmin(PagesAdmin, ReadOnlyAdmin):
    list_display = ("transaction", "place", "differs", "outcome", "found", "tried")
    list_filter = (OpenFilter,)
    ordering = ("-found_at", "-pk")
    search_fields = ("slot",)  # by `condition`
    search_help_text = "A slot or a transaction's signature"
    actions = ["replay_again", "dismiss"]
    row_buttons: ClassVar = {"replay": "replay_again"}
    change_form_outer_after_template = "admin/rewind/divergence/differences.html"
    fields = ("whole_signature", "block", "called", "outcome", "found", "tried")

    def beside_fields(self, request: HttpRequest, row: Divergence) -> dict[str, Any]:
        return {
            "differences": differences_of(row.differences),
            "may_replay": self.has_act_permission(request),
        }

    # --- actions ---

    @admin.action(description="Replay again", permissions=["act"])
    def replay_again(self, request: HttpRequest, queryset: QuerySet[Divergence]) -> None:
        chosen = list(queryset.values_list("pk", flat=True)[: _REPLAYED_AT_ONCE + 1])
        for pk in chosen[:_REPLAYED_AT_ONCE]:
            self._replay(request, pk)
        if len(chosen) > _REPLAYED_AT_ONCE:
            messages.warning(request, f"The first {_REPLAYED_AT_ONCE} were replayed.")

    @admin.action(description="Dismiss", permissions=["act"])
    def dismiss(self, request: HttpRequest, queryset: QuerySet[Divergence]) -> None:
        chosen = list(queryset.values_list("pk", flat=True))
        dismissed = audit.dismiss(chosen, now=timezone.now())
        messages.success(request, f"{counted(dismissed, 'divergence')} dismissed.")

    def _replay(self, request: HttpRequest, pk: int) -> None:
        signature = Divergence.objects.values_list("signature", flat=True).get(pk=pk)
        verdict = audit.replay_again(pk, now=timezone.now())
        named = f"Transaction {str(signature)[:8]}…"
        if verdict is None:
            messages.warning(request, f"{named} is no longer in the ledger.")
        elif verdict.status == "verified":
            messages.success(request, f"{named} now matches the chain.")
        elif verdict.status == "diverged":
            messages.error(request, f"{named} still diverges from the chain.")
        else:
            why = in_words(verdict.reason or "")
            messages.warning(request, f"{named} could not be replayed: {why}.")

    # --- finding ---

    def condition(self, text: str) -> Q | None:
        slot, signature = slot_in(text), signature_in(text)
        if slot is not None:
            return Q(slot=slot)
        return None if signature is None else Q(signature=signature)

    # --- what is shown ---

    transaction = column("transaction", lambda row: shortened(row.signature), "signature")
    whole_signature = column("signature", lambda row: in_full(row.signature))
    place = column("slot", lambda row: str(row.slot), "slot")

    @admin.display(description="slot")
    def block(self, entry: Divergence) -> SafeString:
        links = [link("in the archive", "rewind_archivedslot_change", entry.slot)]
        if Block.objects.filter(pk=entry.slot).exists():
            links.append(link("in the ledger", "historical_block_change", entry.slot))
        pages = format_html_join(", ", "{}", ((each,) for each in links))
        return format_html("{}, transaction {}: {}", entry.slot, entry.position, pages)

    @admin.display(description="programs called")
    def called(self, entry: Divergence) -> SafeString | str:
        lines = ((history_link(program),) for program in entry.programs)
        return format_html_join("", "<div>{}</div>", lines) or "none"

    differs = column("differs", fields_of)

    @admin.display(description="state", ordering="resolved_at")
    def outcome(self, entry: Divergence) -> SafeString:
        if entry.resolved_at is not None and entry.reason == audit.DISMISSED:
            return badge("dismissed", "quiet", utc(entry.resolved_at))
        if entry.resolved_at is not None:
            return badge("resolved", "good", utc(entry.resolved_at))
        hint = f"the last replay had no result: {in_words(entry.reason)}" if entry.reason else ""
        return badge("open", "bad", hint)

    found = column("found", lambda row: ago(row.found_at), "found_at")
    tried = column("last replay", lambda row: ago(row.tried_at), "tried_at")
