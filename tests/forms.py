"""The forms of a page, as a browser would send them."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urljoin

_NOT_SENT = {"submit", "button", "image", "reset", "file"}
Fields = list[tuple[str, str]]


@dataclass
class Form:
    """A form that is sent by POST: where to, with what, and by which button or choice."""

    action: str
    fields: Fields = field(default_factory=list)
    # Each way to send it: what its button or its chosen action adds.
    ways: list[Fields] = field(default_factory=list)


def forms_of(html: str, page: str) -> list[Form]:
    """The forms of a page that are sent by POST."""
    parser = _Forms(page)
    parser.feed(html)
    for form, way in parser.elsewhere:
        form.ways.append(way)
    return [form for form in parser.forms if form is not None]


class _Forms(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.forms: list[Form | None] = []
        self.elsewhere: list[tuple[Form, Fields]] = []
        self._page = page
        self._by_id: dict[str, Form] = {}
        self._form: Form | None = None
        self._select: tuple[str, list[tuple[str, bool]]] | None = None
        self._text: str | None = None
        self._textarea = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        had = {name: value or "" for name, value in attrs}
        if tag == "form":
            posts = had.get("method", "").lower() == "post"
            self._form = Form(urljoin(self._page, had.get("action", ""))) if posts else None
            if self._form is not None:
                self.forms.append(self._form)
                self._by_id[had.get("id", "")] = self._form
            return
        form = self._by_id.get(had["form"]) if "form" in had else self._form
        name = had.get("name", "")
        if form is None or "disabled" in had:
            return
        kind = had.get("type", "text" if tag == "input" else "submit").lower()
        if (tag == "button" and kind == "submit") or (tag == "input" and kind == "submit"):
            form.ways.append([(name, had.get("value", ""))] if name else [])
        elif tag == "input" and name and kind not in _NOT_SENT:
            if kind not in ("checkbox", "radio"):
                form.fields.append((name, had.get("value", "")))
            elif "checked" in had:
                form.fields.append((name, had.get("value", "on")))
        elif tag == "select" and name:
            self._select = (name, [])
        elif tag == "option" and self._select is not None:
            self._select[1].append((had.get("value", ""), "selected" in had))
        elif tag == "textarea" and name:
            self._text, self._textarea = name, ""

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._textarea += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "textarea" and self._text is not None:
            if self._form is not None:
                self._form.fields.append((self._text, self._textarea.removeprefix("\n")))
            self._text = None
        elif tag == "select" and self._select is not None:
            name, options = self._select
            self._select = None
            if self._form is None:
                return
            chosen = [value for value, is_chosen in options if is_chosen]
            if name == "action":
                self._form.ways += [[(name, value)] for value, _ in options if value]
            elif chosen or options:
                self._form.fields += [(name, value) for value in chosen or [options[0][0]]]
