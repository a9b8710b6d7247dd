"""Contents of the reference pages: every method and every plain GET, from its code."""

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from jsonrpc.errors import RpcError
from jsonrpc.openrpc import meaning_of
from jsonrpc.schemas import Schemas
from reference import openapi, rpc_documents, tables
from reference.catalogue import http_status
from reference.examples import EXAMPLES, answer_of, request_of
from reference.get_errors import status_of_get
from reference.paths import Get, RpcPath, gets, rpc_paths
from reference.tables import Row, Type, TypePart

_LONGEST_ANSWER = 48


@dataclass(frozen=True, slots=True)
class Page:
    """A reference page: its name in the URL, its title, a lead, and the paths it describes."""

    slug: str
    title: str
    lead: str
    paths: tuple[str, ...] = ()


PAGES = (
    Page(
        "priority",
        "Land transactions",
        "Signed transactions with a tip: stored before the response, sent to the next leaders,"
        " nodes and block engines at once until they land or expire, with their fate reported.",
        ("/priority",),
    ),
    Page(
        "bundle",
        "Land bundles",
        "Up to four transactions that execute in order in one block, all or none. Clients of a"
        " block engine work with the base URLs `/bundle` and `/api/v1`.",
        ("/bundle", "/bundle/bundles", "/bundle/transactions"),
    ),
    Page(
        "historical",
        "The ledger",
        "Blocks, transactions and signatures, from a ledger of finalized blocks. The methods and"
        " error texts are the standard node's: its clients work unchanged.",
        ("/historical",),
    ),
    Page(
        "rewind",
        "The past",
        "The state of accounts at any position in the past, from an archive of every account write,"
        " and simulations of transactions on it.",
        ("/rewind",),
    ),
    Page(
        "node",
        "The node",
        "Bundle simulation, and all methods of the standard node: those that this service does not"
        " serve itself are passed on to the followed node.",
        ("/",),
    ),
    Page(
        "http",
        "Plain GET",
        "Tip addresses, fates, health: requests by browser or curl, without JSON-RPC.",
    ),
)


@dataclass(frozen=True, slots=True)
class Refused:
    """An error as a table row."""

    reason: str
    code: int
    status: int
    meaning: str


@dataclass(frozen=True, slots=True)
class Operation:
    """A method or a GET as shown on its page. `anchor` is its name in addresses, `types` are those
    that it refers to, and `secret` is what it takes: `KEY`, `METRICS_TOKEN` or nothing.
    """

    name: str
    anchor: str
    path: str
    summary: str
    paragraphs: tuple[str, ...]
    params: tuple[Row, ...]
    answer: tuple[TypePart, ...]
    answer_text: str
    fields: tuple[Row, ...]
    errors: tuple[Refused, ...]
    scope: str
    needs_key: bool
    limit: str
    types: tuple[Type, ...] = ()
    is_get: bool = False
    content_type: str = "application/json"
    secret: str = "KEY"

    @property
    def is_stream(self) -> bool:
        return self.content_type == "text/event-stream"

    @property
    def title(self) -> str:
        return f"GET {self.path}" if self.is_get else self.name


@dataclass(frozen=True, slots=True)
class Section:
    """A path on its page: the operations described here, and the names of those described above."""

    path: str
    aliases: tuple[str, ...]
    hosts: tuple[str, ...]
    needs_key: bool
    operations: tuple[Operation, ...]
    alike: tuple[str, ...]


def page_of(slug: str) -> Page:
    """The page of that name; KeyError if there is none."""
    for each in PAGES:
        if each.slug == slug:
            return each
    raise KeyError(slug)


@cache
def sections(slug: str) -> list[Section]:
    """The paths of a page; none of the plain GETs."""
    found = [each for each in rpc_paths() if each.path in page_of(slug).paths]
    return [_section(each, found[0], Schemas()) for each in found]


@cache
def plain_gets() -> list[Operation]:
    """Every plain GET."""
    made = openapi.described_gets()
    schemas = Schemas()
    schemas.components.update(made["components"]["schemas"])
    return [_get_operation(each, made["paths"][each.path]["get"], schemas) for each in gets()]


@cache
def operations(slug: str) -> dict[str, Operation]:
    """Every operation that the page describes, by anchor."""
    if slug == "http":
        return {each.anchor: each for each in plain_gets()}
    return {each.anchor: each for section in sections(slug) for each in section.operations}


def request_text(path: str, method: str, values: dict[str, Any]) -> str:
    """An example's params as JSON, to edit and send."""
    return json.dumps(request_of(path, method, values), indent=2, ensure_ascii=False)


def answer_text(path: str, method: str) -> str:
    """The recorded response, shortened if it is long."""
    answer = answer_of(path, method)
    if answer is None:
        return ""
    lines = json.dumps({"jsonrpc": "2.0", "id": 1, "result": answer}, indent=2).splitlines()
    cut = lines[:_LONGEST_ANSWER]
    left = len(lines) - len(cut)
    return "\n".join(cut) + (f"\n… {left} lines more" if left else "")


def refused(kind: type[RpcError], status: int | None = None) -> Refused:
    """The error as a table row."""
    found = http_status(kind) if status is None else status
    return Refused(kind.reason, kind.code, found, meaning_of(kind))


def _section(at: RpcPath, first: RpcPath, schemas: Schemas) -> Section:
    operations, alike = [], []
    methods = {method.name: method for method in at.methods}
    order = {each: number for number, each in enumerate(EXAMPLES)}
    for each in sorted(
        rpc_documents.method_objects(at, schemas),
        key=lambda method: order.get((at.path, method["name"]), len(order)),
    ):
        same = first.table.get(each["name"])
        if at is not first and same and same.function is methods[each["name"]].function:
            alike.append(each["name"])
            continue
        anchor = each["name"] if at is first else f"{each['name']}-at-engine"
        operations.append(
            Operation(
                each["name"],
                anchor,
                at.path,
                each["summary"],
                tuple(each["description"].split("\n\n")),
                tuple(tables.param_rows(each["params"], schemas)),
                tuple(tables.words(each["result"]["schema"])),
                each["result"]["schema"].get("description", ""),
                tuple(tables.result_rows(each["result"]["schema"], schemas)),
                tuple(refused(kind) for kind in methods[each["name"]].errors),
                each["x-scope"],
                each["x-key"] == "required",
                each["x-limit"],
                tuple(tables.types(schemas, each["params"], each["result"])),
            )
        )
    hosts = tuple(sorted(at.policy.hosts))
    return Section(
        at.path, at.aliases, hosts, at.policy.key_required, tuple(operations), tuple(alike)
    )


def _get_operation(get: Get, made: dict[str, Any], schemas: Schemas) -> Operation:
    view = get.view
    schema = made["responses"]["200"]["content"][view.content_type]["schema"]
    params = [{"required": False, **each} for each in made.get("parameters", ())]
    security = made.get("security", ())
    return Operation(
        view.name,
        view.name,
        get.path,
        made["summary"],
        tuple(made["description"].split("\n\n")),
        tuple(tables.param_rows(params, schemas)),
        tuple(tables.words(schema)),
        "",
        tuple(tables.result_rows(schema, schemas)),
        tuple(refused(kind, status_of_get(kind)) for kind in view.errors),
        made.get("x-scope", ""),
        {"key": []} in security and {} not in security,
        "requests",
        tuple(tables.types(schemas, made.get("parameters", ()), schema)),
        is_get=True,
        content_type=view.content_type,
        secret=_secret(security),
    )


def _secret(security: Any) -> str:
    if {"key": []} in security:
        return "KEY"
    return "METRICS_TOKEN" if {"metrics": []} in security else ""
