"""The guides' snippets with the reader's host; the tests run the same text."""

import re
from functools import cache

from django.conf import settings

from reference import guides
from reference.languages import Request, samples
from reference.markdown import LANGUAGES

# The service's URL in the guides.
_HOST = "127.0.0.1:8000"
_ADDRESS = f"http://{_HOST}"
# The guide's snippets that read, by language and number.
_READS = (("sh", 1), ("python", 1), ("ts", 0))
_READ = {"jsonrpc": "2.0", "id": 1, "method": "getSlot", "params": []}


def snippet(guide: str, language: str, number: int, base: str) -> str:
    """The guide's snippet of that number in the language; empty if there is none."""
    found = _of_guide(guide)[language]
    return with_address(found[number], base) if number < len(found) else ""


def with_address(text: str, base: str) -> str:
    """The text with the reader's own host: in URLs, also of WebSockets, and alone."""
    host = base.partition("://")[2]
    own = {_ADDRESS: base, f"ws://{_HOST}": base.replace("http", "ws", 1), _HOST: host}
    return re.sub("|".join(map(re.escape, own)), lambda found: own[found[0]], text)


def first_reads(base: str) -> list[dict[str, str]]:
    """A first read in each language, with the reader's host: the guide's, and for Go a call."""
    made = [
        {
            "language": LANGUAGES[language],
            "id": f"read-{language}",
            "lexer": language,
            "text": snippet("clients", language, number, base),
        }
        for language, number in _READS
    ]
    go = next(
        each for each in samples(Request(f"{base}/historical", _READ, "KEY")) if each.id == "go"
    )
    return [*made, {"language": "Go", "id": "read-go", "lexer": "go", "text": go.text}]


@cache
def _of_guide(slug: str) -> dict[str, list[str]]:
    file = settings.ROOT / guides.file_of(slug)
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    return {
        language: re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        for language in LANGUAGES
    }
