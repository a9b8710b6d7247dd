"""The front page: what answers here, as this installation is set."""

from typing import Any

import pytest


@pytest.mark.parametrize(
    ("localnet", "node", "words"),
    [
        (True, "http://127.0.0.1:8899", "methods, on localnet"),
        (False, "http://node.example", "methods, on the chain that is followed"),
        (False, "", "no node is set to pass other methods on to"),
    ],
)
def test_it_says_what_the_root_passes_on_and_to_whom(
    client: Any, settings: Any, localnet: bool, node: str, words: str
) -> None:
    settings.LOCALNET, settings.UPSTREAM_RPC_URL = localnet, node
    page = client.get("/", HTTP_HOST="localhost")
    assert page.status_code == 200
    text = page.content.decode().replace("&#x27;", "'")
    assert words in text and "curl http://localhost/historical" in text
    assert node == "" or node not in text  # an address may hold a key
    assert page["X-Request-Id"] and not page.cookies


def test_it_names_every_area(client: Any) -> None:
    text = client.get("/", HTTP_HOST="localhost").content.decode()
    for path in ("/priority", "/bundle", "/historical", "/rewind"):
        assert f"<code>{path}</code>" in text
