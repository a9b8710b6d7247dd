"""Django's own commands: they do what a Django developer expects, or say plainly why not."""

import os
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests import forked_commands
from tests.databases import this_database
from tests.localnet_process import free_ports
from tests.patience import PATIENCE_SECONDS


def environment(tmp_path: Path, **variables: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {**kept, "TIDEMARK_RUN_DIR": str(tmp_path / "run"), **variables}


def test_the_version_is_told_alike_by_command_door_pages_and_metrics(
    client: Any, admin_client: Any, settings: Any, tmp_path: Path
) -> None:
    ran = subprocess.run(
        [sys.executable, "manage.py", "version"],
        cwd=settings.ROOT,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    version = ran.stdout.strip()
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    assert client.get("/healthz").json() == {"status": "ok", "version": version}
    for page in (client.get("/docs/"), client.get("/"), admin_client.get("/admin/")):
        assert f"Tidemark {version}</" in page.content.decode()
    settings.METRICS_TOKEN = "t" * 32
    metrics = client.get("/metrics", HTTP_AUTHORIZATION=f"Bearer {'t' * 32}").content.decode()
    assert f'version="{version}"' in metrics


def test_collectstatic_says_that_there_is_nothing_to_collect(tmp_path: Path) -> None:
    command = ["collectstatic", "--noinput"]
    found = forked_commands.run(command, environment=environment(tmp_path))
    assert found.returncode == 1
    assert found.stderr.startswith("CommandError: There is nothing to collect: web processes serve")


def test_the_checks_for_deployment_ask_for_https_alone(tmp_path: Path) -> None:
    command = ["check", "--deploy", "--fail-level", "WARNING"]
    found = forked_commands.run(command, environment=environment(tmp_path))
    assert found.returncode == 1 and "(tidemark.W001)" in found.stderr
    assert "set BEHIND_HTTPS=true" in found.stderr and "identified 1 issue" in found.stderr
    https = environment(tmp_path, BEHIND_HTTPS="true", DOMAIN="rpc.example")
    found = forked_commands.run(command, environment=https)
    assert found.returncode == 0 and "no issues" in found.stdout + found.stderr


def test_what_the_silenced_checks_ask_for_stands_before_pages() -> None:
    from django.conf import settings

    for name in (
        "django.middleware.security.SecurityMiddleware",
        "django.middleware.clickjacking.XFrameOptionsMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ):
        assert name in settings.ADMIN_MIDDLEWARE


def test_runserver_says_that_its_database_is_missing(tmp_path: Path) -> None:
    command = ["runserver", "--noreload", str(free_ports(1)[0])]
    found = forked_commands.run(command, environment=environment(tmp_path))
    assert found.returncode == 1 and "Traceback" not in found.stderr
    assert "The database does not answer. Start `make run` in another terminal" in found.stderr


@pytest.mark.django_db(transaction=True)
def test_runserver_serves_pages_static_files_and_calls(tmp_path: Path) -> None:
    from django.conf import settings

    (port,) = free_ports(1)
    known = {"DATABASE_URL": this_database(), "REDIS_URL": settings.REDIS_URL, "LOCALNET": "false"}
    process = forked_commands.start(
        ["runserver", "--noreload", str(port)], environment=environment(tmp_path, **known)
    )
    try:
        base = f"http://127.0.0.1:{port}"
        while True:
            try:
                with urllib.request.urlopen(f"{base}/healthz", timeout=PATIENCE_SECONDS) as answer:
                    assert answer.status == 200
                break
            except OSError:
                assert process.poll() is None
                time.sleep(0.1)
        for path, text in (("/docs/", b"Tidemark"), ("/static/tidemark/site.css", b"{")):
            with urllib.request.urlopen(base + path, timeout=PATIENCE_SECONDS) as answer:
                assert answer.status == 200 and text in answer.read()
        body = b'{"jsonrpc":"2.0","id":1,"method":"getFirstAvailableBlock"}'
        headers = {"Content-Type": "application/json"}
        call = urllib.request.Request(f"{base}/historical", body, headers)
        with urllib.request.urlopen(call, timeout=PATIENCE_SECONDS) as answer:
            assert b'"jsonrpc":"2.0"' in answer.read()
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def test_a_program_that_ends_leaves_the_collector_nothing_to_walk_over(
    settings: Any, tmp_path: Path
) -> None:
    left = (
        "import atexit, gc, sys; atexit.register(lambda: print(len(gc.get_objects())));"
        f" sys.path.insert(0, '{settings.ROOT}/platform'); import django; django.setup();"
        " print(len(gc.get_objects()))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", left],
        cwd=settings.ROOT,
        env=environment(tmp_path, DJANGO_SETTINGS_MODULE="config.settings"),
        capture_output=True,
        text=True,
        check=True,
    )
    running, ended = map(int, ran.stdout.split())
    assert running > 50_000 and ended < 1_000
