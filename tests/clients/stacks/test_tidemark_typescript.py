"""A newcomer's walk: nothing but the packed TypeScript client and its README, in an empty folder,
against a running service.
"""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.clients.chain_endpoints import until
from tests.clients.service import Service
from tests.clients.test_readme import _is_stored, addressed, snippets
from tests.clients.typescript_client import README, made
from tests.localnet_process import free_ports

pytestmark = pytest.mark.clients

STRICT = ["--strict", "--noEmit", "--target", "es2023", "--module", "nodenext", "--types", "node"]


def test_from_the_tarball_to_the_past(stacked: Service, typescript: Path, tmp_path: Path) -> None:
    made(typescript, "npm", "pack", "--pack-destination", str(tmp_path))
    (tarball,) = tmp_path.glob("tidemark-*.tgz")
    project = tmp_path / "project"
    project.mkdir()
    shutil.move(tarball, project)

    began = time.monotonic()
    _, install = snippets(README, "sh")[0].splitlines()
    made(project, "sh", "-ec", install)
    installed = time.monotonic()
    names = ("first.mjs", "past.mjs")
    for name, text in zip(names, snippets(README, "ts"), strict=True):
        (project / name).write_text(addressed(text, stacked), encoding="utf-8")
    signature = made(project, "node", "first.mjs", KEY=stacked.key).strip()
    landed = time.monotonic()
    until(lambda: _is_stored(stacked, signature), "the transaction stored")
    account, *writes = made(
        project, "node", "past.mjs", KEY=stacked.key, SIGNATURE=signature
    ).splitlines()
    read = time.monotonic()
    assert account.split()[1] == "1000000000n"
    assert writes[0].split()[2] == signature
    print(
        f"installed in {installed - began:.0f} s, landed {landed - installed:.0f} s and read"
        f" {read - landed:.0f} s later"
    )

    # The same with types, which the package has.
    made(project, "npm", "install", "--save-dev", "typescript@5.9.3", "@types/node@20")
    typed = [str(shutil.copyfile(project / each, project / f"{each[:-4]}.mts")) for each in names]
    made(project, "npx", "tsc", *STRICT, *typed)

    # What goes wrong first.
    without_key = failure(project, KEY="")
    assert "KeyRequired" in without_key and "key_required" in without_key
    away = f"127.0.0.1:{free_ports(1)[0]}"
    (project / "first.mjs").write_text(snippets(README, "ts")[0].replace("127.0.0.1:8000", away))
    assert f"no connection to http://{away}: connect ECONNREFUSED" in failure(project, KEY="x")


def failure(project: Path, **environment: str) -> str:
    """What the first example prints when it fails."""
    done = subprocess.run(
        ["node", "first.mjs"],
        cwd=project,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    return done.stderr
