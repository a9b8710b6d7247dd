"""The units of deploy/systemd: the Procfile's commands, valid, and hardened."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

ROOT = Path(__file__).resolve().parent.parent.parent
UNITS = ROOT / "deploy" / "systemd"
SERVICES = sorted(each.stem.removeprefix("tidemark-") for each in UNITS.glob("*.service"))
# `systemd-analyze security` counts from 0 (nothing is open) to 10.
MOST_EXPOSED = 3.0
ANALYZE = shutil.which("systemd-analyze")
_needs_systemd = pytest.mark.skipif(
    ANALYZE is None, reason="needs systemd-analyze: apt-get install systemd"
)


def _unit(name: str) -> dict[str, list[str]]:
    """The settings of [Service], each with its values."""
    found: dict[str, list[str]] = {}
    text = (UNITS / f"tidemark-{name}.service").read_text()
    for line in text.split("[Service]")[1].split("[Install]")[0].splitlines():
        setting, is_set, value = line.partition("=")
        if is_set and not line.startswith("#"):
            found.setdefault(setting, []).append(value)
    return found


def _procfile() -> dict[str, str]:
    lines = (ROOT / "Procfile").read_text().splitlines()
    return {name: command.strip() for name, _, command in (line.partition(":") for line in lines)}


def test_each_process_of_the_procfile_has_a_unit() -> None:
    # localnet is for development: a chain of one machine.
    assert set(SERVICES) == {*_procfile(), "migrate"} - {"localnet"}


@pytest.mark.parametrize("name", sorted(set(SERVICES) - {"migrate"}))
def test_a_unit_runs_the_command_of_the_procfile(name: str) -> None:
    command, unit = _procfile()[name], _unit(name)
    # systemd knows no defaults: they are Environment=, which /etc/tidemark/environment overrides.
    defaults = dict(re.findall(r"\$\{(\w+):-([^}]*)\}", command))
    expected = re.sub(r"\$\{(\w+):-[^}]*\}", r"${\1}", command).replace("%", "%%")
    expected = expected.replace("manage.py", "/opt/tidemark/manage.py", 1)
    expected = f"/opt/tidemark/.venv/bin/{expected}"
    assert unit["ExecStart"] == [expected]
    assert dict(line.split("=", 1) for line in unit.get("Environment", [])) == defaults
    assert (unit["Type"], unit["WatchdogSec"]) == (["notify"], ["20"])


def test_each_command_of_a_unit_exists_with_its_options() -> None:
    for name in SERVICES:
        for command in _unit(name)["ExecStart"]:
            _, found, rest = command.partition(" /opt/tidemark/manage.py ")
            if found:
                subcommand, *words = re.sub(r"\$\{\w+\}", "1", rest).split()
                made = load_command_class(get_commands()[subcommand], subcommand)
                made.create_parser("manage.py", subcommand).parse_args(words)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The root folder of a machine with these units, on which their programs exist."""
    installed = tmp_path / "etc" / "systemd" / "system"
    shutil.copytree(UNITS, installed)
    for system in ("multi-user", "basic", "sysinit", "shutdown", "network-online"):
        unit = tmp_path / "usr" / "lib" / "systemd" / "system" / f"{system}.target"
        unit.parent.mkdir(parents=True, exist_ok=True)
        unit.write_text("[Unit]\nDescription=of a test\n")
    for program in (
        "opt/tidemark/.venv/bin/python",
        "opt/tidemark/.venv/bin/celery",
        "usr/bin/env",
    ):
        file = tmp_path / program
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
        file.chmod(0o755)
    return tmp_path


@_needs_systemd
def test_units_are_closed(root: Path) -> None:
    assert ANALYZE is not None
    for name in SERVICES:
        found = subprocess.run(
            [ANALYZE, f"--root={root}", "security", "--offline=true", f"tidemark-{name}.service"],
            capture_output=True,
            text=True,
            check=False,
        )
        exposure = re.search(r"Overall exposure level for \S+: ([\d.]+)", found.stdout)
        assert exposure is not None, found.stderr
        assert float(exposure[1]) < MOST_EXPOSED, f"{name}: {found.stdout}"


@_needs_systemd
def test_units_are_valid(root: Path) -> None:
    """No setting is unknown, none is misspelt, every unit that is named exists."""
    assert ANALYZE is not None
    names = [f"tidemark-{name}.service" for name in SERVICES]
    found = subprocess.run(
        [ANALYZE, f"--root={root}", "verify", "--man=no", "tidemark.target", *names],
        capture_output=True,
        text=True,
        check=False,
    )
    complaints = [line for line in found.stderr.splitlines() if "tidemark" in line]
    assert not complaints, found.stderr


def test_the_environment_names_settings_that_exist() -> None:
    page = (ROOT / "docs" / "settings.md").read_text()
    text = (ROOT / "deploy" / "environment.example").read_text()
    names = re.findall(r"^#? ?([A-Z][A-Z_]+)=", text, re.MULTILINE)
    assert len(names) > 10 and not [name for name in names if f"`{name}`" not in page]
