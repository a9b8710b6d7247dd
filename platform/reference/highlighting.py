"""Code → HTML with its parts in spans, by Pygments' lexers; site.css has their colours."""

from functools import cache, lru_cache
from typing import TYPE_CHECKING

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

if TYPE_CHECKING:
    from pygments.lexer import Lexer

# Pygments' names of the languages that pages have; what is not here is shown plain.
_LEXERS = {
    "sh": "bash",
    "python": "python",
    "ts": "javascript",
    "go": "go",
    "json": "json",
    "toml": "toml",
    "sql": "sql",
    "rust": "rust",
}
# What has a colour, by the beginning of Pygments' token names: few colours, small pages.
_CLASSES = (
    ("Token.Comment", "c"),
    ("Token.Literal.String", "s"),
    ("Token.Literal.Number", "n"),
    ("Token.Keyword", "k"),
    ("Token.Operator.Word", "k"),
    ("Token.Name.Tag", "f"),
    ("Token.Name.Function", "f"),
    ("Token.Name.Variable", "v"),
)


@lru_cache(maxsize=2_048)
def highlighted(text: str, language: str) -> SafeString:
    """The text as HTML; in a language that is not known it is escaped and nothing else."""
    lexer = _lexer(language)
    if lexer is None:
        return escape(text)
    parts: list[list[str]] = []
    for token, piece in lexer.get_tokens(text):
        name = _class_of(str(token))
        if (not piece.strip() and parts) or (parts and parts[-1][0] == name):
            parts[-1][1] += piece
        else:
            parts.append([name, piece])
    made = [
        f'<span class="{name}">{escape(piece)}</span>' if name else escape(piece)
        for name, piece in parts
    ]
    return mark_safe("".join(made))


@cache
def _lexer(language: str) -> "Lexer | None":
    # Imported when it is used: 60 ms, which commands without pages would pay.
    from pygments.lexers import get_lexer_by_name

    name = _LEXERS.get(language)
    return None if name is None else get_lexer_by_name(name, stripnl=False, ensurenl=False)


@cache
def _class_of(token: str) -> str:
    return next((name for beginning, name in _CLASSES if token.startswith(beginning)), "")
