"""Docstrings as descriptions: a text, and a line for each part."""

import inspect
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

_LINE = re.compile(r"^(?P<name>[a-z_][a-z0-9_]*): (?P<text>\S.*)$")


@dataclass(frozen=True, slots=True)
class Description:
    """`summary` is the first sentence, `text` everything before the lines of the parts."""

    summary: str = ""
    text: str = ""
    parts: Mapping[str, str] = field(default_factory=dict)


def described(thing: object, parts: Collection[str]) -> Description:
    """Parses the docstring of a function or a class:

        A summary sentence. More sentences.

        slot: the meaning of this part,
            continued with an indent

    A line describes a part if its name is one of `parts`.
    """
    own = thing.__dict__.get("__doc__") if isinstance(thing, type) else thing.__doc__
    lead: list[str] = []
    found: dict[str, list[str]] = {}
    current = lead
    for line in inspect.cleandoc(own or "").splitlines():
        match = _LINE.match(line)
        if match and match["name"] in parts:
            current = found.setdefault(match["name"], [])
            line = match["text"]
        elif not line.startswith(" ") and current is not lead:
            current = lead
        current.append(line)
    text = _paragraphs(lead)
    return Description(
        _summary(text), text, {name: " ".join(_words(found[name])) for name in found}
    )


def described_fields(kind: type, parts: Collection[str]) -> Description:
    """The same for a class; inherited fields may be described in the base classes."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        if each is not object:
            found |= described(each, parts).parts
    own = described(kind, parts)
    return Description(own.summary, own.text, found)


def _words(lines: list[str]) -> list[str]:
    return " ".join(lines).split()


def _paragraphs(lines: list[str]) -> str:
    blocks = "\n".join(lines).split("\n\n")
    return "\n\n".join(" ".join(block.split()) for block in blocks if block.strip())


def _summary(text: str) -> str:
    first = text.partition("\n\n")[0]
    end = re.search(r"[.!?](?= [A-Z`\"])", first)
    return (first[: end.start()] if end else first).rstrip(".")
