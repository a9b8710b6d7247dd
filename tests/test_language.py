"""Plain product English: dialect words are counted, and no package may get more of them."""

import io
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
AREAS = ("tipping", "historical", "priority", "rewind")

# Dialect, in all its forms → what to write instead.
WORDS = {
    "told tell tells telling teller tellers": "report, return, publish; publisher, outcome",
    "whoever whomever whosoever": "the caller, the client, any worker",
    "nobody nobodys": "no one, none, without",
    "somebody somebodys anybody": "a user, another worker, any caller",
    "noun nouns": "type, value",
    "door doors": "endpoint, path",
    "guest guests stranger strangers": "subscriber, client",
    "flight flights": "submission, transaction",
    "purse purses": "fee payer",
    "happening happenings": "chain event, event",
    "handover outbox parcel parcels": "ingest queue, sender, payload",
    "peek peeks peeked": "remaining quota, read",
    "tally tallies tallied tallying": "counter, counted",
    "heat": "coverage map",
    "ladder ladders rung rungs": "TTL classes, TTL class",
    "drawer drawers keeper keepers": "cache, store, manager",
    "dear": "expensive",
    "anew": "again",
    "mend mends mended mending": "repair, fix",
    "lacks lacking lacked": "without, missing",
}
PHRASES = {
    r"look(?:s|ed|ing)? after": "operate, monitor",
    r"ways? in": "endpoint, entry point",
    r"lets? in": "admit, allow",
    r"leads? astray": "will not work",
    r"knows no": "does not know, does not support",
    r"goes on by itself|go on by themselves": "continues automatically",
    r"shall": "should, must",
    r"left out (?:where|if|unless)": "omitted if, omitted unless",
    r"(?:null|empty) is": "null means, empty means",
}

# How many stand in each package. Lower a number when words go; none is ever raised.
MOST = {
    "access": 0,
    "access/admin": 0,
    "alerts": 0,
    "alerts/admin": 0,
    "chain": 0,
    "columns": 0,
    "config": 0,
    "docs": 0,
    "embedded": 0,
    "eventloop": 0,
    "gaps": 0,
    "gateway": 0,
    "historical": 1,
    "ingest": 0,
    "jsonrpc": 0,
    "localnet": 0,
    "operations": 0,
    "portal": 0,
    "portal/admin": 0,
    "priority": 0,
    "reference": 0,
    "rewind": 7,
    "shared_state": 0,
    "simulator": 0,
    "staff": 0,
    "templates": 0,
    "templates/admin": 0,
    "templates/alerts": 0,
    "templates/docs": 0,
    "templates/portal": 0,
    "templates/staff": 0,
    "templates/unfold": 0,
    "tipping": 0,
    "tipping/admin": 0,
    "upstream": 0,
    "webserver": 0,
}

# Names of tasks, keys in Redis and settings: other versions and deployments have them, they stay.
WIRE_NAMES = (
    "alerts.tasks.tell_people",
    "{NAMESPACE}tallies",
    "DEAR_CALLS",
    "inFlight",
    "streams_lacking",
    "tidemark_in_flight",
    "chain:happenings",
    "FastLeaderHandover",
    "fast leader handover",  # a feature's address and name in Agave
    "{NAMESPACE}handover:",  # the ingest queue's keys in Redis
    '"told_at"',  # a column
    '"ledger_tally"',
    '"archive_tally"',
    '"source_lacks"',  # values of ingest's findings
    # The audit log's word for no user and the Unix account; an icon.
    '"nobody"',
    "`nobody`",
    '"outbox"',
)
# Methods of Python's own files.
FILE_METHODS = {"peek", "tell"}

_INSTEAD = {form: instead for forms, instead in WORDS.items() for form in forms.split()}
_PHRASE = re.compile("|".join(rf"\b({phrase})\b" for phrase in PHRASES))
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_READ = {tokenize.NAME, tokenize.COMMENT, tokenize.STRING}


def dialect(text: str, *, is_python: bool) -> Iterator[tuple[int, str, str]]:
    """(line, word, what to write instead) for each word of the dialect: of a Python file in its
    names, comments and strings.
    """
    if is_python:
        found = list(tokenize.generate_tokens(io.StringIO(text).readline))
        chunks = [
            (each.start[0], each.string)
            for before, each in zip([found[0], *found], found, strict=False)
            if each.type in _READ
            and not (each.string in FILE_METHODS and before.string in (".", "def"))
        ]
    else:
        chunks = [(1, text)]
    for first, chunk in chunks:
        for number, line in enumerate(chunk.split("\n"), first):
            for name in WIRE_NAMES:
                line = line.replace(name, "")
            words = [word.lower() for word in _WORD.findall(line)]
            yield from ((number, word, _INSTEAD[word]) for word in words if word in _INSTEAD)
            for match in _PHRASE.finditer(" ".join(words)):
                instead = list(PHRASES.values())[(match.lastindex or 1) - 1]
                yield number, match[0], instead


def package_of(file: Path) -> str:
    """`alerts`, `alerts/admin`, `templates/portal`, `docs`: a name in MOST."""
    parts = file.relative_to(ROOT).parts
    if parts[0] == "platform":
        parts = parts[1:]
    elif parts[0] not in (*AREAS, "templates"):
        return "docs"
    inner = parts[1] if len(parts) > 2 and (parts[0] == "templates" or parts[1] == "admin") else ""
    return f"{parts[0]}/{inner}" if inner else parts[0]


def files() -> Iterable[Path]:
    for folder in (ROOT / "platform", *(ROOT / area for area in AREAS), ROOT / "templates"):
        for file in sorted(folder.rglob("*")):
            if file.suffix in (".py", ".html", ".md", ".txt") and "migrations" not in file.parts:
                yield file
    yield from (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))


def counted() -> dict[str, list[str]]:
    """`file:line: word → what to write instead` of each word of the dialect, by package."""
    found: dict[str, list[str]] = defaultdict(list)
    for file in files():
        places = found[package_of(file)]
        for line, word, instead in dialect(file.read_text("utf-8"), is_python=file.suffix == ".py"):
            places.append(f"{file.relative_to(ROOT)}:{line}: {word} → {instead}")
    return found


@pytest.fixture(scope="module")
def places() -> dict[str, list[str]]:
    return counted()


def test_no_package_has_more_dialect_than_before(places: dict[str, list[str]]) -> None:
    over = [
        f"{package}: {len(found)} words, at most {MOST.get(package, 0)} are allowed:\n  "
        + "\n  ".join(found[:40])
        for package, found in sorted(places.items())
        if len(found) > MOST.get(package, 0)
    ]
    assert not over, "write plain product English:\n" + "\n".join(over)


def test_every_package_of_the_table_exists(places: dict[str, list[str]]) -> None:
    assert not MOST.keys() - places.keys(), "take these off MOST"


def test_words_are_found_in_names_comments_and_strings() -> None:
    code = (
        '"""A door."""\ndef tell_all(isTold: str):  # for whoever looks after it\n    return "x"\n'
    )
    found = [(line, word) for line, word, _ in dialect(code, is_python=True)]
    assert found == [(1, "door"), (2, "tell"), (2, "told"), (2, "whoever"), (2, "looks after")]
    page = "<p>It tells\nof a retold doorway: the door.</p>"
    assert [word for _, word, _ in dialect(page, is_python=False)] == ["tells", "door"]


if __name__ == "__main__":
    for package, found in sorted(counted().items()):
        words = Counter(re.split(": | →", place)[1] for place in found)
        print(f'    "{package}": {len(found)},  # {words.most_common(4)}')
    print(sum(map(len, counted().values())))
