"""Pages and documents are compressed for who accepts it; tables and short texts are not."""

import gzip
from typing import Any

import pytest
from zstandard import ZstdDecompressor

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]
_GZIP = {"Accept-Encoding": "gzip, deflate"}


def unzstd(data: bytes) -> bytes:
    return ZstdDecompressor().decompress(data)


def test_a_page_is_compressed_for_who_accepts_it(admin_client: Any) -> None:
    plain = admin_client.get("/admin/access/tier/")
    packed = admin_client.get("/admin/access/tier/", headers=_GZIP)
    assert not plain.has_header("Content-Encoding")
    assert packed["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in packed["Vary"] and "Accept-Encoding" in plain["Vary"]
    assert len(packed.content) < len(plain.content) / 5
    assert int(packed["Content-Length"]) == len(packed.content)
    text = gzip.decompress(packed.content).decode()
    assert "</html>" in text and "basic" in text
    for refusing in ("gzip;q=0", "zstd, gzip;q=0", "identity, gzip;q=0.5"):
        refused = admin_client.get("/admin/access/tier/", headers={"Accept-Encoding": refusing})
        assert not refused.has_header("Content-Encoding") and "Accept-Encoding" in refused["Vary"]


def test_the_same_page_has_another_length_each_time(admin_client: Any) -> None:
    """Who can insert text into a page learns little of its secrets from its length (BREACH)."""
    lengths = {len(admin_client.get("/docs/", headers=_GZIP).content) for _ in range(12)}
    assert len(lengths) > 1


@pytest.mark.parametrize("path", ["/openrpc.json", "/openapi.json", "/llms.txt", "/docs/ledger.md"])
def test_a_document_is_compressed_as_a_call_is(client: Any, path: str) -> None:
    plain = client.get(path)
    assert not plain.has_header("Content-Encoding")
    for accepted, read in (("gzip", gzip.decompress), ("zstd, gzip", unzstd)):
        packed = client.get(path, headers={"Accept-Encoding": accepted})
        assert packed["Content-Encoding"] == accepted.partition(",")[0]
        assert "Accept-Encoding" in packed["Vary"] and "Accept-Encoding" in plain["Vary"]
        assert int(packed["Content-Length"]) == len(packed.content) < len(plain.content)
        assert read(packed.content) == plain.content


def test_the_front_page_is_compressed(client: Any) -> None:
    assert client.get("/", headers=_GZIP)["Content-Encoding"] == "gzip"


@pytest.mark.parametrize("path", ["/admin/access/usageminute/csv/", "/healthz"])
def test_tables_and_short_texts_are_not_compressed(admin_client: Any, path: str) -> None:
    response = admin_client.get(path, headers=_GZIP)
    assert response.status_code == 200
    assert not response.has_header("Content-Encoding")
