"""Search in the docs: by method, field, error, setting and text. SQLite's FTS5 ranks, in memory."""

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from threading import Lock

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from reference.search_entries import Entry, entries

# Hits of a kind that a page shows, and what is looked at for them.
MOST = 6
_RANKED = 200
LONGEST = 100
_WORD = re.compile(r"\w+")
# Where excerpts are marked; what no text has.
_OPEN, _CLOSE = "\x01", "\x02"

# Title, its words, the page's title, the text: what a word is worth there.
_QUERY = f"""
SELECT rowid, snippet(docs, 3, '{_OPEN}', '{_CLOSE}', '…', 18), bm25(docs, 12, 8, 2, 1)
FROM docs WHERE docs MATCH ? ORDER BY 3 LIMIT {_RANKED}
"""
# A method is looked for more often than a field of that name, and both than a decision.
_WEIGHTS = {"Guides": 1.6, "Methods": 1.5, "Errors": 1.3, "Decisions": 0.5, "Changes": 0.4}


@dataclass(frozen=True, slots=True)
class Found:
    """A place of the docs with an excerpt, in which the words that were found are marked."""

    entry: Entry
    excerpt: SafeString


@dataclass(slots=True)
class FoundGroup:
    """The best places of one kind, at most MOST."""

    title: str
    hits: list[Found] = field(default_factory=list)
    has_more: bool = False


class Index:
    """The docs in a database of SQLite's in memory; used by one thread at a time."""

    def __init__(self, found: Iterable[Entry]) -> None:
        self._entries = list(found)
        self._lock = Lock()
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        self._database.execute(
            "CREATE VIRTUAL TABLE docs USING fts5(title, words, page, text, prefix='2 3 4')"
        )
        self._database.executemany(
            "INSERT INTO docs (rowid, title, words, page, text) VALUES (?, ?, ?, ?, ?)",
            (
                (number, each.title, words_of(each.title), each.page, each.text)
                for number, each in enumerate(self._entries)
            ),
        )

    def find(self, text: str) -> list[FoundGroup]:
        """What has every word of the text, or if nothing has all of them, any; best kinds first."""
        words = _WORD.findall(text[:LONGEST])
        if not words:
            return []
        quoted = [f'"{word}"*' for word in words]
        rows = self._rows(" AND ".join(quoted)) or self._rows(" OR ".join(quoted))
        asked = text.strip()
        ranked = sorted(rows, key=lambda row: self._rank(row, asked))
        return _grouped(Found(self._entries[number], _marked(part)) for number, part, _ in ranked)

    def _rows(self, query: str) -> Sequence[tuple[int, str, float]]:
        with self._lock:
            return self._database.execute(_QUERY, [query]).fetchall()

    def _rank(self, row: tuple[int, str, float], asked: str) -> float:
        """Lower is better, as FTS5 has it: a title that is the text comes before all others."""
        entry = self._entries[row[0]]
        weight = _WEIGHTS.get(entry.kind, 1.0)
        whole = (entry.title.lower() == asked.lower()) + 2 * (entry.title == asked)
        return (row[2] - 1_000 * whole) * weight


@cache
def index() -> Index:
    """The index of all pages; made once in a process, in a tenth of a second."""
    return Index(entries())


def words_of(title: str) -> str:
    """`getAccountInfo` and `slot_skipped` as words."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", title)


def _marked(excerpt: str) -> SafeString:
    text = " ".join(excerpt.split())
    return mark_safe(escape(text).replace(_OPEN, "<mark>").replace(_CLOSE, "</mark>"))


def _grouped(found: Iterator[Found]) -> list[FoundGroup]:
    groups: dict[str, FoundGroup] = {}
    for each in found:
        group = groups.setdefault(each.entry.kind, FoundGroup(each.entry.kind))
        if len(group.hits) < MOST:
            group.hits.append(each)
        else:
            group.has_more = True
    return list(groups.values())
