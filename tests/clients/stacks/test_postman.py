"""The collection of /postman.json: newman runs it against a service, and Bruno imports it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.python_client import root_key_of
from tests.clients.service import Service

from .conftest import HERE, Target, needed, whole_way
from .test_javascript import LOCKS

pytestmark = pytest.mark.clients


def test_the_collection_runs_as_it_is_imported(
    stacked: Service, built: Callable[..., Path]
) -> None:
    needed("node", "npm")
    command = ["npm", "ci", "--ignore-scripts", "--omit=optional"]
    files = [HERE / "report.mjs", HERE / "postman" / "main.mjs"]
    folder = built("postman", LOCKS, command, files)
    given = {
        "plainUrl": f"{stacked.base_url}/",
        "key": stacked.key,
        "rootKey": root_key_of(stacked),
    }
    whole_way(["node", "main.mjs"], Target("service", given), folder)
