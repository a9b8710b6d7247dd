"""What the pages of the doors show: every method and every plain GET, as its own code says it."""

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from jsonrpc.errors import RpcError
from jsonrpc.openrpc import meaning_of
from jsonrpc.schemas import Schemas
from reference import openapi, rpc_documents, tables
from reference.catalogue import http_status
from reference.doors import Door, Get, doors, gets
from reference.examples import EXAMPLES, answer_of, request_of
from reference.get_errors import status_of_get
from reference.tables import Row, Type, Word

_LONGEST_ANSWER = 48


@dataclass(frozen=True, slots=True)
class Page:
    """A page of doors: its name in the address, its title, a lead, and the paths it tells of."""

    slug: str
    title: str
    lead: str
    paths: tuple[str, ...] = ()


PAGES = (
    Page(
        "priority",
        "Land transactions",
        "Signed transactions that tip: written down before the answer, sent to the next leaders, to"
        " nodes and to block engines at once until they land or never can, and their fate told.",
        ("/priority",),
    ),
    Page(
        "bundle",
        "Land bundles",
        "Up to four transactions, all or none, one after the other in one block. Clients of a block"
        " engine work with the base addresses `/bundle` and `/api/v1`.",
        ("/bundle", "/bundle/bundles", "/bundle/transactions"),
    ),
    Page(
        "historical",
        "The ledger",
        "Blocks, transactions and signatures, from a ledger of finalized blocks. These are the"
        " standard node's methods, with its words for errors: its clients work as they are.",
        ("/historical",),
    ),
    Page(
        "rewind",
        "The past",
        "What accounts were at any position in the past, from an archive of every account write,"
        " and what transactions would have done there.",
        ("/rewind",),
    ),
    Page(
        "node",
        "The node",
        "Simulating bundles, and everything that the standard node answers: what this service does"
        " not answer itself is passed on to the node that is followed.",
        ("/",),
    ),
    Page(
        "http",
        "Plain GET",
        "Tip addresses, fates, health: what a browser or curl can ask without JSON-RPC.",
    ),
)


@dataclass(frozen=True, slots=True)
class Refused:
    """An error as a line of a table."""

    reason: str
    code: int
    status: int
    meaning: str


@dataclass(frozen=True, slots=True)
class Told:
    """A method or a GET as its page shows it."""

    name: str
    anchor: str
    path: str
    paragraphs: tuple[str, ...]
    params: tuple[Row, ...]
    answer: tuple[Word, ...]
    answer_text: str
    fields: tuple[Row, ...]
    errors: tuple[Refused, ...]
    scope: str
    needs_key: bool
    limit: str
    is_get: bool = False
    is_stream: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A door on its page: the methods that are told of, and those that are told of elsewhere."""

    path: str
    aliases: tuple[str, ...]
    hosts: tuple[str, ...]
    needs_key: bool
    told: tuple[Told, ...]
    alike: tuple[str, ...]


def page_of(slug: str) -> Page:
    """The page of that name; KeyError where there is none."""
    for each in PAGES:
        if each.slug == slug:
            return each
    raise KeyError(slug)


@cache
def sections(slug: str) -> tuple[list[Section], list[Type]]:
    """The doors of a page, and the types that they name."""
    page, schemas = page_of(slug), Schemas()
    found = [each for each in doors() if each.path in page.paths]
    made: list[Section] = []
    for each in found:
        made.append(_section(each, found[0], schemas))
    return made, tables.types(schemas)


@cache
def plain_gets() -> tuple[list[Told], list[Type]]:
    """Every plain GET, and the types that they name."""
    made = openapi.described_gets()
    schemas = Schemas()
    schemas.components.update(made["components"]["schemas"])
    return [_told_get(each, made["paths"][each.path]["get"], schemas) for each in gets()], (
        tables.types(schemas)
    )


def request_text(path: str, method: str, values: dict[str, Any]) -> str:
    """An example's params as JSON, to be edited and sent."""
    return json.dumps(request_of(path, method, values), indent=2, ensure_ascii=False)


def answer_text(path: str, method: str) -> str:
    """The answer that was recorded, cut where it is long."""
    answer = answer_of(path, method)
    if answer is None:
        return ""
    lines = json.dumps({"jsonrpc": "2.0", "id": 1, "result": answer}, indent=2).splitlines()
    cut = lines[:_LONGEST_ANSWER]
    left = len(lines) - len(cut)
    return "\n".join(cut) + (f"\n… {left} lines more" if left else "")


def refused(kind: type[RpcError], status: int | None = None) -> Refused:
    """The error as a line of a table."""
    found = http_status(kind) if status is None else status
    return Refused(kind.reason, kind.code, found, meaning_of(kind))


def _section(door: Door, first: Door, schemas: Schemas) -> Section:
    told, alike = [], []
    methods = {method.name: method for method in door.methods}
    order = {each: number for number, each in enumerate(EXAMPLES)}
    for each in sorted(
        rpc_documents.method_objects(door, schemas),
        key=lambda told: order.get((door.path, told["name"]), len(order)),
    ):
        same = first.table.get(each["name"])
        if door is not first and same and same.function is methods[each["name"]].function:
            alike.append(each["name"])
            continue
        anchor = each["name"] if door is first else f"{each['name']}-at-engine"
        told.append(
            Told(
                each["name"],
                anchor,
                door.path,
                tuple(each["description"].split("\n\n")),
                tuple(tables.param_rows(each["params"], schemas)),
                tuple(tables.words(each["result"]["schema"])),
                each["result"]["schema"].get("description", ""),
                tuple(tables.result_rows(each["result"]["schema"], schemas)),
                tuple(refused(kind) for kind in methods[each["name"]].errors),
                each["x-scope"],
                each["x-key"] == "required",
                each["x-limit"],
            )
        )
    hosts = tuple(sorted(door.terms.hosts))
    return Section(
        door.path, door.aliases, hosts, door.terms.key_required, tuple(told), tuple(alike)
    )


def _told_get(get: Get, made: dict[str, Any], schemas: Schemas) -> Told:
    view = get.view
    schema = made["responses"]["200"]["content"][view.content_type]["schema"]
    params = [{"required": False, **each} for each in made.get("parameters", ())]
    security = made.get("security", ())
    return Told(
        view.name,
        view.name,
        get.path,
        tuple(made["description"].split("\n\n")),
        tuple(tables.param_rows(params, schemas)),
        tuple(tables.words(schema)),
        "",
        tuple(tables.result_rows(schema, schemas)),
        tuple(refused(kind, status_of_get(kind)) for kind in view.errors),
        made.get("x-scope", ""),
        {"key": []} in security and {} not in security,
        "requests",
        is_get=True,
        is_stream=view.content_type == "text/event-stream",
    )
