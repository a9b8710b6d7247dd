"""The admin's pages of what is sealed, and of its damage: the same for ledger and archive."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce, Length
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from sealed.damage import Damage
from staff.columns import column
from staff.filters import choice_filter
from staff.formatting import ago, badge, grouped, size_of
from staff.read_only import LongListAdmin, SlotRangeAdmin

State = Damage.State
_STATES = {
    State.DAMAGED: ("damaged", "bad"),
    State.REPAIRED: ("repaired", "good"),
    State.GAP: ("opened as a gap", "warning"),
    State.GONE: ("no longer read", "quiet"),
}
StateFilter = choice_filter(
    "state",
    "state",
    {state.name.lower(): (label, Q(state=state)) for state, (label, _) in _STATES.items()},
)


def bytes_of(number: int) -> SafeString:
    """A size, with the exact number of bytes as its title."""
    return format_html(
        '<span class="tm-nowrap" title="{} bytes">{}</span>', grouped(number), size_of(number)
    )


class SealedAdmin(SlotRangeAdmin):
    """What is sealed together, without its `dictionaries`: a list does not read these."""

    dictionaries: ClassVar[tuple[str, ...]] = ("dictionary",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        size: Any = sum(Coalesce(Length(name), 0) for name in self.dictionaries)
        rows = super().get_queryset(request).defer(*self.dictionaries)
        found: QuerySet[Any] = rows.annotate(dictionary_bytes=size)
        return found

    dictionary_size = column("dictionary", lambda row: bytes_of(row.dictionary_bytes))


class DamageAdmin(SlotRangeAdmin, LongListAdmin):
    """Each area registers a subclass; `hints` say what each state means there."""

    store: ClassVar[str]
    hints: ClassVar[dict[State, str]]
    list_filter = (StateFilter,)

    found = column("found", lambda row: ago(row.found_at), "found_at")
    ended = column("ended", lambda row: ago(row.ended_at, never="not yet"), "ended_at")

    @admin.display(description="state", ordering="state")
    def status(self, row: Damage) -> SafeString:
        state = State(row.state)
        return badge(*_STATES[state], self.hints[state])

    @admin.display(description="command")
    def command(self, row: Damage) -> SafeString | str:
        if row.state != State.DAMAGED:
            return "none: it is over"
        command = f"manage.py archive_repair --only {self.store}:{row.pk}"
        return format_html(
            "<code>{} --from-database URL</code> from a replica or a restored backup;"
            " <code>{} --as-gap</code> where there is none",
            command,
            command,
        )
