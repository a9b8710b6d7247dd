"""The documents are valid OpenRPC 1.3 and OpenAPI 3.1."""

import io
import json
import re
from collections.abc import Iterator
from typing import Any, Literal
from urllib.parse import quote

import msgspec
import pytest
from django.core.management import call_command
from drf_spectacular.drainage import GENERATOR_STATS
from msgspec import UNSET, UnsetType
from openapi_spec_validator import OpenAPIV31SpecValidator, validate

from reference import openapi, rpc_documents
from reference.paths import gets, rpc_paths
from tests.reference.conforming import Conforming
from tests.reference.plain_gets import of_plain_gets

BASE = "http://tidemark.example"


class Known(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """An object of a document: its members except `x-…`."""


class Info(Known):
    title: str
    version: str
    description: str | UnsetType = UNSET


class Server(Known):
    url: str
    name: str | UnsetType = UNSET
    description: str | UnsetType = UNSET


class Descriptor(Known):
    name: str
    schema: dict[str, Any]
    summary: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    required: bool | UnsetType = UNSET


class Error(Known):
    code: int
    message: str
    data: Any = UNSET


class Example(Known):
    name: str
    value: Any


class Pairing(Known):
    name: str
    params: list[Example]
    result: Example


class Method(Known):
    name: str
    params: list[Descriptor]
    result: Descriptor
    summary: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    errors: list[Error] | UnsetType = UNSET
    examples: list[Pairing] | UnsetType = UNSET
    param_structure: Literal["by-name", "by-position", "either"] | UnsetType = UNSET


class Components(Known):
    schemas: dict[str, dict[str, Any]]


class OpenRpc(Known):
    openrpc: str
    info: Info
    methods: list[Method]
    servers: list[Server] | UnsetType = UNSET
    components: Components | UnsetType = UNSET


class Parameter(Known):
    name: str
    in_: Literal["path", "query", "header", "cookie"] = msgspec.field(name="in")
    schema: dict[str, Any]
    description: str | UnsetType = UNSET
    required: bool | UnsetType = UNSET


class Response(Known):
    description: str
    content: dict[str, Any] | UnsetType = UNSET


class Operation(Known):
    responses: dict[str, Response]
    operation_id: str
    summary: str
    description: str
    parameters: list[Parameter] = []
    security: list[dict[str, list[str]]] | UnsetType = UNSET


class Item(Known):
    get: Operation


class GetComponents(Known):
    schemas: dict[str, dict[str, Any]]
    security_schemes: dict[str, Any]


class OpenApi(Known):
    openapi: str
    info: Info
    paths: dict[str, Item]
    servers: list[Server]
    components: GetComponents


KEYWORDS = {
    "$ref", "additionalProperties", "anyOf", "description", "enum", "items", "maxItems",
    "maxLength", "maximum", "minItems", "minLength", "minimum", "pattern", "prefixItems",
    "properties", "required", "title", "type",
}  # fmt: skip


def plain(value: Any) -> Any:
    """The document without what it may have of its own: `x-…`."""
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items() if not name.startswith("x-")}
    return [plain(each) for each in value] if isinstance(value, list) else value


