"""A card of the home page, and a group of them that answers one question."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from operations.home.charts import Figure, Line
from operations.readings.present import Readings
from staff.formatting import badge, grouped

# From good to bad; quiet has no data.
_ORDER = ("quiet", "good", "warning", "bad")
_ANSWERS = {"good": "yes", "warning": "needs attention", "bad": "no", "quiet": "no data yet"}


@dataclass(frozen=True, slots=True)
class Shown:
    """What a card shows now: its figure, its state as (label, hue, hint), and names with values.
    `query` is the filter of the page that it leads to, and `empty` what stands without rows.
    """

    figure: Any = ""
    state: tuple[str, str, str] | None = None
    hint: Any = ""
    rows: Sequence[tuple[Any, Any]] = ()
    query: str = ""
    empty: str = ""

    @property
    def badge(self) -> SafeString | str:
        return "" if self.state is None else badge(*self.state)


class Link(NamedTuple):
    """The page that a card leads to, by its URL's name or as a path, and the permission for it."""

    text: str
    page: str
    permission: str = ""

    def address(self, request: HttpRequest) -> str:
        """Empty where the user may not see the page."""
        if self.page.startswith("/"):
            return self.page
        return link_to(request, self.page, self.permission)


def list_of(text: str, app: str, model: str) -> Link:
    """A model's list."""
    return Link(text, f"{app}_{model}_changelist", f"{app}.view_{model}")


class Kind(NamedTuple):
    """A card of the page, for users who may see the page that it leads to, unless `permission`
    names another one; "" is for every user. `drawn` is its line; `is_there` says whether the
    installation has what it shows.
    """

    id: str
    title: str
    show: Callable[[HttpRequest, Readings], Shown]
    link: Link
    drawn: Figure | None = None
    permission: str | None = None
    is_there: Callable[[], bool] = lambda: True

    def is_for(self, request: HttpRequest) -> bool:
        if not self.is_there():
            return False
        needed = self.link.permission if self.permission is None else self.permission
        return not needed or request.user.has_perm(needed)


@dataclass(slots=True)
class Card:
    kind: Kind
    shown: Shown
    link: str = ""
    line: Line | None = None


@dataclass(slots=True)
class Group:
    """Cards that answer one question."""

    id: str
    question: str
    cards: list[Card] = field(default_factory=list)

    @property
    def answer(self) -> SafeString:
        states = [
            (each.kind.title, *each.shown.state)
            for each in self.cards
            if each.shown.state is not None
        ]
        worst = max((hue for _, _, hue, _ in states), key=_ORDER.index, default="quiet")
        causes = ", ".join(
            f"{title}: {label}"
            for title, label, hue, _ in states
            if hue == worst and worst in ("warning", "bad")
        )
        return badge(_ANSWERS[worst], worst, causes)


def link_to(request: HttpRequest, url: str, permission: str) -> str:
    """The address of an admin page, empty where the user may not see it."""
    return reverse(f"admin:{url}") if url and request.user.has_perm(permission) else ""


def zero_badge(count: int | None, *, bad: str = "warning", hint: str = "") -> SafeString:
    """A count that should be 0."""
    if count is None:
        return badge("not known", "bad", "Valkey does not answer.")
    return badge(grouped(count), bad if count else "good", hint)
