"""What the search of the docs finds: methods, fields, errors, settings, events, and sections."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings

from access.error_advice import advice
from alerts.kinds import KINDS, Audience
from reference import guides, pages, rpc_documents
from reference.catalogue import errors
from reference.markdown import anchor_of
from reference.paths import rpc_paths
from reference.tables import Row

_HEADING = re.compile(r"^(#{1,3}) (.+)$", re.MULTILINE)
_FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
# A row of a table whose first cell is names: of settings, or a metric's.
_NAMED_ROW = re.compile(r"^\| ((?:`\w+`(?:, )?)+) \|(.+)\|$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_MARKS = re.compile(r"[`*|#>]|^-+$", re.MULTILINE)
# Pages whose tables have a name in each row, and what these are.
_NAMED = {"settings": "Settings", "metrics": "Metrics"}
_KINDS = {"changelog": "Changes", "decisions": "Decisions"}


@dataclass(frozen=True, slots=True)
class Entry:
    """A place of the docs: its kind, title and address, the page it stands on, and its text."""

    kind: str
    title: str
    address: str
    page: str
    text: str


def entries() -> Iterator[Entry]:
    """Every place that can be found."""
    yield from _operations()
    yield from _passed_on()
    yield from _errors()
    yield from _events()
    for slug in guides.slugs():
        yield from _sections(slug, guides.file_of(slug))
    yield from _sections("changelog", "CHANGELOG.md")
    for slug in guides.decisions():
        yield from _sections(f"decisions/{slug}", f"docs/decisions/{slug}.md")


def _operations() -> Iterator[Entry]:
    fields: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for page in pages.PAGES:
        yield Entry("Pages", page.title, f"/docs/{page.slug}/", "Reference", page.lead)
        for anchor, each in pages.operations(page.slug).items():
            address = f"/docs/{page.slug}/{anchor}/"
            text = " ".join([*each.paragraphs, *(error.reason for error in each.errors)])
            yield Entry("Methods", each.title, address, page.title, _plain(text))
            rows: list[Row] = [*each.params, *each.fields]
            for kind in each.types:
                rows += kind.rows
            for row in rows:
                fields[row.name, row.text].append((each.title, address))
    for (name, text), places in fields.items():
        titles = list(dict.fromkeys(title for title, _ in places))
        of = ", ".join(titles[:3]) + (f" and {len(titles) - 3} more" if titles[3:] else "")
        yield Entry("Fields", name, places[0][1], of, _plain(text))


def _passed_on() -> Iterator[Entry]:
    for name in rpc_documents.passed_on(rpc_paths()):
        text = "A method of the standard Solana RPC, passed on to the node that is followed."
        yield Entry("Methods", name, "/docs/node/#passed-on", "The node", text)


def _errors() -> Iterator[Entry]:
    for kind in errors():
        error = pages.refused(kind)
        text = f"{error.meaning} {advice(kind)} {error.code} HTTP {error.status}"
        yield Entry("Errors", error.reason, f"/docs/errors/#{error.reason}", "Errors", _plain(text))


def _events() -> Iterator[Entry]:
    for kind in KINDS.values():
        if kind.audience is Audience.CUSTOMER:
            address = f"/docs/webhooks/#{kind.name}"
            yield Entry("Events", kind.name, address, "Webhooks", _plain(kind.meaning))


def _sections(slug: str, file: str) -> Iterator[Entry]:
    """The page's sections, down to the third level, and the rows of tables of names."""
    path = settings.ROOT / file
    if not path.exists():
        return
    text = path.read_text(encoding="utf-8")
    # A comment of a shell's or Python's in a fence is no heading.
    hidden = _FENCED.sub(lambda found: re.sub("^#", "\x00", found[0], flags=re.MULTILINE), text)
    headings = list(_HEADING.finditer(hidden))
    page = headings[0][2].replace("`", "") if headings else slug
    top = slug.partition("/")[0]
    kind = _KINDS.get(top, "Guides" if top == "guides" else "Pages")
    seen: dict[str, int] = defaultdict(int)
    for number, heading in enumerate(headings):
        end = headings[number + 1].start() if number + 1 < len(headings) else len(text)
        title = _plain(heading[2])
        anchor = anchor_of(title)
        again = seen[anchor]
        seen[anchor] += 1
        mark = "" if heading[1] == "#" else f"#{anchor}" + (f"-{again}" if again else "")
        body = hidden[heading.end() : end].replace("\x00", "#")
        yield Entry(kind, title, f"/docs/{slug}/{mark}", page, _plain(body))
        if slug in _NAMED:
            for names, rest in _NAMED_ROW.findall(body):
                for name in re.findall(r"\w+", names):
                    yield Entry(_NAMED[slug], name, f"/docs/{slug}/{mark}", page, _plain(rest))


def _plain(text: str) -> str:
    return _MARKS.sub("", _LINK.sub(r"\1", text)).strip()
