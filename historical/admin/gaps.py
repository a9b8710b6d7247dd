"""Runs of slots that are lacking: the ledger's, and the page that the archive's have too."""

from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from access.admin import words
from access.admin.read_only import ReadOnlyAdmin, slot_in
from columns.gaps import GapStatus, SlotGap
from historical.models import Gap
from historical.services import gaps


class OpenFilter(admin.SimpleListFilter):
    """Open gaps are what somebody comes for; the closed ones are history."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("open", "open"), ("closed", "closed")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() is None:
            return queryset
        return queryset.filter(closed_at__isnull=self.value() == "open")


@admin.register(Gap)
class GapAdmin(ReadOnlyAdmin):
    """Runs of slots that are lacking; the archive's have the same page."""

    services: Any = gaps
    list_display = ("slots", "size", "outcome", "why", "tries", "next_try", "opened", "latest")
    list_display_links = ("slots",)
    list_fullwidth = True
    list_filter = (OpenFilter, "status", "cause")
    list_per_page = 50
    ordering = ("-from_slot", "-pk")
    search_fields = ("from_slot",)  # looked for in get_search_results
    search_help_text = "A slot"
    actions = ["try_again_now"]
    readonly_fields = ("slots", "size", "outcome", "why", "tries", "next_try", "opened", "story")
    fieldsets = ((None, {"fields": readonly_fields}),)

    def has_retry_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(f"{self.opts.app_label}.change_{self.opts.model_name}")

    @admin.action(description="Try again now", permissions=["retry"])
    def try_again_now(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        chosen = list(queryset.values_list("pk", flat=True))
        due = self.services.try_now(chosen, now=timezone.now())
        noun = "gap is" if due == 1 else "gaps are"
        messages.success(request, f"{due} {noun} due; closed ones stay closed.")

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
        return words.grouped(gap.to_slot - gap.from_slot + 1)

    @admin.display(description="state", ordering="status")
    def outcome(self, gap: SlotGap) -> SafeString:
        if gap.closed_at is not None:
            return words.coloured(
                "closed", "good", f"{gap.closed_by}, {words.plain(gap.closed_at)}"
            )
        return words.coloured(gap.status, "bad" if gap.status == GapStatus.MISSING else "warning")

    @admin.display(description="cause", ordering="cause")
    def why(self, gap: SlotGap) -> str:
        return in_words(gap.cause)

    @admin.display(description="next try", ordering="next_try_at")
    def next_try(self, gap: SlotGap) -> SafeString | str:
        if gap.closed_at is not None:
            return "-"
        return words.moment(gap.next_try_at, timezone.now(), "at once")

    @admin.display(description="opened", ordering="opened_at")
    def opened(self, gap: SlotGap) -> SafeString | str:
        return words.moment(gap.opened_at, timezone.now())

    @admin.display(description="last event")
    def latest(self, gap: SlotGap) -> str:
        return event_in_words(gap.history[-1]) if gap.history else "-"

    @admin.display(description="history")
    def story(self, gap: SlotGap) -> SafeString | str:
        lines = [
            (words.plain(datetime.fromisoformat(event["at"]), seconds=True), event_in_words(event))
            for event in gap.history
        ]
        return format_html_join("", '<div class="tm-break">{}: {}</div>', lines) or "none"


def in_words(cause: str) -> str:
    """A gap's cause as people write it."""
    return cause.replace("_", " ")


def event_in_words(event: dict[str, str]) -> str:
    """An entry of a gap's history in a line."""
    source = f" by {event['source']}" if event.get("source") else ""
    result = f": {in_words(event['result'])}" if event.get("result") else ""
    return f"{event['event']}{source}{result}"
