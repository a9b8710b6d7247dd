"""The examples of every operation in four languages: all are code, and say the same."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from reference import operation_samples, pages
from reference.languages import Request, Sample, samples

BASE = "http://127.0.0.1:8000"
TRICKY = {"text": 'it\'s `quoted`, "twice" and $HOME \\ é\n', "long": ["x" * 60, None, True, 1.5]}


def every_sample(language: str) -> dict[str, str]:
    """{operation: its example in the language}."""
    found = {
        f"{page.slug}/{operation.anchor}": one_of(
            operation_samples.samples_of(operation, BASE, {}), language
        )
        for page in pages.PAGES
        for operation in pages.operations(page.slug).values()
    }
    assert len(found) >= 50
    return {**found, "tricky": one_of(samples(tricky()), language)}


def tricky() -> Request:
    return Request(f"{BASE}/a?b=1&c=2", {"params": [TRICKY, TRICKY]}, secret="KEY")


def one_of(made: list[Sample], language: str) -> str:
    (text,) = (each.text for each in made if each.id == language)
    return text


def needs(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"needs {program}")
    return found


def test_there_are_four_languages() -> None:
    assert [each.id for each in samples(tricky())] == ["curl", "python", "ts", "go"]


def test_pythons_compile() -> None:
    for name, text in every_sample("python").items():
        compile(text, name, "exec")


def test_shells_parse() -> None:
    script = "\n".join(every_sample("curl").values())
    done = subprocess.run(["sh", "-n"], input=script, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr


def test_typescripts_parse(tmp_path: Path) -> None:
    """As JavaScript: they have no types of their own."""
    node = needs("node")
    texts = tmp_path / "texts.json"
    texts.write_text(json.dumps(every_sample("ts")), encoding="utf-8")
    check = (
        "const { readFileSync } = require('node:fs');"
        "const { SourceTextModule } = require('node:vm');"
        "const texts = JSON.parse(readFileSync(process.argv[1]));"
        "for (const [name, text] of Object.entries(texts))"
        "  try { new SourceTextModule(text) } catch (error) { console.log(name, String(error)) }"
    )
    done = subprocess.run(
        [node, "--no-warnings", "--experimental-vm-modules", "-e", check, str(texts)],
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("", "")


def test_gos_are_formatted_as_gofmt_does(tmp_path: Path) -> None:
    gofmt = needs("gofmt")
    for number, text in enumerate(every_sample("go").values()):
        (tmp_path / f"{number}.go").write_text(text, encoding="utf-8")
    done = subprocess.run([gofmt, "-l", str(tmp_path)], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_all_languages_send_the_same_body() -> None:
    """Read back out of each text, without running it."""
    request = tricky()
    texts = {each.id: each.text for each in samples(request)}
    names: dict[str, Any] = {}
    body = texts["python"].partition("body = ")[2].partition("\nheaders")[0]
    exec(f"body = {body}", names)
    assert names["body"] == request.body
    script = texts["curl"].replace("curl -sS", "printf '%s\\n'")
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.partition("-d\n")[2]) == request.body
    quoted = re.search(r"body := (\".*\")$", texts["go"], re.MULTILINE)
    assert quoted and json.loads(json.loads(quoted[1])) == request.body
    if shutil.which("node"):
        literal = re.search(r"JSON\.stringify\((.*)\),\n", texts["ts"], re.DOTALL)
        assert literal
        code = f"console.log(JSON.stringify({literal[1]}))"
        done = subprocess.run(["node", "-e", code], capture_output=True, text=True, check=True)
        assert json.loads(done.stdout) == request.body


def test_every_operations_page_has_them(client: Any, db: None, empty_redis: None) -> None:
    for path in ("historical/getBlock", "priority/sendTransaction", "http/fatesStream"):
        page = client.get(f"/docs/{path}/", HTTP_HOST="localhost:9123").content.decode()
        for language in ("curl", "python", "ts", "go"):
            text = page.partition(f'id="text-{language}">')[2].partition("</code>")[0]
            assert "http://localhost:9123" in re.sub("<[^>]+>", "", text), (path, language)
