"""The pages of the replay audit: its rate by day and program, and what ended otherwise."""

import json
from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
)
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from solders.pubkey import Pubkey
from solders.signature import Signature

from access.admin.charts import Bar, Chart
from access.admin.read_only import ReadOnlyAdmin, slot_in
from historical.admin.gaps import in_words
from historical.models import Block
from rewind.admin.shares import percent_of
from rewind.models import AuditedDay, Divergence
from rewind.services import audit
from rewind.services.audit_overview import AuditOverview, Day, audit_overview
from rewind.store.audits import Count
from staff.formatting import ago, badge, grouped, utc

# A replay takes some milliseconds, or as long as a simulation may: the page waits for all.
_REPLAYED_AT_ONCE = 25
_NATIVE = {str(Pubkey(bytes(32))): "System"}


@admin.register(AuditedDay)
class AuditAdmin(ReadOnlyAdmin):
    """Days are counted by the audit; they are shown as one page alone."""

    def change_view(self, *_args: Any, **_kwargs: Any) -> HttpResponse:
        raise PermissionDenied

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        context = {
            **self.admin_site.each_context(request),
            "title": "Replay audit",
            "audit": _shown(audit_overview(now=timezone.now())),
            "may_see_divergences": request.user.has_perm("rewind.view_divergence"),
            **(extra_context or {}),
        }
        return TemplateResponse(request, "admin/rewind/auditedday/audit.html", context)


def _shown(found: AuditOverview) -> dict[str, Any]:
    now = timezone.now()
    today = found.today.count
    return {
        "permille": settings.REPLAY_AUDIT_PERMILLE,
        "share": f"{settings.REPLAY_AUDIT_PERMILLE / 10:g}%",
        "began": found.audited_to is not None,
        "audited_to": found.audited_to,
        "behind": grouped(found.slots_behind),
        "today": {
            "rate": rate(today),
            "verified": grouped(today.verified),
            "diverged": grouped(today.diverged),
            "unverified": grouped(today.unverified),
        },
        "rate": rate(found.total),
        "verified": grouped(found.total.verified),
        "diverged": grouped(found.total.diverged),
        "unverified": grouped(found.total.unverified),
        "passed_over": grouped(found.passed_over) if found.passed_over else "",
        "chart": chart_of_days(found.days),
        "programs": [
            {
                "program": str(program),
                "name": _NATIVE.get(str(program), ""),
                "rate": rate(count),
                "replayed": grouped(count.replayed),
                "diverged": grouped(count.diverged) if count.diverged else "",
                "unverified": grouped(count.unverified) if count.unverified else "",
            }
            for program, count in found.programs
        ],
        "more_programs": found.more_programs,
        "reasons": [(in_words(reason), grouped(times)) for reason, times in found.reasons],
        "open": found.open,
        "open_count": grouped(found.open),
        "divergences": [
            {
                "entry": entry,
                "signature": str(entry.signature),
                "fields": fields_of(entry),
                "programs": [str(program) for program in entry.programs[:2]],
                "found": ago(entry.found_at, now),
            }
            for entry in found.newest
        ],
        "more": found.open > len(found.newest),
    }


def rate(count: Count) -> str:
    """How many of the replays ended as the chain says."""
    if not count.replayed:
        return "-"
    return percent_of(100 * count.verified / count.replayed)


def fields_of(entry: Divergence) -> str:
    return ", ".join(entry.fields)


def chart_of_days(days: list[Day]) -> Chart:
    top = max(1, *(day.count.replayed for day in days))
    labels = [days[round((len(days) - 1) * part / 4)].day for part in range(5)]
    return Chart(
        width=10 * len(days),
        bars=[_bar(number, day, top) for number, day in enumerate(days)],
        scale=[f"{top:,}", f"{top / 2:,.0f}" if top > 1 else "", "0"],
        times=[f"{each:%b} {each.day}" for each in labels],
    )


def _bar(number: int, day: Day, top: int) -> Bar:
    verified, diverged = 100 * day.count.verified / top, 100 * day.count.diverged / top
    # A single one among a million is still to be seen.
    diverged = max(diverged, 2) if day.count.diverged else 0.0
    verified = min(verified, 100 - diverged)
    count = day.count
    told = (
        f"{day.day:%b} {day.day.day}: {count.verified:,} as the chain says,"
        f" {count.diverged:,} not, {count.unverified:,} not replayed"
    )
    if day.passed_over:
        told += f"; {day.passed_over:,} slots passed over"
    return Bar(
        x=10 * number + 1,
        ok_y=round(100 - verified, 2),
        ok_height=round(verified, 2),
        errors_y=round(100 - verified - diverged, 2),
        errors_height=round(diverged, 2),
        title=told,
    )


