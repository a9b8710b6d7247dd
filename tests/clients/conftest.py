"""Running services, no more at a time than a file uses, and the npm clients installed once."""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests import shared
from tests.file_locks import one_at_a_time
from tests.patience import PATIENCE_SECONDS

from .mixed_history import SETTINGS, History
from .mixed_history import made as made_history
from .service import Service, running_service
from .sources import (
    ABSENT,
    FILES,
    LEGACY,
    MADE,
    MODERN,
    RANGE,
    SKIPPED,
    TOKEN_PROGRAM,
    first_signatures,
    legacy_block,
    made_block,
    modern_block,
)
from .typescript_client import Samples, compiled_samples, generated, made

NPM = Path(__file__).resolve().parent / "npm"
Node = Callable[..., str]


@pytest.fixture(scope="module")
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Service:
    """A service whose newest block is the made one."""

    def make() -> Iterator[Service]:
        file = tmp_path_factory.mktemp("blocks") / f"{MADE}.json"
        file.write_text(json.dumps(made_block()))
        with running_service("web") as service:
            service.import_blocks(file)
            yield service

    return shared.value_of(request, make)


@pytest.fixture(scope="module")
def followed(request: pytest.FixtureRequest) -> Service:
    """A service whose ledger follows its own localnet."""

    def make() -> Iterator[Service]:
        with running_service(LOCALNET="true", LOCALNET_SLOT_MS="150") as service:
            yield service

    return shared.value_of(request, make)


@pytest.fixture(scope="module")
def history(request: pytest.FixtureRequest) -> History:
    """A service with twelve rounds of some hundred mixed transactions; its audit replays all of
    them. Its tests run in the order of their files (tests/spreading.py): the last one cuts the
    archive.
    """

    def make() -> Iterator[History]:
        # What the service does for a slot costs more than most of these tests ask of it.
        slower = {**SETTINGS, "LOCALNET_SLOT_MS": "150"}
        with running_service(**slower, REPLAY_AUDIT_PERMILLE="1000") as service:
            yield made_history(service)

    return shared.value_of(request, make)


@pytest.fixture(scope="session")
def blocks(fixtures: Path) -> Path:
    """The folder of the source files."""
    return fixtures / "blocks"


@pytest.fixture(scope="module")
def ledger(request: pytest.FixtureRequest, service: Service, blocks: Path) -> Service:
    """The service with the real blocks."""

    def make() -> Iterator[Service]:
        service.import_blocks(*(blocks / name for name in FILES))
        yield service

    return shared.value_of(request, make)


@pytest.fixture(scope="module")
def given(ledger: Service, blocks: Path) -> str:
    """What the scripts of the npm clients are told: where to ask, and for what."""
    return json.dumps(
        {
            "url": ledger.url,
            "key": ledger.key,
            "modern": MODERN,
            "legacy": LEGACY,
            "range": RANGE,
            "skipped": SKIPPED,
            "address": TOKEN_PROGRAM,
            "modernSignatures": first_signatures(modern_block(blocks))[:50],
            "legacySignatures": first_signatures(legacy_block(blocks, "base64")),
            "absent": ABSENT,
        }
    )


@pytest.fixture(scope="session")
def npm_packages(request: pytest.FixtureRequest) -> Path:
    """The folder with the installed packages."""
    absent = [name for name in ("node", "npm") if shutil.which(name) is None]
    if absent and os.environ.get("CI") == "true":
        pytest.fail(f"{' and '.join(absent)} not found, and this is CI")
    if absent:
        pytest.skip(f"the npm clients need {' and '.join(absent)}")
    assert request.config.cache is not None
    return _installed(request.config.cache)


@pytest.fixture(scope="session")
def node(npm_packages: Path) -> Node:
    """`node("kit.mjs", …)` runs a script beside the installed packages → what it printed."""

    def run(script: str | Path, *arguments: str, **environment: str) -> str:
        copy = beside_packages(npm_packages, NPM / script)
        done = subprocess.run(
            ["node", str(copy), *arguments],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def generated_typescript(request: pytest.FixtureRequest) -> Path:
    """The folder of our TypeScript client, generated again, beside its packages."""
    assert request.config.cache is not None
    return generated(request.config.cache)


@pytest.fixture(scope="session")
def typescript(generated_typescript: Path) -> Path:
    """It, compiled."""
    made(generated_typescript, "npm", "run", "build")
    return generated_typescript


@pytest.fixture(scope="session")
def samples(request: pytest.FixtureRequest) -> Samples:
    """Compiles the pages' TypeScript, which passes `tsc --strict`, once it is called."""
    return cache(lambda: compiled_samples(request.getfixturevalue("typescript")))


def beside_packages(folder: Path, script: Path) -> Path:
    """A copy of the script where it finds the packages: a module does so from where it lies. It
    is there as a whole, also for a worker that runs it while another one copies it.
    """
    copy = folder / script.name
    part = folder / f"{script.name}.{os.getpid()}"
    shutil.copyfile(script, part)
    return part.replace(copy)


def _installed(cache: pytest.Cache) -> Path:
    """A folder with the packages of package-lock.json, kept among pytest's cache, for all
    workers.
    """
    files = [NPM / name for name in ("package.json", "package-lock.json", ".npmrc")]
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
    folder = cache.mkdir(f"npm-clients-{digest}")
    # Last: an installation that was cut short is taken up again.
    done = folder / "installed"
    with one_at_a_time(folder.with_suffix(".lock")):
        if done.exists():
            return folder
        for file in files:
            shutil.copyfile(file, folder / file.name)
        attempt = subprocess.run(
            ["npm", "ci", "--ignore-scripts", "--omit=optional"],
            cwd=folder,
            capture_output=True,
            text=True,
        )
        assert attempt.returncode == 0, f"npm ci failed:\n{attempt.stderr}"
        done.touch()
    return folder
