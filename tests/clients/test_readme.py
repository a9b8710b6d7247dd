"""The snippets of the README and of the guides, run as a reader would, against the service."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from solders.keypair import Keypair
from solders.signature import Signature

from tests.patience import PATIENCE_SECONDS

from .chain_endpoints import localnet_of, of_service, until
from .conftest import Node
from .service import ROOT, Service
from .sources import MADE, made_block
from .typescript_client import Samples

EXPECTED = [str(MADE), made_block()["blockhash"], "1"]


def snippets(file: str, language: str) -> list[str]:
    """The page's snippets in the language."""
    page = (ROOT / file).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


def snippet(
    language: str, service: Service, number: int = 0, *, file: str = "docs/clients.md"
) -> str:
    """A snippet of the page in the language, with the service's address."""
    return addressed(snippets(file, language)[number], service)


def addressed(text: str, service: Service) -> str:
    """The text with the service's address in the place of the reader's own."""
    readers_own = "http://127.0.0.1:8000"
    assert readers_own in text
    return text.replace(readers_own, service.base_url)


def run(service: Service, *command: str, **environment: str) -> str:
    done = subprocess.run(
        command,
        env={**os.environ, "KEY": service.key, **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_typescript(
    service: Service, samples: Samples, page: str, number: int = 0, **environment: str
) -> str:
    """Runs a page's TypeScript against the service → what it printed."""
    script = samples()[page, number]
    copy = script.with_name(f"{script.stem}-{service.port}.js")
    copy.write_text(addressed(script.read_text(encoding="utf-8"), service), encoding="utf-8")
    return run(service, "node", str(copy), **environment)


def test_the_shells_snippet_prints_the_newest_and_the_oldest_slot(service: Service) -> None:
    if shutil.which("curl") is None:
        pytest.skip("the snippet needs curl")
    newest, oldest = json.loads(run(service, "sh", "-c", snippet("sh", service, 1)))
    assert (newest["id"], newest["result"]) == ("newest", MADE)
    assert oldest["id"] == "oldest" and oldest["result"] <= MADE


def test_the_shells_snippet_reads_through_a_tier_host(service: Service) -> None:
    if shutil.which("curl") is None:
        pytest.skip("the snippet needs curl")
    answer = json.loads(run(service, "sh", "-c", snippet("sh", service, 2)))
    assert answer["result"] == MADE


def test_pythons_snippet_prints_the_newest_block(service: Service) -> None:
    assert run(service, sys.executable, "-c", snippet("python", service, 1)).split() == EXPECTED


def test_the_readmes_read_is_answered(service: Service) -> None:
    if shutil.which("curl") is None:
        pytest.skip("the snippet needs curl")
    text = snippet("sh", service, 1, file="README.md")
    export, call = text.split("\n", 1)
    assert export == snippets("docs/clients.md", "sh")[0].strip()
    assert json.loads(run(service, "sh", "-c", call))["result"] == MADE


def test_the_readmes_send_is_the_one_that_is_run_here(service: Service) -> None:
    assert snippet("python", service, file="README.md") == snippet("python", service)


def test_pythons_first_snippet_sends_and_reads_back(followed: Service) -> None:
    printed = run(followed, sys.executable, "-c", snippet("python", followed)).split()
    signature, slot, err, fee = printed
    assert int(slot) > 0 and (err, fee) == ("None", "5000")
    assert _is_stored(followed, signature)


@pytest.mark.clients
def test_typescripts_snippet_prints_the_newest_block(service: Service, samples: Samples) -> None:
    assert run_typescript(service, samples, "docs/clients.md").split() == EXPECTED


def test_pythons_snippet_of_the_past_reads_and_replays(followed: Service) -> None:
    localnet = localnet_of(followed)
    signature = localnet.call("requestAirdrop", str(Keypair().pubkey()), 5_000_000)
    until(lambda: _is_stored(followed, signature), "the airdrop stored")
    text = snippet("python", followed, file="docs/the-past.md")
    before, after, outcome, altered, *results = run(
        followed, sys.executable, "-c", text, SIGNATURE=signature
    ).splitlines()
    assert int(before) - int(after) == 5_005_000
    err, units, fidelity = outcome.split()
    assert (err, fidelity) == ("None", "verified") and int(units) > 0
    too_poor = "{'InstructionError': [0, {'Custom': 1}]}"
    assert altered.startswith(f"{too_poor} ['")
    assert results == [f"0 {too_poor}", f"1 {too_poor}"]


def test_pythons_snippet_of_landing_follows_the_fate(followed: Service) -> None:
    text = snippet("python", followed, file="docs/landing.md")
    fate, moved, stored = run(followed, sys.executable, "-c", text).splitlines()
    signature, state, slot, upstreams = fate.split(maxsplit=3)
    Signature.from_string(signature)  # or it raises
    assert state == "landed" and {"leaders", "node"} <= ast.literal_eval(upstreams)
    assert moved == "2005000 None"
    assert stored.split() == [slot, "None", "5000"]


@pytest.mark.clients
def test_typescripts_snippet_of_landing_follows_the_fate(
    followed: Service, samples: Samples
) -> None:
    fate, moved, stored = run_typescript(followed, samples, "docs/landing.md").splitlines()
    signature, state, slot, *upstreams = fate.split()
    Signature.from_string(signature)
    # Whichever of them came first: the others may not have tried.
    assert state == "landed" and upstreams and {"leaders", "node", "engine"} >= set(upstreams)
    assert moved == "2005000"
    assert stored.split() == [slot, "null", "5000"]


def test_the_shells_snippet_of_landing_hears_the_stream(followed: Service) -> None:
    if shutil.which("curl") is None:
        pytest.skip("the snippet needs curl")
    # In the shell's place, so that its end is curl's; and a silent stream ends too.
    text = f"exec timeout {PATIENCE_SECONDS:.0f} " + snippet("sh", followed, file="docs/landing.md")
    environment = {**os.environ, "KEY": followed.key}
    with subprocess.Popen(
        ["sh", "-c", text], env=environment, stdout=subprocess.PIPE, text=True
    ) as curl:
        try:
            assert curl.stdout is not None
            until_ready = next((line for line in curl.stdout if line == "event: ready\n"), None)
        finally:
            curl.terminate()
    assert until_ready is not None


def test_a_block_engines_client_lands_a_bundle(followed: Service, node: Node) -> None:
    given = {
        "baseUrl": followed.base_url,
        "key": followed.key,
        "websocketUrl": followed.websocket_url,
    }
    answer = json.loads(node("landing-jito.mjs", json.dumps(given)))
    assert answer["status"]["bundle_id"] == answer["sent"]
    assert answer["status"]["err"] == {"Ok": None}
    localnet = localnet_of(followed)
    newest = {"commitment": "processed"}
    assert localnet.call("getBalance", answer["payee"], newest)["value"] == 5_000_000


def _is_stored(service: Service, signature: str) -> bool:
    options = {"maxSupportedTransactionVersion": 0}
    (found,) = of_service(service, "/historical", [("getTransaction", signature, options)])
    return found is not None
