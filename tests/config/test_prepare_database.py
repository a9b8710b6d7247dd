"""manage.py prepare_database: waits for the database, then brings it up to date."""

import os
from pathlib import Path

import pytest

from tests import forked_commands
from tests.databases import this_database
from tests.localnet_process import free_ports
from tests.patience import PATIENCE_SECONDS


def environment(tmp_path: Path, url: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {**kept, "TIDEMARK_RUN_DIR": str(tmp_path / "run"), "DATABASE_URL": url}


@pytest.mark.django_db(transaction=True)
def test_a_database_that_answers_is_prepared(tmp_path: Path) -> None:
    done = forked_commands.run(
        ["prepare_database"], environment=environment(tmp_path, this_database())
    )
    assert done.returncode == 0, done.stderr


def test_it_waits_for_one_that_does_not_answer_and_says_why_once(tmp_path: Path) -> None:
    url = f"postgresql://tidemark@127.0.0.1:{free_ports(1)[0]}/none"
    process = forked_commands.start(["prepare_database"], environment=environment(tmp_path, url))
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert "waits for the database" in said and "refused" in said
        assert process.poll() is None
    finally:
        process.kill()
        assert "waits for the database" not in process.finish(PATIENCE_SECONDS)
