"""The parts of `/openapi.json`: the plain GETs, and the management API."""

import json
import re
from typing import Any

MANAGEMENT = "/manage/"


def of_plain_gets(document: dict[str, Any]) -> dict[str, Any]:
    """The document without the management API, and without what that alone refers to."""
    paths = {path: each for path, each in document["paths"].items() if not _is_managed(path)}
    schemas = document["components"]["schemas"]
    found: dict[str, Any] = {}
    waiting = _named(paths)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = schemas[name]
            waiting |= _named(schemas[name])
    return {**document, "paths": paths, "components": {**document["components"], "schemas": found}}


def of_management(document: dict[str, Any]) -> dict[str, Any]:
    """Path → its operations, of the management API."""
    return {path: each for path, each in document["paths"].items() if _is_managed(path)}


def _is_managed(path: str) -> bool:
    return path.startswith(MANAGEMENT)


def _named(part: Any) -> set[str]:
    return set(re.findall(r"#/components/schemas/(\w+)", json.dumps(part)))
