"""The sidebar of the pages below /docs/, and from it what stands before, after and above a page."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from reference import guides, pages


@dataclass(frozen=True, slots=True)
class Link:
    """A page; `children` are shown while it, or one of them, is read."""

    title: str
    address: str
    children: tuple["Link", ...] = ()
    is_code: bool = False

    def holds(self, address: str) -> bool:
        """Whether it, or a page below it, is at the address."""
        return address.startswith(self.address) if self.children else address == self.address


@dataclass(frozen=True, slots=True)
class Group:
    """Pages under one heading of the sidebar."""

    title: str
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page stands: its group's title, the page above it, and its neighbours."""

    group: str = ""
    above: Link | None = None
    previous: Link | None = None
    next: Link | None = None


_START = (
    Link("Overview", "/docs/"),
    Link("Console", "/docs/console/"),
)


@cache
def groups() -> tuple[Group, ...]:
    """The sidebar, from its top."""
    first, *others = (
        Group(title, tuple(map(_guide, slugs))) for title, slugs in guides.navigation()
    )
    changelog = Link("Changelog", "/docs/changelog/")
    others[-1] = Group(others[-1].title, (*others[-1].links, changelog))
    return (Group("Start", _START), first, Group("Reference", _reference()), *others)


@cache
def place(address: str) -> Place:
    """Where the page at the address stands; empty if it is not in the sidebar, nor below a page."""
    found = list(flat())
    at = next((n for n, (_, _, link) in enumerate(found) if link.address == address), None)
    if at is None:
        return _outside(address)
    group, above, _ = found[at]
    previous = found[at - 1][2] if at else None
    following = found[at + 1][2] if at + 1 < len(found) else None
    return Place(group, above, previous, following)


def _outside(address: str) -> Place:
    """A page below one of the sidebar that does not list it, such as a decision."""
    for group in groups():
        for link in group.links:
            if link.address != "/docs/" and address.startswith(link.address):
                return Place(group.title, link)
    return Place()


def flat() -> Iterator[tuple[str, Link | None, Link]]:
    """Each page of the sidebar in order: its group's title, the page above it, and its link."""
    for group in groups():
        for link in group.links:
            yield group.title, None, link
            for child in link.children:
                yield group.title, link, child


def _guide(named: tuple[str, str]) -> Link:
    slug, title = named
    return Link(title, f"/docs/{slug}/")


def _reference() -> tuple[Link, ...]:
    areas = (
        Link(page.title, f"/docs/{page.slug}/", tuple(_operations(page.slug)))
        for page in pages.PAGES
    )
    return (
        *areas,
        Link("Errors", "/docs/errors/"),
        Link("Limits and headers", "/docs/limits/"),
        Link("Webhooks", "/docs/webhooks/"),
    )


def _operations(slug: str) -> Iterator[Link]:
    for anchor, each in pages.operations(slug).items():
        title = each.path if each.is_get else each.name
        at_engine = " (engine)" if anchor != each.name else ""
        yield Link(f"{title}{at_engine}", f"/docs/{slug}/{anchor}/", is_code=True)
