"""Runs of slots that are lacking: the ledger's, and the page that the archive's have too."""

from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
)
from django.urls import NoReverseMatch, URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from access.admin.read_only import ReadOnlyAdmin, slot_in
from columns.gaps import GapState, GapStatus, SlotGap
from historical.admin.causes import CAUSES, cause_hint
from historical.models import Gap
from historical.services import gaps
from staff import audit
from staff.formatting import ago, badge, grouped, utc

# What an event of a gap's history is drawn as.
_EVENT_HUES = {
    "filled": "good",
    "proved skipped": "good",
    "tried": "warning",
    "cannot be had": "bad",
}
_STATUS_HINTS = {
    GapStatus.MISSING: "A block was made, and it is not here",
    GapStatus.UNKNOWN: "Whether a block was made is not known yet",
}


class OpenFilter(admin.SimpleListFilter):
    """Open gaps are what somebody comes for; the closed ones are history."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("open", "open"), ("cannot_be_had", "cannot be had"), ("closed", "closed")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() is None:
            return queryset
        if self.value() == "closed":
            return queryset.filter(closed_at__isnull=False)
        is_open = self.value() == "open"
        return queryset.filter(closed_at__isnull=True, cannot_be_had_at__isnull=is_open)


class CauseFilter(admin.SimpleListFilter):
    """The causes that the service knows: to ask the table for its own would read all of it."""

    title = "cause"
    parameter_name = "cause"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(cause, in_words(cause)) for cause in CAUSES]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset if self.value() is None else queryset.filter(cause=self.value())


@admin.register(Gap)
class GapAdmin(ReadOnlyAdmin):
    """Runs of slots that are lacking; the archive's have the same page."""

    services: Any = gaps
    area = "ledger"
    change_form_outer_after_template = "admin/historical/gap/history.html"
    list_before_template = "admin/historical/gap/areas.html"
    list_display = ("slots", "size", "outcome", "why", "tries", "next_try", "opened", "latest")
    list_display_links = ("slots",)
    list_fullwidth = True
    list_filter = (OpenFilter, "status", CauseFilter)
    list_per_page = 50
    ordering = ("-from_slot", "-pk")
    search_fields = ("from_slot",)  # looked for in get_search_results
    search_help_text = "A slot"
    actions = ["try_again_now", "give_up"]
    readonly_fields = (
        *("slots", "size", "outcome", "why", "what_helps", "tries", "tried_sources"),
        *("next_try", "opened", "closing"),
    )
    fieldsets = ((None, {"fields": readonly_fields}),)

    def get_urls(self) -> list[URLPattern]:
        retry = self.admin_site.admin_view(self.try_this_now)
        name = f"{self.opts.app_label}_{self.opts.model_name}_retry"
        give_up = self.admin_site.admin_view(self.give_this_up)
        return [
            path("<int:pk>/retry/", retry, name=name),
            path("<int:pk>/give-up/", give_up, name=name.replace("_retry", "_give_up")),
            *super().get_urls(),
        ]

    def beside_fields(self, request: HttpRequest, object_id: str) -> dict[str, Any]:
        gap = self.get_object(request, object_id)
        if gap is None:
            return {}
        model = f"{self.opts.app_label}_{self.opts.model_name}"
        may = gap.closed_at is None and self.has_retry_permission(request)
        is_wanted = gap.state is GapState.OPEN
        return {
            "events": [_told(event) for event in reversed(gap.history)],
            "retry": reverse(f"admin:{model}_retry", args=[gap.pk]) if may else "",
            "give_up": reverse(f"admin:{model}_give_up", args=[gap.pk])
            if may and is_wanted
            else "",
            "slots_page": _slots_page(gap),
            **_orders(request, gap),
        }

    # --- orders ---

    def has_retry_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return request.user.has_perm(f"{self.opts.app_label}.change_{self.opts.model_name}")

    @admin.action(description="Try again now", permissions=["retry"])
    def try_again_now(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self._try_now(request, list(queryset.values_list("pk", flat=True)))

    def try_this_now(self, request: HttpRequest, pk: int) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not self.has_retry_permission(request):
            raise PermissionDenied
        self._try_now(request, [pk])
        return HttpResponseRedirect(reverse(f"admin:{self.opts.app_label}_gap_change", args=[pk]))

    @transaction.atomic
    def _try_now(self, request: HttpRequest, chosen: list[int]) -> None:
        due = self.services.try_now(chosen, now=timezone.now())
        if due:
            found = self.model._default_manager.filter(pk__in=chosen[:2])
            subject = found[0] if len(chosen) == 1 else f"{due} gaps of the {self.area}"
            audit.record(request, "ordered a try", subject)
        noun = "gap is" if due == 1 else "gaps are"
        messages.success(
            request,
            f"{due} {noun} due: the worker tries within some seconds. Closed ones stay closed.",
        )

    @admin.action(description="Cannot be had: try no more", permissions=["retry"])
    def give_up(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self._give_up(request, list(queryset.values_list("pk", flat=True)))

    def give_this_up(self, request: HttpRequest, pk: int) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not self.has_retry_permission(request):
            raise PermissionDenied
        self._give_up(request, [pk])
        return HttpResponseRedirect(reverse(f"admin:{self.opts.app_label}_gap_change", args=[pk]))

    @transaction.atomic
    def _give_up(self, request: HttpRequest, chosen: list[int]) -> None:
        who = request.user.get_username()
        count = self.services.give_up(chosen, by=who, now=timezone.now())
        if count:
            found = self.model._default_manager.filter(pk__in=chosen[:2])
            subject = found[0] if len(chosen) == 1 else f"{count} gaps of the {self.area}"
            audit.record(request, "decided that it cannot be had", subject)
        noun = "gap is" if count == 1 else "gaps are"
        messages.success(
            request,
            f"{count} {noun} tried no more, and left out of the alarm. What brings the slots all"
            " the same closes it; “Try again now” takes this back.",
        )

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        text = search_term.strip()
        if not text:
            return queryset, False
        slot = slot_in(text)
        if slot is None:
            return queryset.none(), False
        return queryset.filter(from_slot__lte=slot, to_slot__gte=slot), False

    @admin.display(description="slots", ordering="from_slot")
    def slots(self, gap: SlotGap) -> str:
        one = gap.from_slot == gap.to_slot
        return f"{gap.from_slot}" if one else f"{gap.from_slot} to {gap.to_slot}"

    @admin.display(description="how many")
    def size(self, gap: SlotGap) -> str:
        return grouped(gap.to_slot - gap.from_slot + 1)

    @admin.display(description="state", ordering="status")
    def outcome(self, gap: SlotGap) -> SafeString:
        if gap.closed_at is not None:
            return badge("closed", "good", f"{gap.closed_by}, {utc(gap.closed_at)}")
        if gap.cannot_be_had_at is not None:
            at = utc(gap.cannot_be_had_at)
            hint = f"{gap.status}; by {gap.cannot_be_had_by}, {at}"
            return badge("cannot be had", "quiet", hint)
        hue = "bad" if gap.status == GapStatus.MISSING else "warning"
        return badge(gap.status, hue, _STATUS_HINTS[GapStatus(gap.status)])

    @admin.display(description="cause", ordering="cause")
    def why(self, gap: SlotGap) -> SafeString:
        return format_html('<span title="{}">{}</span>', cause_hint(gap.cause), in_words(gap.cause))

    @admin.display(description="what that means")
    def what_helps(self, gap: SlotGap) -> str:
        return cause_hint(gap.cause)

    @admin.display(description="sources tried")
    def tried_sources(self, gap: SlotGap) -> str:
        tried = [event["source"] for event in gap.history if event["event"] == "tried"]
        return ", ".join(dict.fromkeys(filter(None, tried))) or "none yet"

    @admin.display(description="closed")
    def closing(self, gap: SlotGap) -> SafeString | str:
        if gap.closed_at is None:
            return "not yet"
        at = ago(gap.closed_at)
        return format_html("{} by {}", at, gap.closed_by or "nobody who was told")

    @admin.display(description="next try", ordering="next_try_at")
    def next_try(self, gap: SlotGap) -> SafeString | str:
        if gap.closed_at is not None:
            return "-"
        if gap.cannot_be_had_at is not None:
            return "none"
        return ago(gap.next_try_at, never="at once")

    @admin.display(description="opened", ordering="opened_at")
    def opened(self, gap: SlotGap) -> SafeString | str:
        return ago(gap.opened_at)

    @admin.display(description="last event")
    def latest(self, gap: SlotGap) -> str:
        return event_in_words(gap.history[-1]) if gap.history else "-"


def in_words(cause: str) -> str:
    """A gap's cause as people write it."""
    return cause.replace("_", " ")


def event_in_words(event: dict[str, str]) -> str:
    """An entry of a gap's history in a line."""
    source = f" by {event['source']}" if event.get("source") else ""
    result = f": {in_words(event['result'])}" if event.get("result") else ""
    return f"{event['event']}{source}{result}"


def _told(event: dict[str, str]) -> dict[str, Any]:
    at = datetime.fromisoformat(event["at"])
    return {
        "ago": ago(at),
        "at": utc(at, seconds=True),
        "event": event["event"],
        "hue": _EVENT_HUES.get(event["event"], "quiet"),
        "source": event.get("source", ""),
        "result": in_words(event.get("result", "")),
    }


def _slots_page(gap: SlotGap) -> str:
    return f"{reverse('admin:rewind_slottally_slots')}?slot={gap.from_slot}"


def _orders(request: HttpRequest, gap: SlotGap) -> dict[str, str]:
    """Links to orders over the gap's slots, for whoever may give them."""
    if not request.user.has_perm("ingest.order_ranges"):
        return {}
    try:
        add = reverse("admin:ingest_rangeorder_add")
    except NoReverseMatch:
        return {}
    query = f"first_slot={gap.from_slot}&last_slot={gap.to_slot}"
    return {"verify": f"{add}?kind=verify&{query}", "reingest": f"{add}?kind=reingest&{query}"}
