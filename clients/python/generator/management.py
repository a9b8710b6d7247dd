"""Methods of the management API, a class for each resource."""

import re
from collections import defaultdict
from keyword import iskeyword
from typing import Any

from generator.naming import docstring, pascal, singular, snake
from generator.rpc import Argument
from generator.types import Schema, hint, reached, renamed

PREFIX = "Managed"
_ROOT = "/manage/v1/"
_HEAD = '''\
"""Generated: the calls of the management API, a class for each resource."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from tidemark import management_types as types
from tidemark._async.caller import AsyncCaller
from tidemark.values import UNSET, Unset, body_of, query_of
'''
_VERBS = {"retrieve": "get", "partial_update": "change", "destroy": "delete"}
# Single answers, which the framework calls lists.
_READ = {"usage", "coverage"}
_LATER = ("Idempotency-Key", "If-Match", "cursor")


def schemas_of(http: dict[str, Any]) -> dict[str, Schema]:
    """The schemas of what the API returns, without their common prefix."""
    every = http["components"]["schemas"]
    answers = [
        operation["responses"]
        for path, operations in http["paths"].items()
        if path.startswith(_ROOT)
        for operation in operations.values()
    ]
    return {
        name.removeprefix(PREFIX): renamed(every[name], PREFIX)
        for name in sorted(reached(every, answers))
        if not name.startswith("Paginated")
    }


def module(http: dict[str, Any]) -> str:
    resources: dict[str, list[str]] = defaultdict(list)
    for path, operations in http["paths"].items():
        if path.startswith(_ROOT):
            for verb, operation in operations.items():
                name = _resource(path)
                resources[name].append(_method(name, path, verb, operation, http))
    classes = [
        f"\n\nclass Async{pascal(name)}:\n"
        f'    """{name.replace("_", " ").capitalize()}."""\n\n'
        "    def __init__(self, caller: AsyncCaller) -> None:\n"
        "        self._caller = caller\n\n" + "\n".join(methods)
        for name, methods in resources.items()
    ]
    declared = "".join(f"    {name}: Async{pascal(name)}\n" for name in resources)
    attributes = "".join(
        f"        self.{name} = Async{pascal(name)}(caller)\n" for name in resources
    )
    everything = (
        "\n\nclass AsyncResources:\n"
        '    """Every resource of the management API."""\n\n'
        f"{declared}\n    def __init__(self, caller: AsyncCaller) -> None:\n{attributes}"
    )
    return _HEAD + "".join(classes) + everything


def _resource(path: str) -> str:
    """`/manage/v1/gaps/ledger/{id}` → `ledger_gaps`."""
    parts = path.removeprefix(_ROOT).split("/")
    return f"{parts[1]}_gaps" if parts[0] == "gaps" else snake(parts[0])


def _method(
    resource: str, path: str, verb: str, operation: dict[str, Any], http: dict[str, Any]
) -> str:
    action = _action(resource, path, operation)
    given = [each for each in operation.get("parameters", []) if each["name"] not in _LATER]
    headers = {each["name"]: each for each in operation.get("parameters", [])}
    positional = [
        Argument(f"{singular(resource)}_id", "id", "int", True, "") for each in given
        if each["in"] == "path"
    ]  # fmt: skip
    query = [_argument(each, each["schema"], each.get("required", False)) for each in given
             if each["in"] == "query"]  # fmt: skip
    query = [_page_size(each) for each in query]
    body = _body(operation, http)
    named = [*query, *body]
    options, sent = _options(headers)
    result, call = _call(path, verb, operation, positional, query, body, sent, action)
    named.sort(key=lambda each: not each.required)
    arguments = ["self", *(f"{each.name}: {each.kind}" for each in positional)]
    shown = [_declared(each, each in body) for each in named if each.required]
    shown += options["required"]
    shown += [_declared(each, each in body) for each in named if not each.required]
    shown += options["optional"]
    arguments += ["*", *shown] if shown else []
    text = docstring(
        operation["description"],
        [*((each.name, each.meaning) for each in named), *options["texts"]],
        8,
    )
    if action == "list":
        head = f"    async def list({', '.join(arguments)}) -> AsyncIterator[{result}]:"
        return f"{head}\n{text}\n        async for each in {call}:\n            yield each\n"
    head = f"    async def {action}({', '.join(arguments)}) -> {result}:"
    if result == "None":
        return f"{head}\n{text}\n        await {call}\n"
    return f"{head}\n{text}\n        answer: {result} = await {call}\n        return answer\n"


