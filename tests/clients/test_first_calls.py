"""The calls that a new key is shown with run as they are."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from access.first_calls import FirstCall, first_calls
from tests.patience import PATIENCE_SECONDS

from .conftest import Node
from .service import Service


def calls(service: Service) -> dict[str, FirstCall]:
    return {each.id: each for each in first_calls(service.base_url, service.key)}


def run(*command: str) -> str:
    found = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS
    )
    return found.stdout


def test_pythons_says_whose_key_it_is(followed: Service) -> None:
    shown = run(sys.executable, "-c", calls(followed)["python"].text)
    assert "'tier': 'epic'" in shown


def test_curls_says_whose_key_it_is(followed: Service) -> None:
    if shutil.which("curl") is None:
        pytest.skip("the call needs curl")
    assert json.loads(run("sh", "-c", calls(followed)["curl"].text))["tier"] == "epic"


def test_typescripts_says_whose_key_it_is(followed: Service, node: Node, tmp_path: Path) -> None:
    script = tmp_path / "first-call.mjs"
    script.write_text(calls(followed)["typescript"].text, encoding="utf-8")
    assert "tier: 'epic'" in node(script)
