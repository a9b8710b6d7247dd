"""Writes `documents/`: what the clients are generated from, made from the service's code.

They are the service's `/openrpc.json`, `/openapi.json` and errors without what a generator does not
read (examples, addresses, the texts of refusals), so that a change of the API is one small diff.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "clients" / "documents"


def documents() -> dict[str, str]:
    """The text of each file, by its name."""
    made = {"openrpc.json": _openrpc(), "openapi.json": _openapi(), "errors.json": _errors()}
    return {
        name: json.dumps(each, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        for name, each in made.items()
    }


def write() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, text in documents().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


def _openrpc() -> dict[str, Any]:
    from reference import rpc_documents

    whole = rpc_documents.whole_document("")
    kept = ("name", "summary", "description", "params", "result", "x-path", "x-scope", "x-key")
    methods = [
        {name: method[name] for name in kept if name in method}
        | {
            "x-errors": sorted(
                {name for each in method["errors"] for name in each["data"]["reasons"]}
            )
        }
        for method in whole["methods"]
    ]
    # A table has its methods in the order in which their modules were imported.
    methods.sort(key=lambda each: (each["x-path"], each["name"]))
    return {"methods": methods, "components": {"schemas": whole["components"]["schemas"]}}


def _openapi() -> dict[str, Any]:
    from reference import openapi

    whole = openapi.document("")
    paths: dict[str, Any] = {}
    for path, operations in whole["paths"].items():
        for verb, operation in operations.items():
            answers = operation["responses"].items()
            kept = {status: answer for status, answer in answers if status.startswith("2")}
            paths.setdefault(path, {})[verb] = {**operation, "responses": kept}
    return {"paths": paths, "components": {"schemas": whole["components"]["schemas"]}}


def _errors() -> list[dict[str, Any]]:
    from access.error_advice import advice
    from jsonrpc.openrpc import meaning_of
    from reference.catalogue import errors, http_status

    by_reason = {
        kind.reason: {
            "reason": kind.reason,
            "code": kind.code,
            "status": http_status(kind),
            "meaning": meaning_of(kind),
            "advice": advice(kind),
        }
        for kind in sorted(errors(), key=lambda each: (each.reason, each.__name__))
    }
    return list(by_reason.values())


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "platform")]
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    write()
