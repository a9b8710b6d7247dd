"""kit; web3.js, spl-token and anchor: each goes its whole way with one URL and one key."""

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import HERE, Target, needed, whole_way

pytestmark = pytest.mark.clients
LOCKS = ["package.json", "package-lock.json", ".npmrc"]


@pytest.mark.parametrize("stack", ["kit", "web3js"])
def test_a_stack_goes_its_whole_way(stack: str, target: Target, built: Callable[..., Path]) -> None:
    needed("node", "npm")
    command = ["npm", "ci", "--ignore-scripts", "--omit=optional"]
    folder = built(stack, LOCKS, command, [HERE / "report.mjs", *(HERE / stack).glob("*.mjs")])
    whole_way(["node", "main.mjs"], target, folder)
