"""The reference is complete: every method, param, field, error and plain GET of the code is in the
documents and on a page, with a description.
"""

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from django.conf import settings

from access import refusal_advice
from access.advice_of_methods import ADVICE
from access.error_advice import OF_ANY_CALL
from access.served_paths import endpoints
from gateway.declarations import TypedGet
from jsonrpc.schemas import Schemas
from reference import openapi, pages, rpc_documents
from reference.catalogue import common_errors, errors
from reference.examples import EXAMPLES, GET_EXAMPLES, RECORDED
from reference.get_errors import errors_of_get
from reference.paths import COMMON_METHODS, gets, rpc_paths
from tests.reference.plain_gets import MANAGEMENT, of_management, of_plain_gets

BASE = "http://tidemark.example"
HOST = "localhost"


@pytest.fixture(scope="module")
def rpc_document() -> dict[str, Any]:
    return rpc_documents.whole_document(BASE)


@pytest.fixture(scope="module")
def get_document() -> dict[str, Any]:
    return of_plain_gets(openapi.document(BASE))


class Words(HTMLParser):
    """A page's text, and the ids of its elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.hrefs: set[str] = set()
        self.words: list[str] = []
        self.feed(text)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                assert value not in self.ids, f"{value} stands twice"
                self.ids.add(value)
            if name == "href" and value:
                self.hrefs.add(value)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.fixture
def page(client: Any, db: None) -> Any:
    def read(path: str) -> Words:
        answer = client.get(path, HTTP_HOST=HOST)
        assert answer.status_code == 200, path
        return Words(answer.content.decode())

    return read


def to_snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda found: f"_{found[0].lower()}", name)


def documented_methods(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for method in document["methods"]:
        yield method
        yield from method.get("x-also", [])


def test_every_method_of_every_path_is_in_the_document(rpc_document: dict[str, Any]) -> None:
    documented = {
        (path, each["name"])
        for each in documented_methods(rpc_document)
        for path in each["x-paths"]
    }
    there = {
        (path, method.name) for path, view in endpoints() for method in getattr(view, "methods", ())
    }
    assert documented == there, (
        f"{sorted(documented ^ there)}: the methods of the urls and of rpc.discover differ: see"
        " rpc_paths() of platform/reference/paths.py. A view's `methods` is its MethodTable"
    )
    assert len(there) > 50
    names = [each["name"] for each in rpc_document["methods"]]
    assert len(names) == len(set(names)), "platform/reference/rpc_documents.py lists a method twice"
    names = rpc_document["x-passed-on"]["methods"]
    unknown = sorted(set(names) - set(settings.PROXY_METHODS))
    assert not unknown, (
        f"rpc.discover lists {unknown}, which PROXY_METHODS of platform/config/settings.py does not"
    )
    assert names == sorted(names), "readers look for a name"


def source_of(name: str) -> str:
    """The function of the method, with its file."""
    function = next(found.function for at in rpc_paths() if (found := at.table.get(name)))
    return f"{function.__name__}() of {function.__module__}"


def test_every_method_and_param_says_what_it_means(rpc_document: dict[str, Any]) -> None:
    for each in documented_methods(rpc_document):
        where = source_of(each["name"])
        assert each["summary"] and each["description"], (
            f"{where} has no docstring: say what the method returns"
        )
        for param in each["params"]:
            name = to_snake(param["name"])
            assert param["description"], f"add a line `{name}: …` to the docstring of {where}"
        schema = each["result"]["schema"]
        kinds = schema.get("anyOf", [schema])
        is_described = "description" in schema or all("$ref" in kind for kind in kinds)
        assert is_described, f"add a line `returns: …` to the docstring of {where}"


def test_every_param_of_the_code_is_documented(rpc_document: dict[str, Any]) -> None:
    documented = {
        (path, each["name"]): each
        for each in documented_methods(rpc_document)
        for path in each["x-paths"]
    }
    for at in rpc_paths():
        for method in at.methods:
            params = documented[at.path, method.name]["params"]
            names = [to_snake(each["name"]) for each in params]
            where = f"{source_of(method.name)}: method_objects() of platform/reference/"
            where += f"rpc_documents.py documents the params {names}"
            assert len(params) == len(method.params.names), f"{where}, not {method.params.names}"
            required = sum(each["required"] for each in params)
            assert required == method.params.required, (
                f"{where}, {required} of them required; the function requires"
                f" {method.params.required}"
            )


@pytest.mark.parametrize("which", ["rpc_document", "get_document"])
def test_every_field_says_what_it_means(which: str, request: pytest.FixtureRequest) -> None:
    document = request.getfixturevalue(which)
    for name, schema in document["components"]["schemas"].items():
        assert schema.get("description"), (
            f"the class {name} has no docstring: say what it holds, with a line `field: …` for each"
        )
        for field, documented in schema["properties"].items():
            line = f"add a line `{to_snake(field)}: …` to the docstring of {name}"
            assert documented.get("description"), line
        missing = sorted(set(schema.get("required", [])) - schema["properties"].keys())
        assert not missing, f"the schema of {name} requires {missing}, which are not its fields"


def test_no_docstring_describes_a_field_that_does_not_exist() -> None:
    """A field that was renamed would leave its line in the text above the others."""
    schemas = Schemas()
    for at in rpc_paths():
        rpc_documents.method_objects(at, schemas)
    schemas.components.update(of_plain_gets(openapi.document(BASE))["components"]["schemas"])
    texts = {name: each.get("description", "") for name, each in schemas.components.items()}
    texts |= {m.name: m.function.__doc__ or "" for at in rpc_paths() for m in at.methods}
    for name, text in texts.items():
        known = ["returns"]
        for at in rpc_paths():
            found = at.table.get(name)
            known += [] if found is None else found.params.names
        lines = re.findall(r"^ *([a-z_]+): \S", text, re.MULTILINE)
        left = sorted(set(lines) - set(known))
        assert not left, (
            f"the docstring of {name} describes {left}, which it does not have: remove or rename"
            " these lines"
        )


def test_every_error_is_documented_where_it_can_occur(rpc_document: dict[str, Any]) -> None:
    documented = {reason for each in rpc_document["x-common-errors"] for reason in _reasons(each)}
    documented |= {
        reason for each in rpc_document["x-passed-on"]["errors"] for reason in _reasons(each)
    }
    for method in documented_methods(rpc_document):
        codes = [each["code"] for each in method["errors"]]
        assert len(codes) == len(set(codes)), (
            f"{source_of(method['name'])} has several entries of one code in its errors: merge them"
            " in platform/reference/rpc_documents.py"
        )
        documented |= {reason for each in method["errors"] for reason in _reasons(each)}
    documented |= {kind.reason for get in gets() for kind in errors_of_get(get.view)}
    documented |= _documented_of_sockets() | _documented_of_management()
    never = sorted({kind.reason for kind in errors()} - documented)
    assert not never, f"no method declares {never}: add the class to `errors=` of @methods.add"
    unknown = sorted(documented - {kind.reason for kind in errors()})
    assert not unknown, (
        f"no error class has the documented reason {unknown}: remove it from errors="
    )


def _documented_of_sockets() -> set[str]:
    """The reasons of subscriptions.errors that the page on subscriptions names."""
    text = (settings.ROOT / "docs/subscriptions.md").read_text(encoding="utf-8")
    kinds = [kind for kind in errors() if kind.__module__ == "subscriptions.errors"]
    return {kind.reason for kind in kinds if f"`{kind.reason}`" in text}


def _documented_of_management() -> set[str]:
    """The reasons of management.errors that its part of the document names."""
    text = json.dumps(of_management(openapi.document(BASE)))
    kinds = [kind for kind in errors() if kind.__module__ == "management.errors"]
    return {kind.reason for kind in kinds if f"`{kind.reason}`" in text}


def test_the_management_api_is_described() -> None:
    for path, item in of_management(openapi.document(BASE)).items():
        for verb, operation in item.items():
            assert operation["summary"] and operation["description"], f"{verb} {path}"
            assert re.fullmatch(r"[a-z]+:(read|write)", operation["x-scope"]), f"{verb} {path}"
            assert {"400", "401", "403", "429"} <= operation["responses"].keys(), f"{verb} {path}"


def _reasons(error: dict[str, Any]) -> list[str]:
    found: list[str] = error["data"]["reasons"]
    return found


def test_every_plain_get_is_in_the_document(get_document: dict[str, Any]) -> None:
    documented = set(get_document["paths"])
    there = set()
    for path, view in endpoints():
        is_page = not issubclass(getattr(view, "cls", object), TypedGet)
        if hasattr(view, "methods") or path.startswith((*settings.ADMIN_PATHS, MANAGEMENT)):
            continue
        pages_elsewhere = ("/admin", "/portal", "/docs", "/openrpc.json", "/openapi.json")
        pages_elsewhere += ("/postman.json", "/status/", "/status/feed/", "/status.json")
        for_machines = ("/llms.txt", "/robots.txt", "/sitemap.xml", "/front/live/")
        if is_page and path in (*pages_elsewhere, *for_machines):
            continue
        there.add(re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", path))
    assert documented == there, (
        f"{sorted(documented ^ there)}: the GETs of the urls and of /openapi.json differ. Make the"
        " view a TypedGet (platform/gateway/declarations.py), or add a page's path to this test"
    )
    for path, item in get_document["paths"].items():
        operation = item["get"]
        assert operation["summary"] and operation["description"], (
            f"the view of {path} has no docstring of a summary and a description"
        )
        named = [each["name"] for each in operation.get("parameters", []) if each["in"] == "path"]
        in_path = re.findall(r"{(\w+)}", path)
        assert named == in_path, f"the view of {path} declares the params {named}, not {in_path}"
        for each in operation.get("parameters", []):
            assert each["description"] and each["schema"], (
                f"add a line `{to_snake(each['name'])}: …` to the docstring of the params of {path}"
            )
        assert "200" in operation["responses"], f"the view of {path} declares no result"


def test_every_method_has_an_example() -> None:
    for at in rpc_paths():
        for method in at.methods:
            if method.name in COMMON_METHODS and at.path != "/":
                continue
            if not method.params.required:
                continue  # the example is a call without params
            alike = [
                other
                for other in rpc_paths()
                if (found := other.table.get(method.name))
                and found.function is method.function
                and (other.path, method.name) in EXAMPLES
            ]
            assert alike, (
                f"{method.name} on {at.path} has no example: add its params to EXAMPLES in"
                " platform/reference/examples.py, then record the response with RECORD_EXAMPLES=1"
                " .venv/bin/pytest tests/clients/test_shown_answers.py"
            )


def test_every_example_has_a_recorded_response() -> None:
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))["answers"].keys()
    expected = {f"{path} {method}" for path, method in EXAMPLES if method != "rpc.discover"}
    assert recorded == expected, (
        f"{sorted(recorded ^ expected)}: platform/reference/recorded.json and EXAMPLES in"
        " platform/reference/examples.py differ. Record the responses with RECORD_EXAMPLES=1"
        " .venv/bin/pytest -q tests/clients/test_shown_answers.py"
    )


def test_every_operation_has_a_page_with_its_parts(page: Any) -> None:
    shown: set[tuple[str, str]] = set()
    for each in pages.PAGES:
        if each.slug == "http":
            continue
        words = page(f"/docs/{each.slug}/")
        for section in pages.sections(each.slug):
            assert section.path in words.text
            assert all(alias in words.text for alias in section.aliases)
            assert all(name in words.text for name in section.alike)
            shown |= {(section.path, name) for name in section.alike}
            for documented in section.operations:
                # Links of before an operation had a page of its own lead to its row.
                assert documented.anchor in words.ids
                address = f"/docs/{each.slug}/{documented.anchor}/"
                assert address in words.hrefs
                shown.add((section.path, documented.name))
                has_its_parts(page(address), documented)
    there = {
        (at.path, method.name)
        for at in rpc_paths()
        for method in at.methods
        if method.name not in COMMON_METHODS or at.path == "/"
    }
    assert there == shown, (
        f"{sorted(there ^ shown)}: the methods and the pages under /docs/ differ. Give the area a"
        " page in PAGES of platform/reference/pages.py"
    )


def has_its_parts(words: Words, documented: pages.Operation) -> None:
    parts = {row.name for row in (*documented.params, *documented.fields)}
    parts |= {row.name for kind in documented.types for row in kind.rows}
    parts |= {error.reason for error in documented.errors}
    missing = sorted(part for part in parts if part not in words.text)
    assert not missing, f"the page of {documented.title} has no {missing}"
    links = {href[1:] for href in words.hrefs if href.startswith("#")}
    assert links <= words.ids, links - words.ids


def test_every_plain_get_has_a_page(page: Any) -> None:
    words = page("/docs/http/")
    documented = pages.plain_gets()
    assert {each.path for each in documented} == {each.path for each in gets()}
    for each in documented:
        assert each.anchor in words.ids and f"/docs/http/{each.anchor}/" in words.hrefs
        has_its_parts(page(f"/docs/http/{each.anchor}/"), each)
    assert GET_EXAMPLES.keys() == {each.path for each in documented}, (
        "GET_EXAMPLES of platform/reference/examples.py has an example of each plain GET"
    )


def test_the_page_of_errors_has_every_reason_and_what_to_do(page: Any) -> None:
    words = page("/docs/errors/")
    missing = sorted({kind.reason for kind in errors()} - words.ids)
    assert not missing, f"the page /docs/errors/ lacks {missing}: see platform/reference/pages.py"
    assert len(common_errors()) > 15
    assert "fetch a new blockhash" in words.text.lower()


def test_pages_and_the_catalogue_give_the_same_advice() -> None:
    catalogue = (settings.ROOT / "docs" / "errors.md").read_text("utf-8").replace("`", "")
    rows = re.findall(r"^\| (\w+) \|.* \| (.+?) \|$", catalogue, re.MULTILINE)
    said = {reason: text for reason, text in rows if reason != "reason"}
    assert len(said) > 100 and "block_not_available" in said
    assert said == {reason: refusal_advice.advice(reason) for reason in said}
    assert refusal_advice.advice("no reason of ours").startswith("See the reference")


def test_every_reason_has_advice_of_its_own_and_no_other_has() -> None:
    reasons = {kind.reason for kind in errors()}
    advised = OF_ANY_CALL.keys() | ADVICE.keys()
    assert not OF_ANY_CALL.keys() & ADVICE.keys()
    assert reasons == advised, (
        f"{sorted(reasons ^ advised)}: give each reason a sentence in"
        " platform/access/advice_of_methods.py that says what the caller can do"
    )


def test_documents_are_served_for_the_readers_host(client: Any) -> None:
    answer = client.get("/openrpc.json", HTTP_HOST=f"{HOST}:8123")
    document = json.loads(answer.content)
    assert document["servers"][0]["url"] == f"http://{HOST}:8123"
    assert answer["Access-Control-Allow-Origin"] == "*"
    document = json.loads(client.get("/openapi.json", HTTP_HOST=HOST).content)
    assert document["servers"][0]["url"] == f"http://{HOST}"


def test_each_path_describes_itself(rpc: Any) -> None:
    for path in ("/", "/priority", "/bundle", "/historical", "/rewind", "/api/v1/bundles"):
        document = rpc(path, "rpc.discover")["result"]
        table = next(at.table for at in rpc_paths() if path in (at.path, *at.aliases))
        names = [each["name"] for each in document["methods"]]
        assert names == [method.name for method in table]
        assert document["servers"][0]["url"] == f"http://{HOST}"


def test_a_method_asked_for_at_the_wrong_path_gets_the_right_one(rpc: Any) -> None:
    def data(path: str, method: str) -> dict[str, Any]:
        found: dict[str, Any] = rpc(path, method)["error"]["data"]
        return found

    assert data("/historical", "getRewindCoverage")["servedAt"] == ["/rewind"]
    assert data("/rewind", "getBundleFate")["servedAt"] == ["/bundle"]
    assert data("/bundle", "getTransactionFate")["servedAt"] == ["/priority"]
    assert data("/rewind", "getHealth")["servedAt"] == ["/", "/priority"]
    assert data("/rewind", "getslot") == {"reason": "method_not_found", "method": "getslot"}
