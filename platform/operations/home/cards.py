"""A card of the home page, and a group of them that answers one question."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from operations.home.charts import Figure, Line
from operations.readings.present import Readings
from operations.services.findings import Found
from staff.formatting import badge, grouped


@dataclass(frozen=True, slots=True)
class Shown:
    """What a card shows now: its figure, a label where nothing is wrong with it, and names with
    values. `query` is the filter of the page that it leads to, and `empty` what stands without
    rows; `meaning` is the address of the page that defines the figure. `trouble` is a label, its
    hue and a hint where something is wrong that no rule looks at.
    """

    figure: Any = ""
    well: str = ""
    hint: Any = ""
    rows: Sequence[tuple[Any, Any]] = ()
    query: str = ""
    empty: str = ""
    meaning: str = ""
    trouble: tuple[str, str, str] | None = None


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
    found: Sequence[Found] = ()
    link: str = ""
    line: Line | None = None

    @property
    def badge(self) -> SafeString | str:
        """The worst that was found of it, or that it is well."""
        if self.found:
            worst = self.found[0]
            more = f" and {len(self.found) - 1} more" if len(self.found) > 1 else ""
            texts = " ".join(each.finding.text for each in self.found)
            return badge(f"{worst.label}{more}", worst.hue, texts)
        if self.shown.trouble is not None:
            return badge(*self.shown.trouble)
        return badge(self.shown.well, "good") if self.shown.well else ""


def card(
    kind: Kind,
    request: HttpRequest,
    readings: Readings,
    found: Sequence[Found],
) -> Card:
    """The card as it is now, without its line. What the rules found makes it red or amber: a card
    is never better than an alarm on what it shows.
    """
    shown = kind.show(request, readings)
    link = kind.link.address(request) if kind.link.text else ""
    address = f"{link}{shown.query}" if link else ""
    return Card(kind, shown, [each for each in found if kind.id in each.place.cards], address)


def link_to(request: HttpRequest, url: str, permission: str) -> str:
    """The address of an admin page, empty where the user may not see it."""
    return reverse(f"admin:{url}") if url and request.user.has_perm(permission) else ""


def zero_badge(count: int | None, *, hint: str = "") -> SafeString:
    """A count that should be 0."""
    if count is None:
        return badge("not known", "bad", "Valkey does not answer.")
    return badge(grouped(count), "warning" if count else "good", hint)
