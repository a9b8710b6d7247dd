"""Builds of programs are uploaded over real sockets, larger than other bodies may be."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.test import Client as Browser
from django.urls import reverse

from rewind.models import ProgramIdl
from rewind.replay.models import ReplayBuild
from tests.portal.conftest import People
from tests.rewind.test_large_overrides import program
from tests.web_server import service_worker
from tests.webserver.client import Client, Reply, post
from tests.webserver.serving import serving

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def port() -> Iterator[int]:
    with serving(service_worker()) as found:
        yield found


def sent(port: int, path: str, body: bytes, browser: Browser) -> Reply:
    """With the browser's session and its token."""
    browser.get(reverse("portal:sign_in"))
    cookies = {name: each.value for name, each in browser.cookies.items()}
    token = "t" * 32
    cookies[settings.CSRF_COOKIE_NAME] = token
    text = "; ".join(f"{name}={value}" for name, value in cookies.items())
    headers = (
        "Content-Type: application/octet-stream",
        f"Cookie: {text}",
        f"X-CSRFToken: {token}",
        "X-File-Name: large.so",
    )
    with Client(port) as client:
        return client.send(post(path, body, *headers)).reply()


def test_owners_and_staff_upload_large_builds_and_others_do_not(
    port: int, ada: Any, eve: Any, person: People, admin_client: Browser, browser: Any
) -> None:
    large = program(2 * settings.MAX_BODY)
    path, of_staff = reverse("portal:replay_build"), reverse("admin:rewind_replay_upload")
    reply = sent(port, path, large, browser(person(ada, "owner")))
    assert reply.status == 200, reply.body
    assert json.loads(reply.body)["label"].startswith("large.so, ")
    reply = sent(port, of_staff, large, admin_client)
    assert reply.status == 200, reply.body
    assert ReplayBuild.objects.count() == 2
    assert {each.customer for each in ReplayBuild.objects.all()} == {ada, None}
    reader = browser(person(eve, "reader"))
    for where, who in ((path, reader), (path, Browser()), (path, admin_client), (of_staff, reader)):
        assert sent(port, where, large, who).status == 413
    assert sent(port, path, large, browser(person(eve, "owner"))).status == 200
    too_large = bytes(settings.MAX_LARGE_BODY + 1)
    assert sent(port, of_staff, too_large, admin_client).status == 413
    assert ReplayBuild.objects.count() == 3


def test_staff_uploads_idls_larger_than_other_bodies(
    port: int, eve: Any, person: People, admin_client: Browser, browser: Any
) -> None:
    docs = {"docs": ["n" * 1_000] * (settings.MAX_BODY // 1_000)}
    idl = {"address": "1" * 32, "instructions": [], "metadata": {"name": "large"}, **docs}
    path, body = reverse("admin:rewind_programidl_upload"), json.dumps(idl).encode()
    assert len(body) > settings.MAX_BODY
    assert sent(port, path, body, browser(person(eve, "owner"))).status == 413
    assert not ProgramIdl.objects.exists()
    reply = sent(port, path, body, admin_client)
    assert reply.status == 200, reply.body
    assert ProgramIdl.objects.get().name == "large"
