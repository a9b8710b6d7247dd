"""Markdown → HTML, safely: HTML in a text is shown as text."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Any

from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_MOST_STACKED = 3
# Paths of this service that are code in a text, and links where the service shows it.
_OWN_PATH = re.compile(r"/docs/[\w/.#-]*|/open(rpc|api)\.json")


@dataclass(frozen=True, slots=True)
class Rendered:
    """A text as HTML: its title, and its sections as (anchor, title)."""

    title: str
    html: SafeString
    sections: tuple[tuple[str, str], ...]


def render(text: str, address_of: Callable[[str], str]) -> Rendered:
    """The text as HTML; `address_of` turns each link's and picture's target into an address."""
    parser = _parser()
    tokens = parser.parse(text)
    headings = _anchored(tokens)
    for token in tokens:
        _rewrite(token.children or (), address_of)
    html = mark_safe(parser.renderer.render(tokens, parser.options, {}))
    title = next((title for level, _, title in headings if level == "h1"), "")
    sections = tuple((anchor, title) for level, anchor, title in headings if level == "h2")
    return Rendered(title, html, sections)


def anchor_of(title: str) -> str:
    """The id of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


@cache
def _parser() -> "MarkdownIt":
    # Imported with the first page: 70 ms, which every start would pay.
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.add_render_rule("table_open", _table_open)
    parser.add_render_rule("table_close", _table_close)
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("code_inline", _code_inline)
    return parser


def _anchored(tokens: Sequence["Token"]) -> list[tuple[str, str, str]]:
    """Gives each heading an id; they as (tag, anchor, title)."""
    found: list[tuple[str, str, str]] = []
    for opening, inline in pairwise(tokens):
        if opening.type != "heading_open":
            continue
        title = "".join(each.content for each in inline.children or ())
        anchor = anchor_of(title)
        again = sum(
            re.fullmatch(rf"{re.escape(anchor)}(-\d+)?", each) is not None for _, each, _ in found
        )
        anchor = f"{anchor}-{again}" if again else anchor
        opening.attrSet("id", anchor)
        found.append((opening.tag, anchor, title))
    return found


def _rewrite(tokens: Sequence["Token"], address_of: Callable[[str], str]) -> None:
    is_linked = False
    for token in tokens:
        if token.type in ("link_open", "link_close"):
            is_linked = token.type == "link_open"
        for name in ("href", "src"):
            target = token.attrGet(name)
            if isinstance(target, str):
                token.attrSet(name, address_of(target))
        if token.type == "code_inline":
            token.meta["is_linked"] = is_linked


def _table_open(_: Any, tokens: Sequence["Token"], index: int, *__: Any) -> str:
    head = takewhile(lambda token: token.type != "thead_close", tokens[index:])
    columns = sum(token.type == "th_open" for token in head)
    # Few columns stand one below the other where the screen is narrow; more are scrolled.
    kind = ' class="stacked"' if columns <= _MOST_STACKED else ""
    return f'<div class="scroll" tabindex="0" role="group" aria-label="Table"><table{kind}>\n'


def _table_close(*_: Any) -> str:
    return "</table></div>\n"


def _fence(_: Any, tokens: Sequence["Token"], index: int, *__: Any) -> str:
    return format_html(
        '<div class="tab">'
        '<button type="button" class="plain copy" data-copy="text-{}">Copy</button>'
        '<pre tabindex="0"><code id="text-{}">{}</code></pre></div>\n',
        *(index, index, tokens[index].content),
    )


def _code_inline(_: Any, tokens: Sequence["Token"], index: int, *__: Any) -> str:
    token = tokens[index]
    code = format_html("<code>{}</code>", token.content)
    if token.meta.get("is_linked") or not _OWN_PATH.fullmatch(token.content):
        return code
    return format_html('<a href="{}">{}</a>', conditional_escape(token.content), code)
