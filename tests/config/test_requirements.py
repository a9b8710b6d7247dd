"""requirements.txt is enough for the service: `make run` and images install nothing else."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, packages_distributions, requires

from packaging.requirements import Requirement

from tests.forked_commands import ROOT

FOLDERS = ("platform", "priority", "rewind", "historical", "tipping")
_OLDEST = {"python_version": "3.11", "python_full_version": "3.11.0"}
IN_TURN = "# What those need in turn\n"

# Imports all of the product in a process that has no module of the packages for development.
_IMPORTS = """
import importlib, pkgutil, sys
from importlib.machinery import PathFinder

class Installed(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1].split(","):
            return None
        return PathFinder.find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Installed
import django; django.setup()
import config.urls
for folder in ("platform", "priority", "rewind", "historical", "tipping"):
    prefix = "" if folder == "platform" else f"{folder}."
    for module in pkgutil.walk_packages([folder], prefix):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
import celery.apps.worker, kombu.transport.redis
"""


def _pinned(name: str) -> set[str]:
    names = re.findall(r"^([\w.-]+)[^\n=]*==", (ROOT / name).read_text(), re.MULTILINE)
    return set(map(_plain, names))


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _needs(wanted: Iterable[Requirement]) -> set[str]:
    """All that they need in turn, on the oldest Python that is supported."""
    found: set[tuple[str, str]] = set()
    waiting = [(_plain(each.name), extra) for each in wanted for extra in ("", *each.extras)]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in found:
            continue
        found.add((name, extra))
        try:
            needed = requires(name) or []
        except PackageNotFoundError:  # only an older Python than this one needs it
            continue
        for each in map(Requirement, needed):
            if each.marker is None or each.marker.evaluate({**_OLDEST, "extra": extra}):
                waiting += [(_plain(each.name), one) for one in ("", *each.extras)]
    return {name for name, _ in found}


def test_the_service_imports_nothing_for_development() -> None:
    service, development = _pinned("requirements.txt"), _pinned("requirements-dev.txt")
    assert len(service) > 50
    assert not service & development
    missing = [
        module
        for module, distributions in packages_distributions().items()
        if set(map(_plain, distributions)) <= development
    ]
    assert {"pytest", "hypothesis", "moto"} <= set(missing)
    subprocess.run(
        [sys.executable, "-c", _IMPORTS, ",".join(missing)],
        cwd=ROOT,
        env={
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "PYTHONPATH": f"{ROOT}:{ROOT / 'platform'}",
        },
        check=True,
    )


def test_what_is_imported_is_named_and_what_is_needed_in_turn_is_needed() -> None:
    direct, _, in_turn = (ROOT / "requirements.txt").read_text().partition(IN_TURN)
    named = [Requirement(line) for line in direct.splitlines() if line and line[0] != "#"]
    names = {_plain(each.name) for each in named}
    of_module, imported = packages_distributions(), set()
    for file in (file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            found = [node.module] if isinstance(node, ast.ImportFrom) else []
            found += [each.name for each in node.names] if isinstance(node, ast.Import) else []
            for module in found:
                imported |= set(map(_plain, of_module.get(str(module).partition(".")[0], ())))
    assert {"django", "cryptography"} <= imported <= names
    others = {_plain(Requirement(line).name) for line in in_turn.splitlines() if line}
    assert others == _needs(named) - names
