"""Names and texts of what is generated."""

import keyword
import re
import textwrap
from collections.abc import Iterable

_WIDTH = 96


def snake(name: str) -> str:
    """`getAccountInfo` → `get_account_info`, `ttl-classes` → `ttl_classes`."""
    found = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).replace("-", "_").lower()
    return f"{found}_" if keyword.iskeyword(found) else found


def pascal(name: str) -> str:
    """`rate_limited` → `RateLimited`."""
    return "".join(each[:1].upper() + each[1:] for each in re.split("[_-]", name))


def singular(name: str) -> str:
    """`ttl_classes` → `ttl_class`."""
    if name.endswith("ies"):
        return name[:-3] + "y"
    if name.endswith("sses"):
        return name[:-2]
    return name.removesuffix("s")


def docstring(text: str, parts: Iterable[tuple[str, str]], indent: int, ending: str = "") -> str:
    """A docstring: the text, a line for each part, and what it ends with."""
    margin = " " * indent
    lines = textwrap.wrap(_sentence(text), _WIDTH - indent - 3)
    described = [
        line
        for name, meaning in parts
        if meaning
        for line in textwrap.wrap(f"{name}: {meaning}", _WIDTH - indent, subsequent_indent="  ")
    ]
    if ending:
        described += textwrap.wrap(ending, _WIDTH - indent, subsequent_indent="  ")
    if not described and len(lines) == 1:
        return f'{margin}"""{lines[0]}"""'
    body = lines + ([""] if described else []) + described
    rest = [margin + each if each else "" for each in body[1:]]
    return "\n".join([f'{margin}"""{body[0]}', *rest, f'{margin}"""'])


def _sentence(text: str) -> str:
    one_line = " ".join(text.split())
    return one_line if one_line.endswith((".", "…", "?")) else f"{one_line}."
