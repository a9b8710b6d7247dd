"""Deeds: every page of the admin, and every form, button and action that they offer."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.test import Client

from tests.forms import Fields, forms_of
from tests.staff.admin_walk import OWN, addresses

# The same form again, which leads elsewhere afterwards.
_ALIKE = {"_continue", "_addanother"}
_ORDERS = re.compile(r"/admin/[^?#]*/orders?/")


@dataclass(frozen=True)
class Deed:
    """What a form asks for that is sent by one of its buttons. The name is its route and button."""

    name: str
    path: str
    fields: tuple[tuple[str, str], ...]

    def sent(self, **more: str) -> dict[str, list[str]]:
        """The body of the request."""
        data: dict[str, list[str]] = {}
        for name, value in (*self.fields, *more.items()):
            data.setdefault(name, []).append(value)
        return data


def pages_and_deeds(
    browser: Client,
    states: tuple[dict[str, str], ...],
    typed: dict[str, dict[str, str]],
    is_wanted: Callable[[str], bool],
) -> tuple[dict[str, str], dict[str, Deed]]:
    """The pages that open in this browser, by their routes, and the deeds that they offer, by name.
    `states` are rows of each model, by the address of its list; `typed` what a person would type.
    """
    pages: dict[str, str] = {}
    deeds: dict[str, Deed] = {}
    asked = addresses(states[0])
    for more in states[1:]:
        asked += [page for page in addresses(more) if page.startswith(_of_rows(more))]
    seen = set(asked)
    for page in asked:
        if page in OWN or not is_wanted(route_of(page)):
            continue
        answer = browser.get(page)
        leads = [answer.headers.get("Location", "")]
        if answer.status_code == 200:
            pages.setdefault(route_of(page), page)
            if answer["Content-Type"].startswith("text/html"):
                text = answer.content.decode()
                leads = re.findall(r'href="([^"]*)"', text.replace("&amp;", "&"))
                for deed in _deeds(text, page, states, typed):
                    deeds.setdefault(deed.name, deed)
        asked += [each for each in leads if _ORDERS.match(each) and each not in seen]
        seen.update(leads)
    return pages, deeds


def route_of(path: str) -> str:
    """The path without what is a row's, as `rewind/gap/*/retry/`."""
    parts = path.partition("?")[0].split("/")[2:]  # without /admin/ or /portal/
    key = r"\d[\d-]*|[1-9A-HJ-NP-Za-km-z]{32,}|[0-9a-f-]{36}"
    return "/".join("*" if re.fullmatch(key, part) else part for part in parts) or "/"


def _of_rows(keys: dict[str, str]) -> tuple[str, ...]:
    return tuple(f"{page}{key}/" for page, key in keys.items())


def _deeds(text: str, page: str, states: Any, typed: dict[str, dict[str, str]]) -> list[Deed]:
    model = "/".join(page.split("/")[:4]) + "/"
    found = []
    for form in forms_of(text, page):
        for way in form.ways:
            names = {name for name, _ in way}
            # Each action is sent with the button beside it, which is none of its own.
            if form.action in OWN or names & (_ALIKE | {"index"}):
                continue
            fields = [each for each in form.fields if each[0] != "csrfmiddlewaretoken"]
            if "action" in names:
                fields += [("_selected_action", keys[model]) for keys in states if model in keys]
            elif "_save" in names:
                fields = _filled(fields, typed.get(model, {}))
            name = " ".join([route_of(form.action), *(_shown(*each) for each in way)])
            found.append(Deed(name, form.action, (*fields, *way)))
    return found


def _filled(fields: Fields, typed: dict[str, str]) -> Fields:
    return [*(each for each in fields if each[0] not in typed), *typed.items()]


def _shown(name: str, value: str) -> str:
    if name == "action":
        return value
    return f"{name}={value.partition(':')[0]}" if value else name
