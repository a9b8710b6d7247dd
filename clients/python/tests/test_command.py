"""`tidemark`, the command."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tidemark.management_types import Customer


def tidemark(url: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tidemark.cli", *arguments],
        env={**os.environ, "TIDEMARK_URL": url, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_command_issues_lists_and_revokes(
    url: str, root_key: str, customer: Customer, tmp_path: Path
) -> None:
    file = tmp_path / "key"
    file.write_text(f"{root_key}\n")
    key = {"TIDEMARK_ROOT_KEY": "", "TIDEMARK_ROOT_KEY_FILE": str(file)}
    new = ["keys", "issue", "--customer", str(customer.id), "--tier", "basic", "--name", "bot"]
    issued = json.loads(tidemark(url, *new, "--scopes", "rewind", "--json", **key).stdout)
    assert issued["scopes"] == ["rewind"] and issued["secret"].startswith("tmk_")
    number = str(issued["id"])
    more = ["--networks", "203.0.113.0/24", "2001:db8::/32"]
    restricted = tidemark(url, "keys", "restrict", number, *more, "--json", **key)
    assert json.loads(restricted.stdout)["networks"] == more[1:]
    limited = tidemark(url, "keys", "limits", number, "--calls-per-month", "9", "--json", **key)
    assert json.loads(limited.stdout)["callsPerMonth"] == 9
    table = tidemark(url, "keys", "--customer", str(customer.id), **key).stdout.splitlines()
    assert table[0].split()[:2] == ["id", "name"] and table[1].split()[:2] == [number, "bot"]
    assert "state   " in tidemark(url, "keys", "revoke", number, **key).stdout
    usage = tidemark(url, "usage", "--csv", "--customer", str(customer.id), **key)
    assert usage.stdout.startswith("key_id,")


def test_the_command_says_what_is_wrong(url: str, root_key: str, customer: Customer) -> None:
    key = {"TIDEMARK_ROOT_KEY": root_key}
    new = ["keys", "issue", "--customer", str(customer.id), "--tier", "none", "--name", "x"]
    refused = tidemark(url, *new, **key)
    assert refused.returncode == 1 and "tier: Object with name=none" in refused.stderr
    wrong = tidemark(url, "keys", "get", "first", **key)
    assert wrong.returncode == 2 and "valid integer" in wrong.stderr
    away = tidemark("http://127.0.0.1:1", "keys", **key)
    assert away.returncode == 1 and len(away.stderr.splitlines()) == 2
    assert away.stderr.startswith("tidemark: no connection to http://127.0.0.1:1: ")
    empty = tidemark(url, "keys", TIDEMARK_ROOT_KEY="", TIDEMARK_ROOT_KEY_FILE="")
    assert empty.returncode == 1 and "set TIDEMARK_ROOT_KEY" in empty.stderr