def schemas_in(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    inner = [*schema.get("anyOf", []), *schema.get("prefixItems", [])]
    inner += list(schema.get("properties", {}).values())
    inner += [schema[name] for name in ("items", "additionalProperties") if name in schema]
    for each in inner:
        if isinstance(each, dict):
            yield from schemas_in(each)


def check_schemas(schemas: list[dict[str, Any]], components: dict[str, Any]) -> None:
    for top in [*schemas, *components.values()]:
        for each in schemas_in(top):
            assert each.keys() <= KEYWORDS, each
            if "$ref" in each:
                match = re.fullmatch(r"#/components/schemas/(\w+)", each["$ref"])
                assert match and match[1] in components, each
            if "pattern" in each:
                re.compile(each["pattern"])


@pytest.fixture(scope="module")
def every_rpc_document() -> list[dict[str, Any]]:
    return [rpc_documents.whole_document(BASE)] + [
        rpc_documents.document_of(at, BASE) for at in rpc_paths()
    ]


def test_openrpc_documents_are_valid(every_rpc_document: list[dict[str, Any]]) -> None:
    for document in every_rpc_document:
        read = msgspec.convert(plain(document), OpenRpc)
        assert re.fullmatch(r"1\.3\.\d+", read.openrpc)
        names = [method.name for method in read.methods]
        assert len(names) == len(set(names))
        components = document["components"]["schemas"]
        for method in read.methods:
            required = [param.required for param in method.params]
            assert required == sorted(required, reverse=True), "what is required comes first"
            assert len({param.name for param in method.params}) == len(method.params)
            schemas = [each.schema for each in (*method.params, method.result)]
            check_schemas(schemas, components)


def test_examples_are_what_the_params_take(every_rpc_document: list[dict[str, Any]]) -> None:
    document = every_rpc_document[0]
    conforming = Conforming(document["components"]["schemas"])
    count = 0
    for method in document["methods"]:
        for documented in [method, *method.get("x-also", [])]:
            params = {each["name"]: each for each in documented["params"]}
            for example in documented["examples"]:
                count += 1
                given = {each["name"]: each["value"] for each in example["params"]}
                assert given.keys() <= params.keys()
                assert {n for n, each in params.items() if each["required"]} <= given.keys()
                for name, value in given.items():
                    faults = conforming.faults(value, params[name]["schema"])
                    assert not faults, (method["name"], name)
    assert count > 30


def test_the_openapi_document_is_valid() -> None:
    """Of the plain GETs; the management API's part is drf-spectacular's own, validated below."""
    document = of_plain_gets(openapi.document(BASE))
    read = msgspec.convert(plain(document), OpenApi)
    assert read.openapi.startswith("3.1.")
    identities = [item.get.operation_id for item in read.paths.values()]
    assert len(identities) == len(set(identities))
    schemas = []
    for path, item in read.paths.items():
        assert path.startswith("/")
        for parameter in item.get.parameters:
            assert parameter.in_ != "path" or parameter.required
            schemas.append(parameter.schema)
        for response in item.get.responses.values():
            assert response.description
            for content in (response.content or {}).values():
                schemas.append(content["schema"])
        if item.get.security is not UNSET:
            for each in item.get.security:
                assert each.keys() <= read.components.security_schemes.keys()
    check_schemas(schemas, document["components"]["schemas"])


def test_validators_and_the_generator_itself_find_nothing_wrong() -> None:
    validate(openapi.document(BASE), cls=OpenAPIV31SpecValidator)
    call_command("spectacular", validate=True, fail_on_warn=True, stdout=io.StringIO())
    assert not GENERATOR_STATS


# What each parameter of a query refuses, and the error text.
REFUSED = {
    ("/priority/fates", "limit"): ("0", "bad_query"),
    ("/priority/fates", "before"): ("no signature", "bad_query"),
    ("/priority/tipfloor", "window"): ("7", "bad_query"),
    ("/priority/fetchtipaddress", "ttl"): ("0", "ttl must be at least 1 second, found 0"),
    ("/priority/fetchtipaddress", "count"): ("x", "count must be an integer, found 'x'"),
}
# The process that streams reads these (tests/priority/test_fate_stream.py asks with them).
STREAMED = {("/priority/fates/stream", "signature"), ("/priority/fates/stream", "last_event_id")}


def test_what_is_declared_of_a_query_is_what_is_read(client: Any, api_key: str) -> None:
    declared = {(get.path, each.name) for get in gets() for each in get.view.query}
    assert declared == REFUSED.keys() | STREAMED
    for (path, name), (value, word) in REFUSED.items():
        answer = client.get(f"{path}?{name}={quote(value)}", headers={"Authorization": api_key})
        assert (answer.status_code, answer.json()["error"]) == (400, word), (path, name)
        documented = openapi.document(BASE)["paths"][path]["get"]["responses"]
        assert "400" in documented


def test_a_batch_of_descriptions_is_made_once(client: Any, api_key: str) -> None:
    from reference import methods

    methods._document.cache_clear()
    calls = [{"jsonrpc": "2.0", "id": id_, "method": "rpc.discover"} for id_ in range(20)]
    answer = client.post(
        "/rewind", json.dumps(calls), content_type="application/json", HTTP_AUTHORIZATION=api_key
    )
    documents = [each["result"] for each in answer.json()]
    assert len(documents) == 20 and all(each == documents[0] for each in documents)
    assert methods._document.cache_info().misses == 1


@pytest.mark.parametrize("path", ["/openapi.json", "/sitemap.xml", "/llms.txt", "/docs/errors/"])
def test_an_address_reads_so_many_pages_and_documents_in_all(
    client: Any, nothing_remembered: None, path: str
) -> None:
    def read(path: str, address: str = "192.0.2.7") -> Any:
        return client.get(path, REMOTE_ADDR=address, HTTP_HOST="localhost")

    assert {read("/robots.txt").status_code for _ in range(300)} == {200}
    refused = read(path)
    assert refused.status_code == 429 and 1 <= int(refused["Retry-After"]) <= 60
    assert read(path, "192.0.2.8").status_code == 200
