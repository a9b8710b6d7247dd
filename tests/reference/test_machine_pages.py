"""What programs read of the docs: every address that they name answers."""

import re
from typing import Any
from xml.etree import ElementTree

import pytest

from reference import guides

pytestmark = pytest.mark.usefixtures("db", "empty_redis")
HOST = "localhost"
BASE = f"http://{HOST}"


def read(client: Any, address: str) -> str:
    answer = client.get(address.removeprefix(BASE), HTTP_HOST=HOST)
    assert answer.status_code == 200, address
    found: str = answer.content.decode()
    return found


def test_the_sitemap_lists_the_pages_of_the_docs(client: Any) -> None:
    answer = client.get("/sitemap.xml", HTTP_HOST=HOST)
    assert answer["Content-Type"] == "application/xml"
    found = [each.text or "" for each in ElementTree.fromstring(answer.content).iter() if each.text]
    addresses = [each for each in found if each.startswith(BASE)]
    assert len(addresses) == len(set(addresses)) > 150
    for address in (f"{BASE}/", f"{BASE}/docs/concepts/", f"{BASE}/docs/rewind/getAccountInfo/"):
        assert address in addresses
    assert not [each for each in addresses if each.startswith((f"{BASE}/admin", f"{BASE}/portal"))]
    for address in addresses[::25]:
        read(client, address)


def test_robots_may_read_the_docs_and_find_the_sitemap(client: Any) -> None:
    text = read(client, "/robots.txt")
    assert f"Sitemap: {BASE}/sitemap.xml" in text
    assert "Disallow: /docs" not in text and "Disallow: /admin/" in text


def test_llms_txt_names_every_guide_as_markdown(client: Any) -> None:
    text = read(client, "/llms.txt")
    assert re.match(r"# Tidemark\n\n> .+\n\n## ", text)
    addresses = re.findall(r"^- \[[^\]]+\]\(([^)]+)\)", text, re.MULTILINE)
    for slug in guides.slugs():
        assert f"{BASE}/docs/{slug}.md" in addresses
    for address in addresses:
        read(client, address)


def test_a_guide_is_there_as_markdown(client: Any) -> None:
    answer = client.get("/docs/concepts.md", HTTP_HOST=HOST)
    assert answer["Content-Type"] == "text/markdown; charset=utf-8"
    assert answer.content.startswith(b"# Concepts\n")
    assert client.get("/docs/errors.md", HTTP_HOST=HOST).status_code == 404
