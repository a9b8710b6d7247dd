"""What other people's packages keep private is left alone, but for the few names listed here."""

import ast
import importlib
import inspect
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHELF = ROOT / "platform"
AREAS = ("tipping", "historical", "priority", "rewind")

# Documented, in spite of the underscore.
PUBLIC = {
    "_asdict",
    "_fields",
    "_make",
    "_replace",  # collections.namedtuple
    "_meta",
    "_default_manager",  # django.db.models
    "_exit",
    "_value_",  # os, enum
}

# By file: the names, and why there is no other way.
LEFT = {
    # aioquic has no events for acknowledgements, for a peer's credit and retries; the event of a
    # close comes late.
    "platform/upstream/tpu_internals.py": {
        "_close_event",
        "_remote_max_data",
        "_remote_max_streams_uni",
        "_retry_count",
        "_streams",
    },
    # aioquic's servers cannot be told to ask for a certificate (aiortc/aioquic#541), nor show it
    # (#586), nor how many streams they allow.
    "platform/localnet/servers/tpu.py": {
        "_initialize",
        "_local_max_streams_bidi",
        "_local_max_streams_uni",
        "_peer_certificate",
        "_request_client_certificate",
    },
    # Django checks each header that is set: 6 µs of a call's 60.
    "platform/gateway/answers.py": {"_store"},
    # The type has no other name.
    "platform/upstream/http/response.py": {"_Decompress"},
    # What makes a token void; Django gives no other place to add to it.
    "platform/staff/invitations.py": {"_make_hash_value"},
    # A model form validates its model: what has checked and written the order is `orders`.
    "platform/ingest/admin.py": {"_post_clean"},
    # drf-spectacular takes each POST for one of a single resource.
    "platform/management/schema.py": {"_is_list_view"},
}


def files() -> Iterator[Path]:
    for folder in (SHELF, *(ROOT / area for area in AREAS)):
        for file in sorted(folder.rglob("*.py")):
            if not {"migrations", "protobuf"} & set(file.parts):
                yield file


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC


def is_ours(value: ast.expr) -> bool:
    """`self._x`, `cls._x` and `super()._x` may be inherited; `inherited` finds that out."""
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id == "super"
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def names_of(tree: ast.AST) -> tuple[set[str], set[str]]:
    """The private names that a text defines or reads as its own, and those it reads of others."""
    ours, others = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            (ours if is_ours(node.value) else others).add(node.attr)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            ours.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            ours.add(node.id)
        elif isinstance(node, ast.ImportFrom):
            path = (node.module or "").split(".")
            others |= {each for each in path if each != "__future__"}
            others |= {each.name for each in node.names}
        elif isinstance(node, ast.Import):
            others |= {part for each in node.names for part in each.name.split(".")}
    return set(filter(is_private, ours)), set(filter(is_private, others))


@cache
def defined_by(kind: type) -> frozenset[str]:
    """The private names of a class: its members, and what its methods set."""
    found = set(vars(kind))
    try:
        text = textwrap.dedent(inspect.getsource(kind))
    except (OSError, TypeError):  # compiled
        text = ""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found |= {node.attr} if is_ours(node.value) else set()
    return frozenset(filter(is_private, found))


def module_of(file: Path) -> str:
    parts = file.relative_to(SHELF if SHELF in file.parents else ROOT).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def inherited(module: str, tree: ast.Module, product: set[str]) -> set[str]:
    """Names of other packages' classes that the module's classes read, extend or replace."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.bases:
            ours, _ = names_of(node)
            kind = getattr(importlib.import_module(module), node.name)
            for base in inspect.getmro(kind):
                if base.__module__ not in product:
                    found |= ours & defined_by(base)
    return found


def test_no_private_name_of_another_package_is_used() -> None:
    # As Django imports them: an admin that comes before the one it replaces is in its way.
    importlib.import_module("config.urls")
    product = {module_of(file) for file in files()}
    found: dict[str, set[str]] = {}
    for file in files():
        tree = ast.parse(file.read_text(encoding="utf-8"))
        ours, others = names_of(tree)
        foreign = others - ours | inherited(module_of(file), tree, product)
        if foreign:
            found[str(file.relative_to(ROOT))] = foreign
    assert found == LEFT, "use a public way, or say here why there is none"