class OpenFilter(admin.SimpleListFilter):
    """Open ones are what somebody comes for."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("open", "open"), ("resolved", "resolved")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() is None:
            return queryset
        return queryset.filter(resolved_at__isnull=self.value() == "open")


@admin.register(Divergence)
class DivergenceAdmin(ReadOnlyAdmin):
    list_display = ("transaction", "place", "differs", "outcome", "found", "tried")
    list_display_links = ("transaction",)
    list_filter = (OpenFilter,)
    list_per_page = 50
    ordering = ("-found_at", "-pk")
    search_fields = ("slot",)  # looked for in get_search_results
    search_help_text = "A slot or a transaction's signature"
    actions = ["replay_again", "dismiss"]
    change_form_outer_after_template = "admin/rewind/divergence/differences.html"
    readonly_fields = ("whole_signature", "block", "called", "outcome", "found", "tried")
    fieldsets = ((None, {"fields": readonly_fields}),)

    def get_urls(self) -> list[URLPattern]:
        replay = self.admin_site.admin_view(self.replay_this_again)
        own = path("<int:pk>/replay/", replay, name="rewind_divergence_replay")
        return [own, *super().get_urls()]

    def beside_fields(self, request: HttpRequest, object_id: str) -> dict[str, Any]:
        entry = self.get_object(request, object_id)
        return {
            "differences": [] if entry is None else _differences(entry),
            "may_replay": self.has_replay_permission(request),
        }

    # --- orders ---

    def has_replay_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return request.user.has_perm("rewind.change_divergence")

    @admin.action(description="Replay again", permissions=["replay"])
    def replay_again(self, request: HttpRequest, queryset: QuerySet[Divergence]) -> None:
        chosen = list(queryset.values_list("pk", flat=True)[: _REPLAYED_AT_ONCE + 1])
        for pk in chosen[:_REPLAYED_AT_ONCE]:
            self._replay(request, pk)
        if len(chosen) > _REPLAYED_AT_ONCE:
            messages.warning(request, f"The first {_REPLAYED_AT_ONCE} were replayed.")

    @admin.action(description="Dismiss", permissions=["replay"])
    def dismiss(self, request: HttpRequest, queryset: QuerySet[Divergence]) -> None:
        chosen = list(queryset.values_list("pk", flat=True))
        dismissed = audit.dismiss(chosen, now=timezone.now())
        noun = "divergence is" if dismissed == 1 else "divergences are"
        messages.success(request, f"{dismissed} {noun} dismissed.")

    def replay_this_again(self, request: HttpRequest, pk: int) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not self.has_replay_permission(request):
            raise PermissionDenied
        if Divergence.objects.filter(pk=pk).exists():
            self._replay(request, pk)
        return HttpResponseRedirect(reverse("admin:rewind_divergence_change", args=[pk]))

    def _replay(self, request: HttpRequest, pk: int) -> None:
        signature = Divergence.objects.values_list("signature", flat=True).get(pk=pk)
        verdict = audit.replay_again(pk, now=timezone.now())
        named = f"Transaction {_short(signature)}"
        if verdict is None:
            messages.warning(request, f"{named} is in the ledger no more.")
        elif verdict.status == "verified":
            messages.success(request, f"{named} ends as the chain says now.")
        elif verdict.status == "diverged":
            messages.error(request, f"{named} ends otherwise still.")
        else:
            why = in_words(verdict.reason or "")
            messages.warning(request, f"{named} could not be replayed: {why}.")

    # --- finding ---

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Divergence], search_term: str
    ) -> tuple[QuerySet[Divergence], bool]:
        text = search_term.strip()
        if not text:
            return queryset, False
        slot = slot_in(text)
        if slot is not None:
            return queryset.filter(slot=slot), False
        try:
            return queryset.filter(signature=Signature.from_string(text)), False
        except ValueError:
            return queryset.none(), False

    # --- what is shown ---

    @admin.display(description="transaction", ordering="signature")
    def transaction(self, entry: Divergence) -> SafeString:
        return format_html('<code title="{}">{}</code>', entry.signature, _short(entry.signature))

    @admin.display(description="signature")
    def whole_signature(self, entry: Divergence) -> SafeString:
        return format_html('<code class="tm-break">{}</code>', entry.signature)

    @admin.display(description="slot", ordering="slot")
    def place(self, entry: Divergence) -> str:
        return str(entry.slot)

    @admin.display(description="slot")
    def block(self, entry: Divergence) -> SafeString:
        links = [("admin:rewind_archivedslot_change", "in the archive")]
        if Block.objects.filter(pk=entry.slot).exists():
            links.append(("admin:historical_block_change", "in the ledger"))
        told = format_html_join(
            ", ",
            '<a class="tm-link" href="{}">{}</a>',
            ((reverse(name, args=[entry.slot]), text) for name, text in links),
        )
        return format_html("{}, transaction {}: {}", entry.slot, entry.position, told)

    @admin.display(description="programs called")
    def called(self, entry: Divergence) -> SafeString | str:
        lines = ((program,) for program in entry.programs)
        return format_html_join("", '<div><code class="tm-break">{}</code></div>', lines) or "none"

    @admin.display(description="differs")
    def differs(self, entry: Divergence) -> str:
        return fields_of(entry)

    @admin.display(description="state", ordering="resolved_at")
    def outcome(self, entry: Divergence) -> SafeString:
        if entry.resolved_at is not None and entry.reason == audit.DISMISSED:
            return badge("dismissed", "quiet", utc(entry.resolved_at))
        if entry.resolved_at is not None:
            return badge("resolved", "good", utc(entry.resolved_at))
        told = f"the last replay told nothing: {in_words(entry.reason)}" if entry.reason else ""
        return badge("open", "bad", told)

    @admin.display(description="found", ordering="found_at")
    def found(self, entry: Divergence) -> SafeString | str:
        return ago(entry.found_at)

    @admin.display(description="last replay", ordering="tried_at")
    def tried(self, entry: Divergence) -> SafeString | str:
        return ago(entry.tried_at)


def _differences(entry: Divergence) -> list[dict[str, str]]:
    return [
        {
            "field": each["field"],
            "expected": _text(each["expected"]),
            "found": _text(each["found"]),
        }
        for each in entry.differences
    ]


def _short(signature: Any) -> str:
    text = str(signature)
    return f"{text[:8]}…{text[-4:]}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=1)
