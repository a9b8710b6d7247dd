"""`tidemark`, the command."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar

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


class _Recorder(BaseHTTPRequestHandler):
    """Refuses every request, and keeps its path and key."""

    got: ClassVar[list[tuple[str, str | None]]] = []

    def do_GET(self) -> None:
        self.got.append((self.path, self.headers["Authorization"]))
        self.send_error(404)

    def log_message(self, *_args: object) -> None:
        pass


def test_an_option_of_a_call_is_not_one_of_the_command(
    url: str, root_key: str, customer: Customer
) -> None:
    """Webhooks and upstreams have a URL, usage has a method: the key goes to the service alone."""
    key = {"TIDEMARK_ROOT_KEY": root_key}
    with HTTPServer(("127.0.0.1", 0), _Recorder) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        place = f"127.0.0.1:{other.server_port}"
        new = ["webhooks", "create", "--customer", str(customer.id), "--name", "hook"]
        made = tidemark(url, *new, "--url", f"http://{place}/events", "--json", **key)
        assert not _Recorder.got, "the root key was sent to the webhook"
        assert json.loads(made.stdout)["host"] == place
        tidemark(f"http://{place}", "usage", "--span", "30d", **key)
        tidemark(f"http://{place}", "usage", "--method", "getSlot", "--csv", **key)
        other.shutdown()
    assert {path for path, _key in _Recorder.got} == {
        "/manage/v1/usage?span=30d",
        "/manage/v1/usage/csv?method=getSlot",
    }


def test_a_table_has_what_says_most_and_names_the_rest(
    url: str, root_key: str, customer: Customer
) -> None:
    audit = tidemark(url, "audit", "--limit", "2", TIDEMARK_ROOT_KEY=root_key, COLUMNS="100")
    head, *rows, last = audit.stdout.splitlines()
    assert head.split()[:4] == ["id", "who", "verb", "subject"] and len(rows) == 2
    assert last.startswith("No room for ") and "digest" in last
    wide = tidemark(url, "audit", "--limit", "2", TIDEMARK_ROOT_KEY=root_key, COLUMNS="9999")
    assert "digest" in wide.stdout and "No room" not in wide.stdout


def test_the_command_says_what_is_wrong(url: str, root_key: str, customer: Customer) -> None:
    key = {"TIDEMARK_ROOT_KEY": root_key}
    new = ["keys", "issue", "--customer", str(customer.id), "--tier", "none", "--name", "x"]
    refused = tidemark(url, *new, **key)
    assert refused.returncode == 1 and "tier: Object with name=none" in refused.stderr
    nested = tidemark(
        url,
        *["rules", "create", "--customer", str(customer.id), "--name", "r", "--mails", "true"],
        *["--trigger", "account", "--condition", '{"address": "\\u0000"}'],
        **key,
    )
    assert "  condition.address: Null characters are not allowed." in nested.stderr
    negative = tidemark(url, "keys", "--limit", "-1", **key)
    assert negative.returncode == 2 and "0 or more entries" in negative.stderr
    wrong = tidemark(url, "keys", "get", "first", **key)
    assert wrong.returncode == 2 and "valid integer" in wrong.stderr
    away = tidemark("http://127.0.0.1:1", "keys", **key)
    assert away.returncode == 1 and len(away.stderr.splitlines()) == 2
    assert away.stderr.startswith("tidemark: no connection to http://127.0.0.1:1: ")
    empty = tidemark(url, "keys", TIDEMARK_ROOT_KEY="", TIDEMARK_ROOT_KEY_FILE="")
    assert empty.returncode == 1 and "set TIDEMARK_ROOT_KEY" in empty.stderr
