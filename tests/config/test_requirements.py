"""requirements.txt is enough for the service: `make run` and images install nothing else."""

import re
import subprocess
import sys
from importlib.metadata import packages_distributions

from tests.forked_commands import ROOT

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
    return {re.sub(r"[-_.]+", "-", name).lower() for name in names}


def test_the_service_imports_nothing_for_development() -> None:
    service, development = _pinned("requirements.txt"), _pinned("requirements-dev.txt")
    assert len(service) > 50
    assert not service & development
    missing = [
        module
        for module, distributions in packages_distributions().items()
        if {re.sub(r"[-_.]+", "-", name).lower() for name in distributions} <= development
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
