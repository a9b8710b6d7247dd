"""The methods that the console offers, by area, with params to begin with."""

from dataclasses import dataclass
from typing import Any

from reference import pages, rpc_documents
from reference.paths import rpc_path


@dataclass(frozen=True, slots=True)
class Choice:
    """A method, the page that describes it, and an example's params as JSON."""

    path: str
    name: str
    page: str
    params: str


@dataclass(frozen=True, slots=True)
class Area:
    """An area of the reference with its methods."""

    title: str
    path: str
    choices: tuple[Choice, ...]


def areas(values: dict[str, Any]) -> list[Area]:
    """Every method of each area; those that are passed on to the node are an area of their own."""
    found = [_area(page, values) for page in pages.PAGES if page.paths]
    passed_on = tuple(
        Choice("/", name, "/docs/node/#passed-on", pages.request_text("/", name, values))
        for name in rpc_documents.passed_on([rpc_path("/")])
    )
    if passed_on:
        found.append(Area("The node's own methods", "/", passed_on))
    return found


def _area(page: pages.Page, values: dict[str, Any]) -> Area:
    path = page.paths[0]
    described = pages.operations(page.slug)
    choices = tuple(
        Choice(
            path,
            method.name,
            f"/docs/{page.slug}/{method.name}/"
            if method.name in described
            else f"/docs/node/{method.name}/",
            pages.request_text(path, method.name, values),
        )
        for method in rpc_path(path).methods
    )
    return Area(page.title, path, choices)
