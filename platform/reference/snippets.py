"""The README's snippets with the reader's host; the tests run the same text."""

import re
from functools import cache

from django.conf import settings

# The service's URL in the README.
_ADDRESS = "http://127.0.0.1:8000"
# The README explains keys before its snippets; the pages have a text of their own.
_KEY = "export KEY  # as above\n"
_LANGUAGES = {"sh": "Shell", "python": "Python", "ts": "TypeScript"}


def snippet(section: str, language: str, number: int, base: str) -> str:
    """The section's snippet of that number in the language; empty if there is none."""
    found = _of_section(section)[language]
    return found[number].replace(_ADDRESS, base).removeprefix(_KEY) if number < len(found) else ""


def language_name(language: str) -> str:
    return _LANGUAGES[language]


@cache
def _of_section(name: str) -> dict[str, list[str]]:
    file = settings.ROOT / "README.md"
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    section = text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    return {
        language: re.findall(rf"^```{language}\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
        for language in _LANGUAGES
    }
