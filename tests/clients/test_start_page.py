"""The pages' snippets, run as a reader would who copies them: out of the served page, unchanged."""

import html
import json
import re
import shutil
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from solders.keypair import Keypair

from tests.patience import PATIENCE_SECONDS

from .chain_endpoints import localnet_of, until
from .conftest import Node
from .service import Service
from .test_readme import _is_stored, run

Copied = Callable[[str], str]


@pytest.fixture(scope="module")
def copied(followed: Service) -> Copied:
    """`copied("read-sh")`: what the button of that snippet copies."""
    signature = localnet_of(followed).call("requestAirdrop", str(Keypair().pubkey()), 5_000_000)
    until(lambda: _is_stored(followed, signature), "a stored block")
    with urllib.request.urlopen(f"{followed.base_url}/docs/", timeout=PATIENCE_SECONDS) as answer:
        page = answer.read().decode()
    with urllib.request.urlopen(f"{followed.base_url}/", timeout=PATIENCE_SECONDS) as answer:
        front = answer.read().decode()
    found = snippets_of(page)
    # What the front page shows are the same.
    for name, text in snippets_of(front).items():
        assert found[name] == text
    for name in found:
        assert f'data-copy="text-{name}"' in page
    return found.__getitem__


def snippets_of(page: str) -> dict[str, str]:
    """What the page's buttons copy: the text, without the spans that colour it."""
    found = re.findall(r'<code id="text-([a-z-]+)">(.*?)</code>', page, re.DOTALL)
    return {name: html.unescape(re.sub("<[^>]+>", "", text)).strip() + "\n" for name, text in found}


def test_the_shells_snippet_reads_the_ledger(followed: Service, copied: Copied) -> None:
    if shutil.which("curl") is None:
        pytest.skip("the snippet needs curl")
    newest, oldest = json.loads(run(followed, "sh", "-c", copied("read-sh")))
    assert newest["result"] >= oldest["result"] >= 0
    # Without a key as well, as the front page says.
    newest, _ = json.loads(run(followed, "sh", "-c", copied("read-sh"), KEY=""))
    assert newest["result"] >= 0


def test_pythons_snippet_reads_the_newest_block(followed: Service, copied: Copied) -> None:
    slot, blockhash, _ = run(followed, sys.executable, "-c", copied("read-python")).split()
    assert int(slot) > 0 and len(blockhash) > 31


def test_typescripts_snippet_reads_the_newest_block(
    followed: Service, copied: Copied, node: Node, tmp_path: Path
) -> None:
    script = tmp_path / "start.mjs"
    script.write_text(copied("read-ts"), encoding="utf-8")
    slot, blockhash, _ = node(script, KEY=followed.key).split()
    assert int(slot) > 0 and len(blockhash) > 31


@pytest.mark.soak  # without a cache go compiles its HTTP client first
def test_gos_snippet_reads_the_newest_slot(
    followed: Service, copied: Copied, tmp_path: Path
) -> None:
    if shutil.which("go") is None:
        pytest.skip("the snippet needs go")
    program = tmp_path / "read.go"
    program.write_text(copied("read-go"), encoding="utf-8")
    answer = json.loads(run(followed, "go", "run", str(program)))
    assert answer["result"] > 0
