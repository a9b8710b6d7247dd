"""A card of the home page, and a group of them that answers one question."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from operations.home.charts import Figure, Line
from staff.formatting import badge, grouped

# From good to bad; quiet has no data.
_ORDER = ("quiet", "good", "warning", "bad")
_ANSWERS = {"good": "yes", "warning": "needs attention", "bad": "no", "quiet": "no data yet"}


@dataclass(slots=True)
class Card:
    """One figure, its state as (label, hue, hint), rows of names and values, a line, and a link."""

    id: str
    title: str
    figure: Any = ""
    state: tuple[str, str, str] | None = None
    hint: Any = ""
    rows: Sequence[tuple[Any, Any]] = ()
    link: str = ""
    link_text: str = ""
    drawn: Figure | None = None
    line: Line | None = None
    empty: str = ""

    @property
    def badge(self) -> SafeString | str:
        if self.state is None:
            return ""
        text, hue, hint = self.state
        return badge(text, hue, hint)


@dataclass(slots=True)
class Group:
    """Cards that answer one question."""

    id: str
    question: str
    cards: list[Card] = field(default_factory=list)

    @property
    def answer(self) -> SafeString:
        hues = [each.state[1] for each in self.cards if each.state is not None]
        worst = max(hues, key=_ORDER.index, default="quiet")
        causes = ", ".join(
            f"{each.title}: {each.state[0]}"
            for each in self.cards
            if each.state is not None and each.state[1] == worst and worst in ("warning", "bad")
        )
        return badge(_ANSWERS[worst], worst, causes)


def link_to(request: HttpRequest, url: str, permission: str) -> str:
    """The address of an admin page, empty where the user may not see it."""
    return reverse(f"admin:{url}") if url and request.user.has_perm(permission) else ""


def list_of(request: HttpRequest, app: str, model: str) -> str:
    """The address of a model's list likewise."""
    return link_to(request, f"{app}_{model}_changelist", f"{app}.view_{model}")


def zero_badge(count: int | None, *, bad: str = "warning", hint: str = "") -> SafeString:
    """A count that should be 0."""
    if count is None:
        return badge("not known", "bad", "Valkey does not answer.")
    return badge(grouped(count), bad if count else "good", hint)


def named(rows: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in rows if value is not None]
