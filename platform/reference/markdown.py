"""Markdown → HTML, safely: HTML in a text is shown as text."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Any

from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from reference.highlighting import highlighted

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_MOST_STACKED = 3
# Paths of this service that are code in a text, and links where the service shows it.
_OWN_PATH = re.compile(r"/docs/[\w/.#-]*|/open(rpc|api)\.json")
# Names of languages on tabs: fences that follow each other are shown as tabs.
LANGUAGES = {"sh": "Shell", "python": "Python", "ts": "TypeScript", "go": "Go", "json": "JSON"}


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of the second or third level, with its id."""

    level: int
    anchor: str
    title: str


@dataclass(frozen=True, slots=True)
class Rendered:
    """A text as HTML: its title, and its headings below that."""

    title: str
    html: SafeString
    headings: tuple["Heading", ...]


def render(text: str, address_of: Callable[[str], str]) -> Rendered:
    """The text as HTML; `address_of` turns each link's and picture's target into an address."""
    parser = _parser()
    tokens = parser.parse(text)
    headings = _anchored(tokens)
    for token in tokens:
        _rewrite(token.children or (), address_of)
        # A column that is aligned has an inline style, which the content policy blocks.
        if token.attrs.pop("style", "") == "text-align:right":
            token.attrSet("class", "number")
    html = mark_safe(parser.renderer.render(tokens, parser.options, {}))
    title = next((title for level, _, title in headings if level == "h1"), "")
    below = tuple(
        Heading(int(level[1]), anchor, title)
        for level, anchor, title in headings
        if level in ("h2", "h3")
    )
    return Rendered(title, html, below)


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
    parser.add_render_rule("heading_open", _heading_open)
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


def _heading_open(_: Any, tokens: Sequence["Token"], index: int, *__: Any) -> str:
    tag, anchor = tokens[index].tag, tokens[index].attrGet("id")
    if tag == "h1":
        return format_html('<h1 id="{}">', anchor)
    title = "".join(each.content for each in tokens[index + 1].children or ())
    return mark_safe(f"<{tag}") + format_html(
        ' id="{}"><a class="anchor" href="#{}" aria-label="Link to {}"></a>', anchor, anchor, title
    )


def _fence(_: Any, tokens: Sequence["Token"], index: int, *__: Any) -> str:
    language = tokens[index].info.strip()
    shown = format_html(
        '<div class="tab">'
        '<button type="button" class="plain copy" data-copy="text-{}">Copy</button>'
        '<pre tabindex="0"><code id="text-{}">{}</code></pre></div>\n',
        index,
        index,
        highlighted(tokens[index].content, language),
    )
    first, last = _run_of_fences(tokens, index)
    if first == last:
        return shown
    label = format_html(
        '<input type="radio" name="tabs-{}" id="tab-{}" data-language="{}"{}>'
        '<label for="tab-{}">{}</label>',
        first,
        index,
        language,
        mark_safe(" checked" if index == first else ""),
        index,
        LANGUAGES.get(language, language),
    )
    before = '<div class="tabs">' if index == first else ""
    return f"{before}{label}{shown}{'</div>' if index == last else ''}"


def _run_of_fences(tokens: Sequence["Token"], index: int) -> tuple[int, int]:
    """The first and the last of the fences that follow each other around this one."""
    first = last = index
    while first and tokens[first - 1].type == "fence":
        first -= 1
    while last + 1 < len(tokens) and tokens[last + 1].type == "fence":
        last += 1
    return first, last


def _code_inline(_: Any, tokens: Sequence["Token"], index: int, *__: Any) -> str:
    token = tokens[index]
    code = format_html("<code>{}</code>", token.content)
    if token.meta.get("is_linked") or not _OWN_PATH.fullmatch(token.content):
        return code
    return format_html('<a href="{}">{}</a>', conditional_escape(token.content), code)
