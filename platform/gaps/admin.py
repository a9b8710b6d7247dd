"""The admin page of gaps: the same for ledger and archive."""

from datetime import datetime
from functools import partial
from typing import Any, ClassVar, NamedTuple

from django.conf import settings
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Count, F, Q, QuerySet, Sum
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from chain.slot_ranges import SlotRange
from gaps.advice import Sources, advice_on
from gaps.causes import CAUSES, cause_hint
from gaps.life_cycle import GIVEN_UP, PROOF, AreaGaps
from gaps.slot_gap import IS_STATE, GapState, GapStatus, SlotGap
from staff import audit
from staff.columns import column
from staff.filters import choice_filter, value_filter
from staff.formatting import ago, badge, counted, grouped, slot_range, utc
from staff.own_pages import PagesAdmin
from staff.parsing import slot_in
from staff.read_only import ReadOnlyAdmin

# Colours of the events in a gap's history.
_EVENT_HUES = {
    "filled": "good",
    "proved skipped": "good",
    "tried": "warning",
    GIVEN_UP: "bad",
}
# As gaps of earlier versions have it.
_EARLIER_EVENTS = {"cannot be had": GIVEN_UP}
_STATUS_HINTS = {
    GapStatus.MISSING: "A block was produced and is not stored",
    GapStatus.UNKNOWN: "It is not known yet if a block was produced",
}
_BY_SOURCES = "automatically, since no source has these slots any more"

# The known causes: reading them from the table would scan all of it.
_CAUSES = [(cause, cause.replace("_", " ")) for cause in CAUSES]
OpenFilter = choice_filter(
    "state",
    "state",
    {str(state): (state.replace("_", " "), rows) for state, rows in IS_STATE.items()},
)
CauseFilter = value_filter("cause", "cause", lambda: _CAUSES)


class GapCounts(NamedTuple):
    """Gaps that are being filled, and those that were given up, with their slots."""

    open_gaps: int
    open_slots: int
    given_up_gaps: int
    given_up_slots: int


def count_gaps(model: type[SlotGap], within: SlotRange | None = None) -> GapCounts:
    """Of the whole area, or of the gaps that have a slot within the range: all of their slots."""
    rows = model._default_manager.filter(closed_at__isnull=True)
    if within is not None:
        rows = rows.filter(overlapping(within))
    is_open, is_given_up = IS_STATE[GapState.OPEN], IS_STATE[GapState.GIVEN_UP]
    slots = F("to_slot") - F("from_slot") + 1
    found = rows.aggregate(
        open_gaps=Count("pk", filter=is_open),
        open_slots=Sum(slots, filter=is_open),
        given_up_gaps=Count("pk", filter=is_given_up),
        given_up_slots=Sum(slots, filter=is_given_up),
    )
    return GapCounts(**{name: int(number or 0) for name, number in found.items()})


def overlapping(slots: SlotRange) -> Q:
    """Gaps that have a slot of the range."""
    return Q(from_slot__lte=slots.last, to_slot__gte=slots.first)


class SlotsFilter(admin.SimpleListFilter):
    """Gaps that have a slot of a range, `first-last`: set by links from other pages."""

    title, parameter_name = "slots", "slots"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        asked = request.GET.get("slots", "")
        found = _range_in(asked)
        label = "no range" if found is None else slot_range(*found)
        return [(asked, label)] if asked else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() is None:
            return queryset
        found = _range_in(self.value() or "")
        return queryset.none() if found is None else queryset.filter(overlapping(found))


def _range_in(text: str) -> SlotRange | None:
    first, last = (slot_in(part) for part in text.partition("-")[::2])
    return None if first is None or last is None else SlotRange(first, last)