def _action(resource: str, path: str, operation: dict[str, Any]) -> str:
    basename = "gaps" + pascal(path.split("/")[4]) if "/gaps/" in path else ""
    camel = basename or re.sub("_(.)", lambda found: found[1].upper(), resource)
    action = snake(operation["operationId"].removeprefix(camel))
    if action == "list" and resource in _READ:
        return "read"
    return _VERBS.get(action, action)


def _call(
    path: str,
    verb: str,
    operation: dict[str, Any],
    positional: list[Argument],
    query: list[Argument],
    body: list[Argument],
    sent: list[str],
    action: str,
) -> tuple[str, str]:
    """The result's annotation, and the expression that makes the call."""
    inside = path
    for each in positional:
        inside = inside.replace("{" + each.wire + "}", "{" + each.name + "}")
    quoted = f'{"f" if positional else ""}"{inside}"'
    asked = f"query_of({_pairs(query)})" if query else ""
    answer = next(iter(operation["responses"].values())).get("content", {})
    kind, described = next(iter(answer.items())) if answer else ("", {"schema": {"type": "null"}})
    schema = renamed(described["schema"], PREFIX)
    if action == "list":
        item = schema["$ref"].rpartition("/")[2].removeprefix("PaginatedManaged")
        result = f"types.{item.removesuffix('List')}"
        return result, f"self._caller.pages({quoted}, {result}, {asked})"
    result = hint(schema)
    if kind == "text/csv":
        return "str", f"self._caller.text({quoted}, {asked})"
    if verb == "get":
        asked = f", {asked}" if asked else ""
        return result, f"self._caller.get({quoted}, {result}{asked})"
    parts = [f'"{verb.upper()}"', quoted, result]
    parts += [f"body_of({_pairs(body)})"] if body else []
    return result, f"self._caller.write({', '.join([*parts, *sent])})"


def _pairs(arguments: list[Argument]) -> str:
    """Keyword arguments with the wire's names; Python's own words cannot be such."""
    plain = [f"{each.wire}={each.name}" for each in arguments if not iskeyword(each.wire)]
    others = [f'"{each.wire}": {each.name}' for each in arguments if iskeyword(each.wire)]
    return ", ".join([*plain, *([f"**{{{', '.join(others)}}}"] if others else [])])


def _body(operation: dict[str, Any], http: dict[str, Any]) -> list[Argument]:
    content = operation.get("requestBody", {}).get("content", {})
    if not content:
        return []
    reference = content["application/json"]["schema"]["$ref"]
    schema = http["components"]["schemas"][reference.rpartition("/")[2]]
    required = schema.get("required", [])
    return [
        _argument({"name": name, **each}, renamed(each, PREFIX), name in required)
        for name, each in schema["properties"].items()
        if not each.get("readOnly")
    ]


def _argument(described: dict[str, Any], schema: Schema, required: bool) -> Argument:
    kind = _kind(schema)
    # drf-spectacular lists the choices of an enum in its description, as the annotation does.
    meaning = str(described.get("description", "")).partition("* `")[0].strip()
    return Argument(snake(described["name"]), described["name"], kind, required, meaning)


def _kind(schema: Schema) -> str:
    if schema.get("type") == "array":
        return f"Sequence[{hint(schema['items'])}]"
    return hint(schema).replace("dict[", "Mapping[", 1)


def _page_size(argument: Argument) -> Argument:
    if argument.wire != "limit":
        return argument
    return Argument("page_size", "limit", argument.kind, argument.required, argument.meaning)


def _declared(argument: Argument, of_body: bool) -> str:
    if argument.required:
        return f"{argument.name}: {argument.kind}"
    if of_body:  # null may be a value here, other than no change
        kind = argument.kind.removesuffix(" | None")
        null = " | None" if kind != argument.kind else ""
        return f"{argument.name}: {kind} | Unset{null} = UNSET"
    return f"{argument.name}: {argument.kind} | None = None"


def _options(headers: dict[str, dict[str, Any]]) -> tuple[dict[str, list[Any]], list[str]]:
    """Arguments for the headers of writes, and how they are passed on."""
    found: dict[str, list[Any]] = {"required": [], "optional": [], "texts": []}
    sent = []
    if "If-Match" in headers:
        required = headers["If-Match"].get("required", False)
        found["required" if required else "optional"].append(
            "version: str" if required else "version: str | None = None"
        )
        meaning = "the `version` of what was read; `*` changes any" if required else (
            "the `version` that it must still have"
        )  # fmt: skip
        found["texts"].append(("version", meaning))
        sent.append("version=version")
    if "Idempotency-Key" in headers:
        found["optional"].append("idempotency_key: str | None = None")
        meaning = "a call that is made again with it gets the same response; a new one by default"
        found["texts"].append(("idempotency_key", meaning))
        sent.append("idempotency_key=idempotency_key")
    return found, sent
