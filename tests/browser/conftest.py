"""A headless Chromium and the service as in production: manage.py serve, whitenoise, DEBUG off."""

import os
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import forked_commands, shared
from tests.databases import this_database
from tests.localnet_process import free_ports
from tests.patience import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parent.parent.parent
SCREENSHOTS = Path(__file__).resolve().parent / "screenshots"
CHROMIUM = next(
    (
        found
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (found := shutil.which(name))
    ),
    None,
)
_SWITCHES = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# "networkidle" would wait half a second more on each page, for nothing that these pages ask for.
_PAINTED = """() => document.fonts.ready.then(
  () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))
)"""
PASSWORD = "a password for the tests"


@pytest.fixture(scope="module")
def chromium(request: pytest.FixtureRequest) -> Any:
    """A running browser of playwright's, for this folder: its event loop stands in this thread,
    where tests after it may want one of their own.
    """
    return shared.value_of(request, _running_chromium)


def _running_chromium() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    # playwright keeps an event loop in this thread, in which Django would refuse its queries.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=list(_SWITCHES))
        yield browser
        browser.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture
def service_settings() -> dict[str, str]:
    """Settings of the service that a module of tests has besides."""
    return {}


@pytest.fixture
def service(
    transactional_db: None, empty_redis: None, service_settings: dict[str, str]
) -> Iterator[str]:
    """The base address of the service, on this test's database."""
    from django.conf import settings
    from django.contrib.auth import get_user_model

    get_user_model().objects.create_superuser("admin", password=PASSWORD)
    (port,) = free_ports(1)
    environment = {
        **os.environ,
        "DATABASE_URL": this_database(),
        "REDIS_URL": settings.REDIS_URL,
        "DEBUG": "false",
        **service_settings,
    }
    command = ["serve", "--port", str(port), "--workers", "1"]
    server = forked_commands.start(command, environment=environment, output=sys.stderr.fileno())
    try:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                assert server.poll() is None, "the web server ended"
                assert time.monotonic() < deadline, "the web server did not start"
                time.sleep(0.05)
        yield f"http://localhost:{port}"
    finally:
        server.terminate()
        server.wait(timeout=PATIENCE_SECONDS)


class Watched:
    """A page with what went wrong in it: console errors, failed requests, requests elsewhere."""

    def __init__(self, page: Any, base: str) -> None:
        self.page, self.base, self.problems, self.asked = page, base, [], []
        self.refusals_expected = False
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("requestfailed", self._failed)
        page.on("request", self._sent)
        page.on("response", self._answered)

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning") and not self.refusals_expected:
            self.problems.append(f"console: {message.text}")

    def _failed(self, request: Any) -> None:
        if request.failure != "net::ERR_ABORTED":  # what a navigation left behind
            self.problems.append(f"failed: {request.url} {request.failure}")

    def _sent(self, request: Any) -> None:
        self.asked.append(request.url)
        if not request.url.startswith((self.base, "data:", "blob:")):
            self.problems.append(f"elsewhere: {request.url}")

    def _answered(self, response: Any) -> None:
        if response.status >= 400 and not self.refusals_expected:
            self.problems.append(f"{response.status}: {response.url}")

    def open(self, path: str) -> None:
        """Gives a page that is loaded, with its fonts and scripts, and painted."""
        self.page.goto(self.base + path, wait_until="load")
        self.settle()

    def settle(self) -> None:
        """Waits until what was changed is painted."""
        self.page.evaluate(_PAINTED)

    def sign_in(self) -> None:
        self.open("/admin/login/")
        self.page.fill("#id_username", "admin")
        self.page.fill("#id_password", PASSWORD)
        self.page.click("button[type=submit]")
        self.page.wait_for_url(self.base + "/admin/")


@pytest.fixture
def watched(chromium: Any, service: str) -> Iterator[Callable[..., Watched]]:
    """`watched()`: a page of a fresh profile, not signed in yet, with options of its context."""
    contexts: list[Any] = []

    def start(**options: Any) -> Watched:
        context = chromium.new_context(**{"viewport": {"width": 1440, "height": 900}} | options)
        context.set_default_timeout(PATIENCE_SECONDS * 1000)
        contexts.append(context)
        return Watched(context.new_page(), service)

    yield start
    for context in contexts:
        context.close()
