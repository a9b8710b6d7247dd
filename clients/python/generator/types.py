"""Types: datamodel-code-generator's, of the documents' schemas."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Schema = dict[str, Any]
_REF = "#/components/schemas/"
# What a server checks; a client that checked it too would refuse what a newer service allows.
_LIMITS = ("pattern", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems")
_WRITTEN_FOR_FORMS = ("title", "readOnly", "example", "nullable", "x-spec-enum-id")
_FLAGS = (
    "--input-file-type",
    "openapi",
    "--output-model-type",
    "pydantic_v2.BaseModel",
    "--snake-case-field",
    "--no-alias",
    "--enum-field-as-literal",
    "all",
    "--use-union-operator",
    "--use-standard-collections",
    "--use-single-line-docstring",
    "--use-schema-description",
    "--use-field-description",
    "--disable-timestamp",
    "--target-python-version",
    "3.11",
    "--use-double-quotes",
    "--disable-future-imports",
    "--output-datetime-class",
    "datetime",
    "--custom-file-header",
    '"""Generated types."""',
    "--formatters",
    "builtin",
    "--collapse-root-models",
    "--keep-model-order",
)


def module(schemas: dict[str, Schema], base: str, asked: set[str]) -> str:
    """The Python of these schemas' classes, which inherit from `base`. Members of an enum that a
    caller sends (`asked`) are closed, those of an answer open.
    """
    cleaned = {name: _cleaned(each, open_=name not in asked) for name, each in schemas.items()}
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Tidemark", "version": "1"},
        "paths": {},
        "components": {"schemas": cleaned},
    }
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "openapi.json", Path(folder) / "types.py"
        source.write_text(json.dumps(document), encoding="utf-8")
        subprocess.run(
            [
                sys.executable,
                "-m",
                "datamodel_code_generator",
                *_FLAGS,
                "--base-class",
                base,
                "--input",
                str(source),
                "--output",
                str(target),
            ],
            check=True,
        )
        return target.read_text(encoding="utf-8")


def reached(schemas: dict[str, Schema], starts: Any) -> set[str]:
    """The names of the schemas that these schemas need."""
    found: set[str] = set()
    waiting = list(references(starts))
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += references(schemas[name])
    return found


def references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        for name, each in schema.items():
            if name == "$ref":
                yield each.removeprefix(_REF)
            else:
                yield from references(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from references(each)


def renamed(schema: Any, prefix: str) -> Any:
    """The schema, whose references have lost this prefix."""
    if isinstance(schema, dict):
        return {
            name: each.replace(_REF + prefix, _REF) if name == "$ref" else renamed(each, prefix)
            for name, each in schema.items()
        }
    return [renamed(each, prefix) for each in schema] if isinstance(schema, list) else schema


def hint(schema: Schema, names: str = "types.") -> str:
    """The annotation of a schema: `names` stands before those of the documents."""
    if "$ref" in schema:
        return names + str(schema["$ref"]).removeprefix(_REF)
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(hint(each, names) for each in schema["anyOf"]))
    if "enum" in schema:
        return f"Literal[{', '.join(json.dumps(each) for each in schema['enum'])}]"
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(hint({**schema, "type": each}, names) for each in kind)
    if kind == "string" and schema.get("format") == "date-time":
        return "datetime"
    if kind == "array":
        items = hint(schema["items"], names) if "items" in schema else "Any"
        return f"list[{items}]"
    if kind == "object":
        values = schema.get("additionalProperties") or {}
        return f"dict[str, {hint(values, names) if values else 'Any'}]"
    scalars = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
    return {**scalars, "null": "None"}.get(str(kind), "Any")


def _cleaned(schema: Any, *, open_: bool, is_member: bool = False) -> Any:
    if isinstance(schema, list):
        return [_cleaned(each, open_=open_) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if is_member:
        return {name: _cleaned(each, open_=open_) for name, each in schema.items()}
    dropped = (*_LIMITS, *_WRITTEN_FOR_FORMS)
    kept = {
        name: _cleaned(each, open_=open_, is_member=name == "properties")
        for name, each in schema.items()
        if name not in dropped
    }
    if kept.get("additionalProperties") is False:
        del kept["additionalProperties"]  # of an answer, what is not known is left out
    if kept.get("format") != "date-time":
        kept.pop("format", None)
    if schema.get("maxItems") is not None and "prefixItems" in schema:
        kept |= {name: schema[name] for name in ("minItems", "maxItems")}
    if open_ and "enum" in kept:
        text = {"description": kept.pop("description")} if "description" in kept else {}
        return {"anyOf": [kept, {"type": "string"}], **text}
    return kept
