"""A machine with a systemd of its own: this one's files under systemd-nspawn, changes in memory.

Its network is this machine's. Tidemark is installed as docs/deployment.md says.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.patience import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parent.parent.parent
UNITS = ROOT / "deploy" / "systemd"
# Homes are absent for the units: their Python lies outside, as the page says.
_PYTHON = "/opt/python"


@dataclass(frozen=True, slots=True)
class Machine:
    """`first` is its first process."""

    folder: Path
    first: int

    def run(self, *command: str) -> str:
        """What the command prints there."""
        inside = ["nsenter", "-t", str(self.first), "-m", "-p", "-u", "-i", "--", *command]
        done = subprocess.run(inside, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    def shows(self, unit: str, name: str) -> str:
        """A property of the unit."""
        return self.run("systemctl", "show", "--value", f"--property={name}", unit)

    def log(self) -> str:
        return self.run("journalctl", "--no-pager", "--unit=tidemark-*", "--lines=80")


@contextmanager
def machine(**settings: str) -> Iterator[Machine]:
    """One that has booted, with these settings in /etc/tidemark/environment; nothing of Tidemark's
    is started. Skips the test where there can be none.
    """
    if os.geteuid() or shutil.which("systemd-nspawn") is None:
        pytest.skip("needs root and systemd-nspawn: apt-get install systemd-container")
    with ExitStack() as stack:
        root = stack.enter_context(_files())
        _install(root, settings)
        binds = {ROOT / ".venv" / "lib": "/opt/tidemark/.venv/lib", Path(sys.base_prefix): _PYTHON}
        command = ["systemd-nspawn", "--directory", str(root), "--boot", "--console=pipe"]
        command += ["--quiet", "--register=no", "--keep-unit"]
        command += [f"--bind-ro={here.resolve()}:{there}" for here, there in binds.items()]
        with (root.parent / "console").open("wb") as console:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=console, stderr=console
            )
        stack.callback(_stop, process)
        yield Machine(root, _booted(process, root.parent / "console"))


@contextmanager
def _files() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="tidemark-machine-"))
    mounted = ["mount", "-t", "tmpfs", "-o", "size=2g", "tmpfs", str(folder)]
    if subprocess.run(mounted, check=False).returncode:
        folder.rmdir()
        pytest.skip("no file system can be mounted here")
    try:
        for name in ("root", "upper", "work"):
            (folder / name).mkdir()
        layers = f"lowerdir=/,upperdir={folder}/upper,workdir={folder}/work"
        mounted = ["mount", "-t", "overlay", "overlay", "-o", layers, str(folder / "root")]
        if subprocess.run(mounted, check=False).returncode:
            pytest.skip("no overlay can be mounted here")
        yield folder / "root"
        subprocess.run(["umount", "--lazy", folder / "root"], check=True)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
        folder.rmdir()


def _install(root: Path, settings: dict[str, str]) -> None:
    account = ["useradd", "--system", "--home-dir", "/var/lib/tidemark", "tidemark"]
    subprocess.run(["chroot", root, *account], check=True)
    installed = root / "opt" / "tidemark"
    installed.mkdir()
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in names.strip("\0").split("\0"):
        if (ROOT / name).exists():
            (installed / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, installed / name)
    programs = installed / ".venv" / "bin"
    programs.mkdir(parents=True)
    (installed / ".venv" / "lib").mkdir()
    (root / _PYTHON.lstrip("/")).mkdir()
    version = f"python3.{sys.version_info.minor}"
    (programs / "python").symlink_to(f"{_PYTHON}/bin/{version}")
    (installed / ".venv" / "pyvenv.cfg").write_text(f"home = {_PYTHON}/bin\n")
    celery = (ROOT / ".venv" / "bin" / "celery").read_text().partition("\n")[2]
    (programs / "celery").write_text(f"#!/opt/tidemark/.venv/bin/python\n{celery}")
    (programs / "celery").chmod(0o755)
    shutil.copytree(UNITS, root / "etc" / "systemd" / "system", dirs_exist_ok=True)
    (root / "etc" / "tidemark").mkdir()
    text = "".join(f"{name}={value}\n" for name, value in settings.items())
    # A Python with a shared library finds it where it was built.
    text += f"LD_LIBRARY_PATH={_PYTHON}/lib\n"
    (root / "etc" / "tidemark" / "environment").write_text(text)
    # Else it were a first boot, which enables every unit.
    (root / "etc" / "machine-id").write_text(f"{os.urandom(16).hex()}\n")


def _booted(process: "subprocess.Popen[bytes]", console: Path) -> int:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        assert process.poll() is None and time.monotonic() < deadline, console.read_text()
        for child in psutil.Process(process.pid).children():
            found = Machine(Path("/"), child.pid).run("systemctl", "is-system-running")
            if found in ("running", "degraded"):
                return child.pid
        time.sleep(0.3)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    for seconds in (20, 10):
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
            return
    process.kill()
    process.wait()
