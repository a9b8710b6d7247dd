"""Finding anything by what a person has in the hand: each area adds the kinds of things that it
knows, with the look-up of each. A look-up is by an index.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

# Hits of a kind that a page shows.
MOST = 10
# Longer texts are none of the kinds: a signature has 88 characters, a request id 100.
LONGEST = 100


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing: its title, the address of its page, and what else there is to see of it."""

    title: str
    link: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of thing. `by` says what it is found by, `permission` who may see it (empty: all)."""

    title: str
    by: str
    find: Callable[[str], Iterable[Hit]]
    permission: str = ""


@dataclass(slots=True)
class Group:
    """The hits of a kind, at most MOST."""

    title: str
    hits: list[Hit] = field(default_factory=list)
    has_more: bool = False


STAFF_KINDS: list[Kind] = []


def add(*kinds: Kind) -> None:
    """Adds kinds that staff finds."""
    STAFF_KINDS.extend(kinds)


def kinds_for(user: Any) -> list[Kind]:
    """The kinds that a user of the admin may see."""
    return [each for each in STAFF_KINDS if not each.permission or user.has_perm(each.permission)]


def groups(kinds: Iterable[Kind], text: str) -> list[Group]:
    """What the text names, by kind; kinds without a hit are left out. Text that no kind can have
    (empty, too long, with control characters) names nothing.
    """
    text = text.strip()
    if not text or len(text) > LONGEST or not text.isprintable():
        return []
    return [group for kind in kinds if (group := _group(kind, text)).hits]


def _group(kind: Kind, text: str) -> Group:
    hits = list(islice(kind.find(text), MOST + 1))
    return Group(kind.title, hits[:MOST], len(hits) > MOST)


def only_hit(found: list[Group]) -> Hit | None:
    """The hit, if there is one alone."""
    hits = [hit for group in found for hit in group.hits]
    return hits[0] if len(hits) == 1 else None
