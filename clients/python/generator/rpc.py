"""Methods of the JSON-RPC paths and of the plain GETs, a class for each path."""

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

from generator.naming import docstring, pascal, snake
from generator.types import Schema, hint

_HEAD = '''\
"""Generated: the service's methods, a class for each path."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal

from tidemark import types
from tidemark._async.caller import AsyncCaller
from tidemark._io_async import sleep
from tidemark.values import Address, Transaction, TransactionId, params_of, query_of, record_of
'''

# The attribute of the client that a path's methods have.
AREAS = {"/": "node", "/priority": "priority", "/bundle": "bundle", "/historical": "historical",
         "/rewind": "rewind"}  # fmt: skip
# Methods about the documents themselves, not of use in a typed client.
_METHODS_LEFT_OUT = {"rpc.discover"}
# Those of monitoring, the stream of events, and those that return what a method returns.
_GETS_LEFT_OUT = {
    "metrics",
    "health",
    "healthz",
    "readyz",
    "ping",
    "fatesStream",
    "transactionFate",
    "bundleFate",
    "whoami",
}
# What asks again in another form is one call here.
_ONE_FORM = {
    "simulateBundle": "types.SimulatedBundle",
    "fetchtipaddress": "types.Addresses",
    "tipaddress": "types.Valid | types.NotValid",
}


@dataclass(frozen=True)
class Paged:
    """How the pages of a method follow each other."""

    name: str
    item: str
    items: str
    following: str
    given_as: str
    waits: bool = False


_PAGED = {
    "getAccountChanges": Paged(
        "iterate_account_changes",
        "types.AccountChange",
        "page.value.changes",
        "page.value.next",
        "before",
    ),
    "getSignaturesForAddress": Paged(
        "iterate_signatures_for_address",
        "types.AddressSignature",
        "page",
        "page[-1].signature if page else None",
        "before",
    ),
    "getTransactionsForAddress": Paged(
        "iterate_transactions_for_address",
        "types.AddressSignature | types.TransactionEntry",
        "page.data",
        "page.pagination_token",
        "pagination_token",
    ),
    "getSimulationJobResults": Paged(
        "iterate_simulation_job_results",
        "types.JobResult",
        "page.results",
        "page.next",
        "cursor",
        waits=True,
    ),
    "newestFates": Paged(
        "iterate_newest_fates",
        "types.Fate",
        "page",
        "page[-1].signature if page else None",
        "before",
    ),
}


@dataclass(frozen=True)
class Argument:
    """One argument of a generated method."""

    name: str
    wire: str
    kind: str
    required: bool
    meaning: str
    default: str = ""

    @property
    def declared(self) -> str:
        if self.default:
            return f"{self.name}: {self.kind} = {self.default}"
        return f"{self.name}: {self.kind}{'' if self.required else ' | None = None'}"


def module(rpc: dict[str, Any], http: dict[str, Any]) -> str:
    schemas = rpc["components"]["schemas"]
    methods: dict[str, list[str]] = defaultdict(list)
    for method in rpc["methods"]:
        if method["name"] not in _METHODS_LEFT_OUT:
            methods[AREAS[method["x-path"]]] += _rpc_method(method, schemas)
    for path, operations in http["paths"].items():
        operation = operations.get("get", {})
        name = operation.get("operationId")
        if path.startswith("/manage/") or name in _GETS_LEFT_OUT:
            continue
        area = path.split("/")[1] if path.count("/") > 1 else "node"
        methods[area] += _get(path, operation)
    classes = [
        f"\n\nclass Async{pascal(area)}:\n"
        f'    """The methods of `{path}`."""\n\n'
        "    def __init__(self, caller: AsyncCaller) -> None:\n"
        "        self._caller = caller\n\n" + "\n".join(methods[area])
        for path, area in AREAS.items()
    ]
    return _HEAD + "".join(classes)


def asked_schemas(rpc: dict[str, Any]) -> list[Schema]:
    return [param["schema"] for method in rpc["methods"] for param in method["params"]]


def _rpc_method(method: dict[str, Any], schemas: dict[str, Schema]) -> list[str]:
    name = method["name"]
    positional: list[Argument] = []
    named: list[Argument] = []
    sent: list[str] = []
    params = method["params"][:1] if name == "simulateBundle" else method["params"]
    for param in params:
        record = _record(param["schema"], schemas)
        if record is None:
            argument = _argument(param, param.get("required", False))
            (positional if argument.required else named).append(argument)
            sent.append(argument.name)
            continue
        required = record.get("required", [])
        fields = [
            _argument({"name": each, "schema": schema, **schema}, each in required)
            for each, schema in record["properties"].items()
            if each != "skipPreflight"
        ]
        named += fields
        pairs = [f"{each.wire}={each.name}" for each in fields]
        pairs += ["skipPreflight=True"] if "skipPreflight" in record["properties"] else []
        sent.append(f"record_of({', '.join(pairs)})")
    if any(each.kind.endswith(("Transaction", "Transaction]")) for each in positional):
        named = [_in_base64(each) for each in named]
    named = [_readable(each) for each in named]
    named.sort(key=lambda each: not each.required)
    result = _ONE_FORM.get(name) or hint(method["result"]["schema"])
    call = f'rpc("{method["x-path"]}", "{name}", params_of({", ".join(sent)}), {result})'
    errors = ", ".join(f"`{each}`" for each in method["x-errors"])
    ending = f"Errors of its own: {errors}." if errors else ""
    return _written(
        snake(name.removeprefix("rpc.")), name, method, positional, named, result, call, ending
    )


