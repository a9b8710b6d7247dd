"""The front page: what this is, how it is now, as this installation is set."""

from typing import Any

import pytest


def front(client: Any) -> str:
    page = client.get("/", HTTP_HOST="localhost")
    assert page.status_code == 200
    return page.content.decode().replace("&#x27;", "'")


@pytest.mark.parametrize(
    ("localnet", "node", "words"),
    [
        (True, "http://127.0.0.1:8899", "methods, on localnet"),
        (False, "http://node.example", "methods, on the chain that is followed"),
        (False, "", "no node is set to pass other methods on to"),
    ],
)
def test_it_says_what_the_root_passes_on_and_to_whom(
    client: Any, settings: Any, empty_ledger: None, localnet: bool, node: str, words: str
) -> None:
    settings.LOCALNET, settings.UPSTREAM_RPC_URL = localnet, node
    page = client.get("/", HTTP_HOST="localhost")
    assert page.status_code == 200
    text = page.content.decode().replace("&#x27;", "'")
    assert words in text and "http://localhost/historical" in text
    assert node == "" or node not in text  # an address may hold a key
    assert page["X-Request-Id"] and not page.cookies
    assert "default-src 'self'" in page["Content-Security-Policy"]


def test_it_names_every_area(client: Any, db: None) -> None:
    text = front(client)
    for path in ("/priority", "/bundle", "/historical", "/rewind"):
        assert f"<code>{path}</code>" in text


def test_it_says_how_the_service_is(client: Any, empty_ledger: None, settings: Any) -> None:
    from gateway import health

    settings.LOCALNET, settings.UPSTREAM_RPC_URL, settings.UPSTREAM_GEYSER_URL = False, "", ""
    text = front(client)
    assert "The ledger is empty yet; no chain is followed" in text

    def away() -> dict[str, Any]:
        raise health.NotReady("it sleeps")

    health.add_check("naps", away)
    try:
        text = front(client)
    finally:
        del health._checks["naps"]
    assert "not ready" in text and "naps." in text


def test_post_stays_a_call(client: Any, db: None) -> None:
    body = '{"jsonrpc":"2.0","id":1,"method":"nowhere"}'
    answer = client.post("/", body, content_type="application/json", HTTP_HOST="localhost")
    assert answer.json()["error"]["data"] == {"reason": "method_not_found", "method": "nowhere"}


def test_tier_hosts_have_no_pages(client: Any, settings: Any) -> None:
    for path in ("/docs/", "/openrpc.json", "/openapi.json"):
        answer = client.get(path, HTTP_HOST=f"basic.rpc.{settings.DOMAIN}")
        assert (answer.status_code, answer.json()["error"]) == (404, "path_not_served")
