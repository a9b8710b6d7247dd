"""solana-go, and geyser.Geyser on grpc-go: the whole way with one URL and one key."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import HERE, Target, needed, whole_way

pytestmark = pytest.mark.clients
ROOT = HERE.parent.parent.parent


def test_go_goes_its_whole_way(target: Target, built: Callable[..., Path]) -> None:
    needed("go")
    sources = [each.name for each in sorted((HERE / "go").glob("*.go"))]
    folder = built("go", ["go.mod", "go.sum", *sources], ["go", "build", "-o", "way", "."], [])
    given = {**target.given, "protos": str(ROOT / "platform")}
    whole_way([str(folder / "way")], dataclasses.replace(target, given=given))
