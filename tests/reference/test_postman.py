"""/postman.json: a request for each method, plain GET and management call."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from reference import openapi
from reference.paths import gets, rpc_paths
from reference.rpc_documents import passed_on

pytestmark = pytest.mark.usefixtures("db", "empty_redis")


@pytest.fixture
def collection(client: Any) -> dict[str, Any]:
    answer = client.get("/postman.json", HTTP_HOST="localhost")
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")
    assert answer["Access-Control-Allow-Origin"] == "*"
    found: dict[str, Any] = answer.json()
    return found


def requests(items: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for item in items:
        if "item" in item:
            yield from requests(item["item"])
        else:
            yield item


def test_it_has_every_method_once_at_each_path(collection: dict[str, Any]) -> None:
    found = []
    for each in requests(collection["item"]):
        request = each["request"]
        if request["method"] == "POST" and "/manage/" not in request["url"]["raw"]:
            body = json.loads(request["body"]["raw"])
            assert (body["jsonrpc"], body["method"]) == ("2.0", each["name"])
            found.append((request["url"]["raw"].removeprefix("{{baseUrl}}"), each["name"]))
    wanted = {(at.path, method.name) for at in rpc_paths() for method in at.methods}
    missing = wanted - set(found)
    assert {name for _, name in missing} <= {"rpc.discover", "whoami"}, "common to all paths"
    assert set(passed_on(rpc_paths())) <= {name for path, name in found if path == "/"}
    assert len(found) == len(set(found))


def test_every_request_has_the_params_that_its_method_needs(collection: dict[str, Any]) -> None:
    bodies = {
        (each["request"]["url"]["raw"].removeprefix("{{baseUrl}}"), each["name"]): each["request"]
        for each in requests(collection["item"])
    }
    for at in rpc_paths():
        for method in at.methods:
            request = bodies.get((at.path, method.name))
            if request is not None:
                params = json.loads(request["body"]["raw"])["params"]
                assert len(params) >= method.params.required, f"{method.name} on {at.path}"


def test_it_has_every_get_and_management_call(collection: dict[str, Any]) -> None:
    names = {each["name"] for each in requests(collection["item"])}
    assert {each.path for each in gets()} <= names
    managed = {
        f"{verb.upper()} {path.removeprefix('/manage/v1')}"
        for path, operations in openapi.described_gets()["paths"].items()
        if path.startswith("/manage/")
        for verb in operations
    }
    assert len(managed) > 70 and managed <= names


def test_it_holds_what_a_sender_needs_and_no_secret(collection: dict[str, Any]) -> None:
    variables = {each["key"]: each["value"] for each in collection["variable"]}
    assert variables.pop("baseUrl") == "http://localhost"
    assert {"apiKey", "managementToken", "signed"} <= set(variables)
    assert not any(variables.values()), "the reader's own values are empty"
    made = {each["name"]: each["request"] for each in requests(collection["item"])}
    issue = made["POST /keys"]
    assert {"name"} <= set(json.loads(issue["body"]["raw"]))
    (rotate,) = made["POST /keys/{id}/rotate"]["url"]["variable"]
    assert rotate["key"] == "id" and ":id" in made["POST /keys/{id}/rotate"]["url"]["path"]
    assert "{signed}" not in json.loads(made["sendTransaction"]["body"]["raw"])["params"]
    listed = {each["key"]: each for each in made["GET /keys"]["url"]["query"]}
    assert listed["limit"]["disabled"] and listed["limit"]["description"]
