"""The guides' snippets with the reader's host; the tests run the same text."""

import re
from functools import cache

from django.conf import settings

from reference import guides

# The service's URL in the guides.
_ADDRESS = "http://127.0.0.1:8000"
_LANGUAGES = {"sh": "Shell", "python": "Python", "ts": "TypeScript"}


def snippet(guide: str, language: str, number: int, base: str) -> str:
    """The guide's snippet of that number in the language; empty if there is none."""
    found = _of_guide(guide)[language]
    return with_address(found[number], base) if number < len(found) else ""


def with_address(text: str, base: str) -> str:
    """The text with the reader's own host."""
    return text.replace(_ADDRESS, base)


def language_name(language: str) -> str:
    return _LANGUAGES[language]


@cache
def _of_guide(slug: str) -> dict[str, list[str]]:
    file = settings.ROOT / guides.file_of(slug)
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    return {
        language: re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        for language in _LANGUAGES
    }
