"""The guides' code, run as a reader would, against the service."""

import base64
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.signature import Signature
from standardwebhooks.webhooks import Webhook

from tests.patience import PATIENCE_SECONDS

from .chain_endpoints import localnet_of, until
from .service import ROOT, Service, running_service
from .test_readme import _is_stored, run, run_typescript, snippet, snippets
from .typescript_client import SOURCE, Samples

LANGUAGES = ["python", pytest.param("ts", marks=pytest.mark.clients)]
TOO_POOR = {
    "python": "{'InstructionError': [0, {'Custom': 1}]}",
    "ts": "{ InstructionError: [ 0n, { Custom: 1n } ] }",
}


def page(slug: str) -> str:
    return f"docs/guides/{slug}.md"


def run_python(service: Service, slug: str, **environment: str) -> str:
    text = snippet("python", service, file=page(slug))
    return run(service, sys.executable, "-c", text, **environment)


def fate_by_the_guide(service: Service, signature: str) -> dict[str, object]:
    """What the guide's call in a shell answers."""
    _, call = snippet("sh", service, 1, file=page("first-transaction")).split("\n", 1)
    found: dict[str, object] = json.loads(run(service, "sh", "-c", call, SIGNATURE=signature))
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_first_transaction_lands(followed: Service, samples: Samples, language: str) -> None:
    if shutil.which("curl") is None:
        pytest.skip("the snippet needs curl")
    if language == "python":
        signature = run_python(followed, "first-transaction").strip()
    else:
        signature = run_typescript(followed, samples, page("first-transaction")).strip()
    Signature.from_string(signature)
    until(lambda: fate_by_the_guide(followed, signature)["final"], "the fate is final")
    assert fate_by_the_guide(followed, signature)["state"] == "landed"


def test_a_first_transaction_takes_five_lines() -> None:
    (text,) = snippets(page("first-transaction"), "python")
    body = text.partition(" as tidemark:\n")[2]
    assert len(body.splitlines()) == 5


def test_forty_transactions_land_under_load(followed: Service) -> None:
    printed = run_python(followed, "land-under-load")
    assert printed.startswith("40 of 40 landed, in slots ["), printed


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_past_is_read(followed: Service, samples: Samples, language: str) -> None:
    localnet = localnet_of(followed)
    signature = localnet.call("requestAirdrop", str(Keypair().pubkey()), 5_000_000)
    until(lambda: _is_stored(followed, signature), "the airdrop stored")
    if language == "python":
        printed = run_python(followed, "read-the-past", SIGNATURE=signature)
    else:
        where = page("read-the-past")
        printed = run_typescript(followed, samples, where, SIGNATURE=signature)
    before, after, *writes, replayed, poorer = printed.splitlines()
    spent = int(before.removeprefix("before ")) - int(after.removeprefix("after "))
    assert spent == 5_005_000
    assert any(line.split()[2] == signature for line in writes)
    assert re.fullmatch("replayed (None|null) verified", replayed)
    assert poorer == f"poorer {TOO_POOR[language]}"


def test_curl_alone_reads_the_past_of_an_airdrop(followed: Service) -> None:
    if shutil.which("curl") is None:
        pytest.skip("the snippets need curl")
    airdrop = snippet("sh", followed, 2, file=page("first-transaction"))
    signature = json.loads(run(followed, "sh", "-c", airdrop))["result"]
    until(lambda: _is_stored(followed, signature), "the airdrop stored")
    calls = snippet("sh", followed, file=page("read-the-past"))
    explain, _export, read = re.split("(^export .*$)", calls, flags=re.MULTILINE)
    found = json.loads(run(followed, "sh", "-c", explain, SIGNATURE=signature))["result"]
    payer = found["accounts"][0]["pubkey"]
    before = json.loads(run(followed, "sh", "-c", read, SIGNATURE=signature, PAYER=payer))
    assert before["result"]["value"]["lamports"] > 1_000_000_000


