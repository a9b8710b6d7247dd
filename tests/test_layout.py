"""The house: floors, rows and the shelf. Imports go down, never up and never around."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHELF = ROOT / "platform"
AREAS = {"tipping", "historical", "priority", "rewind"}

# A package imports packages of lower floors; between areas, only along STEPS.
FLOORS = [
    {"eventloop", "webserver"},
    {"chain", "jsonrpc", "embedded"},
    {"columns"},
    {"upstream", "simulator", "staff", "shared_state"},
    {"grpcserver"},
    {"access", "gaps", "livefeed", "localnet", "sealed"},
    {"gateway", "alerts"},
    AREAS,
    {"ingest", "subscriptions"},
    {"operations", "portal", "reference", "yellowstone"},
    {"management"},
    {"config"},
]
STEPS = {
    ("priority", "tipping"),
    ("priority", "rewind"),
    ("rewind", "historical"),
    ("rewind", "tipping"),
}

# An area's capabilities, each a folder with files of the rows below. What a room has beside them
# are pure values.
ROOMS = {
    "rewind": {
        "accounts",
        "baselines",
        "coverage",
        "explained",
        "jobs",
        "proof",
        "recording",
        "replay",
        "sealed",
    },
    "historical": {"blocks", "coverage", "recording", "remote", "sealed", "transactions"},
    "priority": {
        "acceptance",
        "fates",
        "lander",
        "proxy",
        "queue",
        "reports",
        "simulation",
        "treasury",
        "upstreams",
    },
}

# Pure values and functions of one area: they know no store and no service.
NOUNS = {
    "positions",
    "submissions",
    "chain_events",
    "addresses",
    "sweep_transactions",
    "values",
}

# Inside an area, a file imports files of the same or lower rows.
ROWS = [
    {"errors", "models", *NOUNS},
    {"store"},
    {"results"},
    {"services"},
    {"methods", "method_table", "views", "tasks", "admin", "find", "streams"},
    {"urls", "apps"},
]


def height(name: str, levels: list[set[str]]) -> int | None:
    return next((level for level, names in enumerate(levels) if name in names), None)


def layer(area: str, parts: Sequence[str]) -> str:
    """The name in ROWS that a module of an area has, by its path inside the area."""
    names = [part.removesuffix(".py") for part in parts]
    if names[0] not in ROOMS.get(area, ()):
        return names[0]
    return names[1] if len(names) > 1 and height(names[1], ROWS) is not None else "values"


def packages() -> list[Path]:
    found = [init.parent for base in (ROOT, SHELF) for init in sorted(base.glob("*/__init__.py"))]
    return [package for package in found if package.name not in {"tests", "benchmarks"}]


def imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: write absolute imports"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("package", packages(), ids=lambda path: path.name)
def test_imports_go_down(package: Path) -> None:
    mine = height(package.name, FLOORS)
    assert mine is not None, f"{package.name} has no floor: give it one in FLOORS"
    for file in package.rglob("*.py"):
        for target in imports(file):
            root, _, rest = target.partition(".")
            theirs = height(root, FLOORS)
            if root == package.name and root in AREAS:
                my_row = height(layer(root, file.relative_to(package).parts), ROWS)
                their_row = height(layer(root, rest.split(".")), ROWS)
                goes_down = my_row is None or their_row is None or their_row <= my_row
            elif theirs is None or root == package.name:
                continue
            else:
                goes_down = theirs < mine or (package.name, root) in STEPS
            assert goes_down, f"{file.relative_to(ROOT)} imports {target}"


@pytest.mark.parametrize("package", packages(), ids=lambda path: path.name)
def test_services_leave_queries_to_the_store(package: Path) -> None:
    found = [
        f"{file.relative_to(ROOT)}:{number}"
        for file in package.rglob("*.py")
        if layer(package.name, file.relative_to(package).parts) == "services"
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if ".objects." in line
    ]
    assert not found, "build these queries in the package's store"


@pytest.mark.parametrize("area", sorted(AREAS))
def test_a_noun_of_an_area_knows_neither_its_services_nor_its_doors(area: str) -> None:
    for file in (ROOT / area).rglob("*.py"):
        name = layer(area, file.relative_to(ROOT / area).parts)
        is_plain = name in NOUNS or height(name, ROWS) is None
        if not is_plain or name in {"__init__", "management", "migrations"}:
            continue
        for target in imports(file):
            root, _, rest = target.partition(".")
            row = height(layer(area, rest.split(".")), ROWS) if root == area else None
            assert row is None or row < 3, f"{file.relative_to(ROOT)} imports {target}"


def test_every_package_has_a_name_of_its_own() -> None:
    names = {package.name for package in packages()}
    assert not names & sys.stdlib_module_names
    assert not names & packages_distributions().keys()


def test_no_source_file_is_longer_than_a_reader_bears() -> None:
    lengths = {
        str(file.relative_to(ROOT)): len(file.read_text(encoding="utf-8").splitlines())
        for package in packages()
        for file in package.rglob("*.py")
        if "migrations" not in file.parts
    }
    assert not {name: length for name, length in lengths.items() if length > 600}


def test_no_template_replaces_a_part_of_djangos_lists() -> None:
    """Django looks these up by model: a page's own part of that name would stand in their place."""
    parts = {"actions", "search_form", "pagination", "date_hierarchy", "submit_line"}
    found = [each for each in (ROOT / "templates" / "admin").rglob("*.html") if each.stem in parts]
    assert not found, "give these templates another name"


def test_every_advisory_lock_is_one_of_the_list() -> None:
    """A name of its own for each, so that no two are the same lock by accident."""
    of_locks = SHELF / "columns" / "advisory_locks.py"
    files = [file for package in packages() for file in package.rglob("*.py")]
    users = [file for file in files if "advisory_" in file.read_text(encoding="utf-8")]
    assert of_locks in users
    assert len(users) >= 20
    for file in users:
        text = file.read_text(encoding="utf-8")
        called = re.search(r"pg_\w*advisory|advisory_\w*lock\w*\(", text)
        assert file == of_locks or not called, (
            f"{file.relative_to(ROOT)}: use columns.advisory_locks"
        )


def test_platform_is_a_shelf_and_not_a_package() -> None:
    assert not list(SHELF.glob("*.py")), "put code in a package inside platform/"
    code = "import platform; platform.system(); print(platform.__file__)"
    run = [sys.executable, "-c", code]
    found = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert str(ROOT / "platform") not in found


def test_a_statement_takes_lists_by_a_subquery() -> None:
    """PostgreSQL plans `unnest($1)` anew in each call (platform/columns/raw_queries.py)."""
    files = [file for package in packages() for file in package.rglob("*.py")]
    bare = [str(file) for file in files if re.search(r"unnest\(\$\d", file.read_text())]
    assert bare == []
