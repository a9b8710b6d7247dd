"""The guides: the Markdown pages of the repository, as `/docs/` serves them."""

import posixpath
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.conf import settings
from django.templatetags.static import static

from reference.markdown import Rendered, render


@dataclass(frozen=True, slots=True)
class Group:
    """Guides under one heading of the navigation, by their names in the address."""

    title: str
    slugs: tuple[str, ...]


GROUPS = (
    Group(
        "Guides",
        (
            "guides/first-transaction",
            "guides/land-under-load",
            "guides/read-the-past",
            "guides/verify-a-webhook",
            "guides/index-with-a-memory",
            "guides/in-front-of-mainnet",
            "guides/to-a-cluster",
        ),
    ),
    Group(
        "Subjects",
        (
            "concepts",
            "clients",
            "subscriptions",
            "grpc",
            "landing",
            "events",
            "the-past",
            "proof",
            "ledger",
        ),
    ),
    Group(
        "Operation",
        (
            "operators",
            "management",
            "alarms",
            "deployment",
            "settings",
            "following",
            "localnet",
            "metrics",
        ),
    ),
    Group(
        "Development",
        (
            "architecture",
            "contributing",
            "testing",
            "benchmarks",
            "decisions",
            "releasing",
            "security",
        ),
    ),
)

# Files that are served under another name than theirs.
_FILES = {
    "contributing": "CONTRIBUTING.md",
    "decisions": "docs/decisions/README.md",
    "security": "SECURITY.md",
}
_ADDRESSES = {
    "README.md": "/docs/",
    "CHANGELOG.md": "/docs/changelog/",
    **{file: f"/docs/{slug}/" for slug, file in _FILES.items()},
}


def slugs() -> tuple[str, ...]:
    return tuple(slug for group in GROUPS for slug in group.slugs)


def file_of(slug: str) -> str:
    """The guide's file, relative to the repository."""
    return _FILES.get(slug, f"docs/{slug}.md")


@cache
def page(file: str) -> Rendered:
    """The file as HTML. Raises FileNotFoundError."""
    text = (settings.ROOT / file).read_text(encoding="utf-8")
    folder = posixpath.dirname(file)
    return render(text, lambda target: address_of(target, folder))


@cache
def navigation() -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """Each group's title, and its guides as (slug, title)."""
    return tuple(
        (group.title, tuple((slug, _title(slug)) for slug in group.slugs)) for group in GROUPS
    )


@cache
def decisions() -> tuple[str, ...]:
    """The slug of every decision; their index is a guide."""
    files = (settings.ROOT / "docs/decisions").glob("*.md")
    return tuple(sorted(file.stem for file in files if file.stem != "README"))


def address_of(target: str, folder: str) -> str:
    """The address here of what a page in that folder of the repository links to."""
    path, mark, anchor = target.partition("#")
    if not path or "://" in path or path.startswith("/"):
        return target
    file = posixpath.normpath(posixpath.join(folder, path))
    if file in _ADDRESSES:
        address = _ADDRESSES[file]
    elif file.startswith("docs/pictures/"):
        address = static(file)
    elif file == "docs/decisions" or (file.startswith("docs/") and file.endswith(".md")):
        address = f"/{file.removesuffix('.md')}/"
    else:
        return target
    return f"{address}{mark}{anchor}"


def _title(slug: str) -> str:
    """The first line of a page, without its marks."""
    file: Path = settings.ROOT / file_of(slug)
    if not file.exists():
        return file.stem
    with file.open(encoding="utf-8") as lines:
        return lines.readline().strip().removeprefix("# ").replace("`", "")
