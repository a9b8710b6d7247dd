"""The own tests and the README of clients/python, against a service that follows its localnet."""

import sys
from pathlib import Path

import pytest

from .chain_endpoints import until
from .python_client import TESTS, own_tests, root_key_of
from .service import Service
from .test_readme import _is_stored, run, snippet

PYTHON = Path(sys.executable)
README = "clients/python/README.md"


@pytest.fixture(scope="module")
def root_key(followed: Service) -> str:
    return root_key_of(followed)


@pytest.mark.clients
def test_its_own_tests_pass(followed: Service, root_key: str) -> None:
    own_tests(PYTHON, followed, root_key, TESTS, source=True)


def test_its_readme_lands_reads_the_past_and_issues_keys(followed: Service, root_key: str) -> None:
    readme_runs(str(PYTHON), followed, root_key)


def readme_runs(python: str, service: Service, root_key: str) -> None:
    """Runs the README's code as it is, with this interpreter."""
    land, past, keys = (snippet("python", service, number, file=README) for number in range(3))
    signature = run(service, python, "-c", land).strip()
    until(lambda: _is_stored(service, signature), "the transaction stored")
    account, *writes = run(service, python, "-c", past, SIGNATURE=signature).splitlines()
    assert account.split()[1] == "1000000000"
    assert writes[0].split()[2] == signature
    secret, names = run(service, python, "-c", keys, TIDEMARK_ROOT_KEY=root_key).splitlines()
    assert secret.startswith("tmk_") and names == "['trading', 'trading']"