class GapAdmin(PagesAdmin, ReadOnlyAdmin):
    """Each area registers a subclass."""

    gaps: ClassVar[AreaGaps[Any]]
    area: ClassVar[str]
    change_form_outer_after_template = "admin/gaps/history.html"
    list_before_template = "admin/gaps/areas.html"
    list_display = ("slots", "size", "outcome", "why", "tries", "next_try", "opened", "latest")
    list_fullwidth = True
    list_filter = (OpenFilter, "status", CauseFilter, SlotsFilter)
    ordering = ("-from_slot", "-pk")
    search_fields = ("from_slot",)  # by `condition`
    search_help_text = "A slot"
    why_nothing = (
        "No slot is known to be missing here: gaps open by themselves when slots do not arrive."
    )
    actions = ["try_again_now", "give_up"]
    row_buttons: ClassVar = {"retry": "try_again_now", "give-up": "give_up"}
    fields = (
        "slots",
        "size",
        "outcome",
        "why",
        "what_helps",
        "tries",
        "tried_sources",
        "next_try",
        "opened",
        "closing",
    )

    def beside_fields(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        model = f"admin:{self.opts.app_label}_gap"
        may = row.closed_at is None and self.has_act_permission(request)
        is_wanted = row.state is GapState.OPEN
        return {
            "events": [_shown(event) for event in reversed(row.history)],
            "retry": reverse(f"{model}_retry", args=[row.pk]) if may else "",
            "give_up": reverse(f"{model}_give_up", args=[row.pk]) if may and is_wanted else "",
            "is_given_up": row.state is GapState.GIVEN_UP,
            "advice": advice_on(row, self.area, _sources()),
            "slots_page": f"{reverse('admin:rewind_slottally_slots')}?slot={row.from_slot}",
            **order_links(request, row.slots),
        }

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        return {"gap_counts": counts_of_area(self.model)}

    # --- admin actions ---

    @admin.action(description="Try again now", permissions=["act"])
    def try_again_now(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        retry_now = partial(self.gaps.retry_now, by=request.user.get_username())
        due = self._order(request, queryset, "ordered a try", retry_now)
        gaps_are = counted(due, "gap is", "gaps are")
        text = f"{gaps_are} due: the worker retries within seconds. Closed gaps stay closed."
        messages.success(request, text)

    @admin.action(description="Give up: stop retrying", permissions=["act"])
    def give_up(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        give_up = partial(self.gaps.give_up, by=request.user.get_username())
        count = self._order(request, queryset, "gave up", give_up)
        messages.success(
            request,
            f"{counted(count, 'gap is', 'gaps are')} given up: no longer retried or counted by the"
            " alarm. It closes if the slots arrive after all; “Try again now” undoes this.",
        )

    @transaction.atomic
    def _order(self, request: HttpRequest, queryset: QuerySet[Any], verb: str, do: Any) -> int:
        chosen = list(queryset.values_list("pk", flat=True))
        count: int = do(chosen, now=timezone.now())
        if count:
            found = self.model._default_manager.filter(pk__in=chosen[:2])
            subject = found[0] if len(chosen) == 1 else f"{count} gaps of the {self.area}"
            audit.record(request, verb, subject)
        return count

    def condition(self, text: str) -> Q | None:
        slot = slot_in(text)
        return None if slot is None else Q(from_slot__lte=slot, to_slot__gte=slot)

    # --- what is shown ---

    slots = column("slots", lambda row: slot_range(*row.slots), "from_slot")
    size = column("how many", lambda row: grouped(row.slots.size))

    outcome = column("state", lambda row: gap_badge(row), "status")

    @admin.display(description="cause", ordering="cause")
    def why(self, gap: SlotGap) -> SafeString:
        return format_html('<span title="{}">{}</span>', cause_hint(gap.cause), in_words(gap.cause))

    what_helps = column("what it means", lambda row: cause_hint(row.cause))

    @admin.display(description="sources tried")
    def tried_sources(self, gap: SlotGap) -> str:
        tried = [event["source"] for event in gap.history if event["event"] == "tried"]
        return ", ".join(dict.fromkeys(filter(None, tried))) or "none yet"

    @admin.display(description="closed")
    def closing(self, gap: SlotGap) -> SafeString | str:
        if gap.closed_at is None:
            return "not yet"
        at = ago(gap.closed_at)
        return format_html("{} by {}", at, gap.closed_by or "an unknown source")

    @admin.display(description="next try", ordering="next_try_at")
    def next_try(self, gap: SlotGap) -> SafeString | str:
        if gap.closed_at is not None:
            return "-"
        if gap.cannot_be_had_at is not None:
            return "none: given up"
        return ago(gap.next_try_at, never="at once")

    opened = column("opened", lambda row: ago(row.opened_at), "opened_at")
    latest = column(
        "last event", lambda row: event_in_words(row.history[-1]) if row.history else "-"
    )


def gap_badge(gap: SlotGap) -> SafeString:
    """What became of it."""
    if gap.closed_at is not None:
        return badge("closed", "good", f"{gap.closed_by}, {utc(gap.closed_at)}")
    if gap.cannot_be_had_at is not None:
        by = _BY_SOURCES if gap.cannot_be_had_by == PROOF else f"by {gap.cannot_be_had_by}"
        hint = f"{gap.status}; given up {by}, {utc(gap.cannot_be_had_at)}"
        return badge("given up", "quiet", hint)
    hue = "bad" if gap.status == GapStatus.MISSING else "warning"
    return badge(gap.status, hue, _STATUS_HINTS[GapStatus(gap.status)])


def gaps_of_area(causes: Any, newest: Any, number: int) -> dict[str, Any]:
    """For the table of an area's newest gaps that are not closed, of `number` in all, and its
    causes.
    """
    return {
        "causes": [(in_words(cause), cause_hint(cause), slots) for cause, slots in causes],
        "gaps": [
            (
                gap,
                gap_badge(gap),
                in_words(gap.cause),
                cause_hint(gap.cause),
                event_in_words(gap.history[-1]) if gap.history else "-",
            )
            for gap in newest
        ],
        "more_gaps": number if number > len(newest) else 0,
    }


def in_words(cause: str) -> str:
    """A gap's cause with spaces."""
    return cause.replace("_", " ")


def event_in_words(event: dict[str, str]) -> str:
    """An entry of a gap's history on one line."""
    result = f": {in_words(event['result'])}" if event.get("result") else ""
    return f"{_what(event)} {_by(event)}".rstrip() + result


def _shown(event: dict[str, str]) -> dict[str, Any]:
    at, what = datetime.fromisoformat(event["at"]), _what(event)
    hue, result = _EVENT_HUES.get(what, "quiet"), in_words(event.get("result", ""))
    return {"event": what, "by": _by(event), "at": at, "hue": hue, "result": result}


def _what(event: dict[str, str]) -> str:
    return _EARLIER_EVENTS.get(event["event"], event["event"])


def _by(event: dict[str, str]) -> str:
    source = event.get("source", "")
    if _what(event) == GIVEN_UP and source == PROOF:
        return _BY_SOURCES
    return f"by {source}" if source else ""


def counts_of_area(model: type[SlotGap], *, within: SlotRange | None = None) -> dict[str, Any]:
    """How many slots of the area are open and given up, each with its list."""
    found = count_gaps(model, within)
    page = reverse(f"admin:{model._meta.app_label}_gap_changelist")
    part = "" if within is None else f"&slots={within.first}-{within.last}"
    return {
        "counts": found,
        "open_link": f"{page}?state={GapState.OPEN}{part}",
        "given_up_link": f"{page}?state={GapState.GIVEN_UP}{part}",
        "all_link": f"{page}?{part[1:]}" if part else page,
    }


def _sources() -> Sources:
    streams = [url for url in settings.UPSTREAM_GEYSER_URL.split(",") if url]
    return Sources(len(streams), len(settings.FILL_RPC_URLS), bool(settings.OLD_FAITHFUL_URL))


def order_links(
    request: HttpRequest, slots: SlotRange | None = None, *, at_once: int | None = None
) -> dict[str, str]:
    """Links to range orders for the slots, if the user may place them. Without a link to fetch
    them for more than `at_once` slots.
    """
    if not request.user.has_perm("ingest.order_ranges"):
        return {}
    add = reverse("admin:ingest_rangeorder_add")
    query = "" if slots is None else f"&first_slot={slots.first}&last_slot={slots.last}"
    small = slots is None or at_once is None or slots.size <= at_once
    return {
        "verify": f"{add}?kind=verify{query}",
        "reingest": f"{add}?kind=reingest{query}" if small else "",
    }
