"""How the own tests of clients/python are run against a service."""

import os
import subprocess
from pathlib import Path

import pytest

from tests import forked_commands

from .service import ROOT, Service

TESTS = ROOT / "clients" / "python" / "tests"
_ROOT_KEY = """
from django.utils import timezone
from management.scopes import SCOPES
from management.services.management_keys import issue
print(issue(name="robot", scopes=SCOPES, created_by="tests", now=timezone.now()).secret)
"""


def root_key_of(service: Service) -> str:
    """A new root key with every scope, which the admin would make."""
    made = forked_commands.run(
        ["shell", "-v", "0", "-c", _ROOT_KEY], environment=service.environment
    )
    made.check_returncode()
    return made.stdout.split()[-1]


def own_tests(python: Path, service: Service, root_key: str, *files: Path, source: bool) -> None:
    """Runs these tests with an interpreter, of the sources or of the installed client."""
    configuration = ROOT / "clients" / "python" / "pyproject.toml"
    options = [] if source else ["-o", f"pythonpath={TESTS}"]
    done = subprocess.run(
        [
            str(python),
            "-m",
            "pytest",
            "-q",
            "-c",
            str(configuration),
            *options,
            "-p",
            "no:cacheprovider",
            *map(str, files),
        ],
        env={
            **{name: value for name, value in os.environ.items() if "PYTEST" not in name},
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "TIDEMARK_URL": service.base_url,
            "TIDEMARK_KEY": service.key,
            "TIDEMARK_ROOT_KEY": root_key,
        },
        capture_output=True,
        text=True,
        timeout=600,
    )
    if done.returncode:
        pytest.fail(done.stdout[-8_000:] + done.stderr[-2_000:], pytrace=False)
    assert " passed" in done.stdout and " skipped" not in done.stdout, done.stdout
