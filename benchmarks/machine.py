"""What figures are taken on, how busy it is meanwhile, and with which versions."""

import os
import platform
import subprocess
from pathlib import Path

from embedded.programs import find_programs


def describe() -> str:
    """Cores, processor, kernel, and the versions that a figure depends on; two lines."""
    programs = find_programs(Path(), None)
    return (
        f"{os.cpu_count()} cores, {_processor()}, Linux {platform.release()}\n"
        f"CPython {platform.python_version()}, {_version(programs.postgres)},"
        f" {_version(programs.valkey)}"
    )


def load() -> float:
    """The load average of the last minute."""
    return os.getloadavg()[0]


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


def _version(program: Path) -> str:
    found = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    name, _, rest = found.stdout.strip().partition(" ")
    words = rest.replace("v=", "").replace("(PostgreSQL)", "").split()
    number = next((word for word in words if word[0].isdigit()), rest)
    return f"{name} {number}"