@contextmanager
def started(command: list[str], **environment: str) -> Iterator[Callable[[str], str]]:
    """A process in the background; `line(beginning)` waits for the next line that begins so."""
    with subprocess.Popen(
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        lines = process.stdout

        def line(beginning: str) -> str:
            return next(each for each in lines if each.startswith(beginning)).strip()

        try:
            yield line
        finally:
            process.kill()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_webhook_is_verified(language: str, samples: Samples) -> None:
    where = page("verify-a-webhook")
    if language == "python":
        command = [sys.executable, "-c", *snippets(where, "python")]
    else:
        command = ["node", str(samples()[where, 0])]
    secret, other = (
        "whsec_" + base64.b64encode(secrets.token_bytes(24)).decode() for _ in range(2)
    )
    with started(command, SECRET=secret, RECEIVER_PORT="0") as line:
        port = int(line("listening").split()[1])

        def post(name: str, *, signing: str, age: float = 0.0, added: bytes = b"") -> int:
            body = json.dumps({"type": name, "data": {"text": "é"}})
            at = datetime.now(UTC).timestamp() - age
            signature = Webhook(signing).sign(name, datetime.fromtimestamp(at, UTC), body)
            headers = {
                "webhook-id": name,
                "webhook-timestamp": str(int(at)),
                "webhook-signature": f"v1,{'A' * 43}= {signature}",
            }
            return status_of(port, body.encode() + added, headers)

        assert post("key.rotated", signing=secret) == 204
        assert line("key.rotated") == "key.rotated é"
        assert post("key.rotated", signing=secret) == 204  # again: not printed twice
        assert post("forged", signing=other) == 401
        assert post("altered", signing=secret, added=b" ") == 401
        assert post("old", signing=secret, age=900) == 401
        assert status_of(port, b"{}", {}) == 401
        assert post("key.revoked", signing=secret) == 204
        assert next(iter([line("")])) == "key.revoked é"


def status_of(port: int, body: bytes, headers: dict[str, str]) -> int:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/", body, headers)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        return refused.code


def test_an_indexer_continues_where_it_stopped(followed: Service, tmp_path: Path) -> None:
    localnet = localnet_of(followed)
    text = snippet("python", followed, file=page("index-with-a-memory"))
    command = [sys.executable, "-c", text]
    mine = str(Keypair().pubkey())
    environment = {"KEY": followed.key, "DATABASE": str(tmp_path / "index.db"), "PROGRAM": mine}

    def airdrop() -> str:
        found: str = localnet.call("requestAirdrop", mine, 1_000_000)
        return found

    first = airdrop()
    until(lambda: _is_stored(followed, first), "the airdrop stored")
    with started(command, **environment) as line:
        assert line("stored").split()[1] == first  # what was before it subscribed
        second = airdrop()
        assert line("stored").split()[1] == second
    missed = [airdrop() for _ in range(3)]
    until(lambda: all(_is_stored(followed, each) for each in missed), "the airdrops stored")
    with started(command, **environment) as line:
        found = [line("stored").split()[1] for _ in missed]
        last = airdrop()
        found.append(line("stored").split()[1])
    assert sorted(found) == sorted([*missed, last])


@pytest.mark.soak
def test_the_service_runs_in_front_of_another_chain(followed: Service) -> None:
    """The guide's settings, with the other service's localnet in the place of mainnet's."""
    if shutil.which("curl") is None:
        pytest.skip("the snippet needs curl")
    start, _, calls, _ = snippets(page("in-front-of-mainnet"), "sh")
    settings = dict(re.findall(r"^export (\w+)=(\S+)$", start, re.MULTILINE))
    assert start.endswith("make run\n") and settings.pop("TIDEMARK_RUN_DIR")
    chain = localnet_of(followed)
    settings["UPSTREAM_RPC_URL"] = f"http://127.0.0.1:{chain.rpc_port}/"
    settings["UPSTREAM_GEYSER_URL"] = f"http://127.0.0.1:{chain.geyser_port}"
    with running_service(**settings, LOCALNET="true") as service:
        signature = chain.call("requestAirdrop", str(Pubkey.new_unique()), 1_000_000)
        until(lambda: _is_stored(service, signature), "the other chain's transaction stored")
        answers = run(
            service, "sh", "-ec", calls.replace("http://127.0.0.1:8000", service.base_url)
        )
        node_slot, stored = (
            json.loads(each)["result"] for each in re.findall(r'\{"jsonrpc.*?\}', answers)
        )
        assert 0 < stored <= node_slot
        # It has no localnet of its own, and lands on the other chain.
        landed = run_python(service, "first-transaction").strip()
        until(lambda: _is_stored(followed, landed), "landed on the other chain")


def test_commands_and_settings_of_the_guides_exist() -> None:
    known = get_commands()
    table = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
    commands = set()
    for file in sorted((ROOT / "docs/guides").glob("*.md")):
        text = file.read_text(encoding="utf-8")
        for name in re.findall(r"manage\.py (\w+)", text):
            assert name in known, f"{file.name}: manage.py {name}"
            commands.add(name)
        code = "".join(re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
        for name, arguments in re.findall(r"manage\.py (\w+)([^\n#]*)", code):
            parser = load_command_class(known[name], name).create_parser("manage.py", name)
            parser.parse_args(arguments.split())  # raises for what it does not take
        for name in re.findall(r"^export (\w+)=", code, re.MULTILINE):
            own = name in ("KEY", "SIGNATURE", "PAYER", "SECRET")
            assert own or f"`{name}`" in table, f"{file.name}: {name} is no setting"
    assert {"cluster_spread", "doctor", "import_snapshot", "plan"} <= commands


def test_packages_of_the_guides_are_those_that_are_tested() -> None:
    described = json.loads((SOURCE / "package.json").read_text())
    npm = {*described["dependencies"], *described["peerDependencies"]}
    pins = "".join(
        (ROOT / name).read_text() for name in ("requirements.txt", "requirements-dev.txt")
    )
    for file in sorted((ROOT / "docs/guides").glob("*.md")):
        text = file.read_text(encoding="utf-8")
        for name in re.findall(r"pip install ([\w-]+)", text):
            assert f"\n{name}==" in pins
        for names in re.findall(r"npm install (.+)", text):
            for name in names.split():
                assert name in npm or name.endswith(".tgz")