def _get(path: str, operation: dict[str, Any]) -> list[str]:
    name = operation["operationId"]
    by_place: dict[str, list[Argument]] = {"path": [], "query": []}
    for each in operation.get("parameters", []):
        by_place[each["in"]].append(_argument(each, each["in"] == "path"))
    answers = next(iter(operation["responses"].values()))["content"]
    schema = next(iter(answers.values()))["schema"]
    result = _ONE_FORM.get(name) or hint(schema)
    inside = path
    for each in by_place["path"]:
        inside = inside.replace("{" + each.wire + "}", "{" + each.name + "}")
    quoted = f'{"f" if by_place["path"] else ""}"{inside}"'
    pairs = ", ".join(f"{each.wire}={each.name}" for each in by_place["query"])
    if name == "fetchtipaddress":  # without a parameter it has another form, for old clients
        pairs = pairs.replace("count=count", "count=count or 1")
    query = f", query_of({pairs})" if pairs else ""
    call = f"get({quoted}, {result}{query})"
    shown = {"fetchtipaddress": "fetch_tip_addresses", "tipaddress": "check_tip_address",
             "tipinfo": "tip_info", "tipfloor": "tip_floor"}.get(name, snake(name))  # fmt: skip
    return _written(shown, name, operation, by_place["path"], by_place["query"], result, call, "")


def _written(
    name: str,
    wire: str,
    described: dict[str, Any],
    positional: list[Argument],
    named: list[Argument],
    result: str,
    call: str,
    ending: str,
) -> list[str]:
    arguments = [each.declared for each in positional]
    arguments += ["*", *(each.declared for each in named)] if named else []
    text = docstring(
        described.get("description") or described["summary"],
        [(each.name, each.meaning) for each in (*positional, *named)],
        8,
        ending,
    )
    signature = ", ".join(["self", *arguments])
    found = [
        f"    async def {name}({signature}) -> {result}:\n{text}\n"
        f"        answer: {result} = await self._caller.{call}\n"
        "        return answer\n"
    ]
    if wire in _PAGED:
        found.append(_iterator(_PAGED[wire], name, described, positional, named))
    return found


def _iterator(
    paged: Paged,
    name: str,
    described: dict[str, Any],
    positional: list[Argument],
    named: list[Argument],
) -> str:
    assert any(each.name == paged.given_as for each in named)
    kept = [each for each in named if each.name != paged.given_as]
    arguments = ["self", *(each.declared for each in positional)]
    arguments += ["*", *(each.declared for each in kept)] if kept else []
    passed = [each.name for each in positional]
    passed += [f"{each.name}={each.name}" for each in kept]
    text = docstring(f"What `{name}` returns, entry by entry over all pages", [], 8)
    head = f"    async def {paged.name}({', '.join(arguments)}) -> AsyncIterator[{paged.item}]:"
    wait = f"            if not {paged.items}:\n                await sleep(0.5)\n"
    return (
        f"{head}\n{text}\n"
        "        following: str | None = None\n"
        "        while True:\n"
        f"            page = await self.{name}({', '.join(passed)}, {paged.given_as}=following)\n"
        f"            for each in {paged.items}:\n"
        "                yield each\n"
        f"            following = {paged.following}\n"
        "            if following is None:\n"
        "                return\n"
        f"{wait if paged.waits else ''}"
    )


def _record(schema: Schema, schemas: dict[str, Schema]) -> Schema | None:
    """The object that a param is, whose members become arguments; None for other params."""
    choices = [schema, *schema.get("anyOf", [])]
    if any(each.get("type") in ("integer", "array") for each in choices):
        return None
    for each in choices:
        if "$ref" in each:
            found = schemas[each["$ref"].rpartition("/")[2]]
            return found if found.get("type") == "object" else None
    return None


def _readable(argument: Argument) -> Argument:
    """The newest version of transactions that these types can read is the default."""
    if argument.name != "max_supported_transaction_version":
        return argument
    return replace(argument, default="1")


def _in_base64(argument: Argument) -> Argument:
    """The encoding of the transactions that a call sends: that of all but those given as texts."""
    if argument.name != "encoding":
        return argument
    return replace(argument, default='"base64"', meaning="of a transaction that is given as a str")


def _argument(described: dict[str, Any], required: bool) -> Argument:
    wire = described["name"]
    name = "bundle_id" if wire == "bundle_id" else snake(wire)
    schema = described["schema"]
    meaning = (
        described.get("description") or described.get("summary") or schema.get("description", "")
    )
    return Argument(name, wire, _kind(wire, schema), required, meaning)


def _kind(wire: str, schema: Schema) -> str:
    """What an argument may be: more than the wire takes, where solders has a type for it."""
    if any(each.get("$ref", "").endswith("Config") for each in schema.get("anyOf", [])):
        return hint(schema["anyOf"][0])  # a config may stand in its place, and has its own
    title = schema.get("title")
    if title in ("Pubkey", "Signature"):
        return "Address" if title == "Pubkey" else "TransactionId"
    is_transaction = wire in ("transaction", "transactions", "encodedTransactions")
    if is_transaction and schema.get("type") == "string":
        return "Transaction"
    if schema.get("type") == "array":
        return f"Sequence[{_kind(wire if is_transaction else '', schema['items'])}]"
    if schema.get("type") == "object":
        return hint(schema).replace("dict[", "Mapping[", 1)
    return hint(schema)
