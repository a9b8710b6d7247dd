"""Settings from the environment: what makes no sense stops the start, by name."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def check(tmp_path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return manage("check", tmp_path, **variables)


def manage(command: str, tmp_path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [sys.executable, "manage.py", command],
        cwd=ROOT,
        env={**kept, "TIDEMARK_RUN_DIR": str(tmp_path / "run"), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("MAX_BATCH", "many", "MAX_BATCH='many': expected a whole number"),
        ("MAX_BODY", "1", "MAX_BODY=1: expected 4096 to"),
        ("DEBUG", "perhaps", "DEBUG='perhaps': expected true or false"),
        ("LOG_LEVEL", "loud", "LOG_LEVEL='LOUD': expected DEBUG, INFO"),
        ("LOCK_TIMEOUT_MS", "20000", "expected less than STATEMENT_TIMEOUT_MS"),
        ("DATABASE_URL", "sqlite:///here", "expected postgresql://"),
    ],
)
def test_a_value_that_makes_no_sense_is_named_without_a_traceback(
    tmp_path: Path, name: str, value: str, words: str
) -> None:
    answer = check(tmp_path, **{name: value})
    assert answer.returncode != 0
    assert words in answer.stderr
    assert "Traceback" not in answer.stderr


def test_the_secret_key_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    assert check(tmp_path).returncode == 0
    path = tmp_path / "run" / "secret_key"
    first = path.read_text()
    assert len(first) >= 50
    assert path.stat().st_mode & 0o777 == 0o600
    assert check(tmp_path).returncode == 0
    assert path.read_text() == first


def test_a_secret_key_from_the_environment_leaves_no_file(tmp_path: Path) -> None:
    assert check(tmp_path, SECRET_KEY="k" * 60).returncode == 0
    assert not (tmp_path / "run").exists()


def test_a_command_without_a_database_says_what_is_missing(tmp_path: Path) -> None:
    answer = manage("migrate", tmp_path)
    assert answer.returncode != 0
    assert "does `make run` run?" in answer.stderr
    assert "Traceback" not in answer.stderr
