"""Cold storage in GCS: its XML API, which moto's S3 server speaks too, and its signed tokens."""

import base64
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization as forms
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from django.core.management import call_command

from config.environment.store_env import StoreOptions
from rewind.sealed.models import SealedSegment
from rewind.sealed.store import cold_blocks, cold_store, open_blocks
from tests.conftest import Rpc
from tests.rewind.histories import text
from tests.rewind.s3_server import Proxy, proxy_of, s3_server
from tests.rewind.samples import key
from tests.rewind.sealed_forms import move, seal
from tests.rewind.test_sealing import everything, history
from upstream.object_store import (
    NoSuchObject,
    NoSuchStore,
    ObjectStore,
    StoreRefuses,
    StoreUnreachable,
)

__all__ = ["history"]

_ACCOUNT = "tidemark@cold.example"


@pytest.fixture(scope="module")
def private_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65_537, key_size=2_048)


@pytest.fixture(scope="module")
def server() -> Iterator[int]:
    with s3_server("cold") as port:
        yield port


@pytest.fixture
def proxy(server: int) -> Iterator[Proxy]:
    with proxy_of(server) as proxy:
        yield proxy


def options(port: int, private_key: rsa.RSAPrivateKey) -> StoreOptions:
    """ARCHIVE_STORE_OPTIONS with the key file of a service account."""
    written = private_key.private_bytes(
        forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption()
    )
    account = {
        "type": "service_account",
        "client_email": _ACCOUNT,
        "private_key": written.decode(),
        "private_key_id": "1",
    }
    return StoreOptions(
        base_url=f"http://127.0.0.1:{port}",
        allow_http="true",
        service_account_key=json.dumps(account),
    )


def test_segments_in_gcs_read_as_before(
    rpc: Rpc, history: Any, proxy: Proxy, private_key: rsa.RSAPrivateKey
) -> None:
    terms = cold_store.Terms("gs://cold/below", options(proxy.port, private_key), timeout_seconds=5)
    cold_store.configure(terms)
    try:
        seal(half=True)
        before = everything(rpc)
        assert move() > 3
        for module in (open_blocks, cold_blocks):
            module.forget()
        assert everything(rpc) == before
        assert SealedSegment.objects.filter(cold_at__isnull=False).count() == 1
        call_command("archive_store", "verify", stdout=io.StringIO())

        open_blocks.forget()
        cold_blocks.forget()
        proxy.fault = "403"
        asked = ("/rewind", "getAccountInfo", text(key(1)), {"slot": 50})
        assert rpc(*asked)["error"]["data"]["reason"] == "archive_store_unavailable"
        proxy.fault = ""
        assert rpc(*asked)["result"]["value"]["lamports"] == 51
    finally:
        cold_store.configure(cold_store.Terms())
        cold_blocks.forget()


def test_requests_are_signed_by_the_service_account(
    proxy: Proxy, private_key: rsa.RSAPrivateKey
) -> None:
    store = ObjectStore("gs://cold/signed", options(proxy.port, private_key), timeout_seconds=10)
    store.put("one", io.BytesIO(b"content"))
    scheme, _, token = proxy.authorization.partition(" ")
    signed, _, signature = token.rpartition(".")
    assert scheme == "Bearer"
    private_key.public_key().verify(
        _decoded(signature), signed.encode(), padding.PKCS1v15(), hashes.SHA256()
    )
    assert json.loads(_decoded(signed.split(".")[1]))["iss"] == _ACCOUNT


def test_an_object_of_several_parts_and_what_there_is_not(
    proxy: Proxy, private_key: rsa.RSAPrivateKey
) -> None:
    chosen = options(proxy.port, private_key)
    store = ObjectStore("gs://cold/parts", chosen, timeout_seconds=10)
    content = bytes(range(256)) * (70 << 10)
    store.put("a/one", io.BytesIO(content))
    assert store.head("a/one") == len(content)
    assert b"".join(store.pieces("a/one")) == content
    assert store.get_range("a/one", len(content) - 5, 10) == content[-5:]
    assert store.get_range("a/one", len(content) + 5, 10) == b""
    assert [(each.name, each.size) for each in store.list("a")] == [("a/one", len(content))]
    store.delete("a/one")
    store.delete("a/one")
    with pytest.raises(NoSuchObject):
        store.get_range("a/one", 0, 5)
    with pytest.raises(NoSuchStore):
        ObjectStore("gs://none", chosen, timeout_seconds=5).get_range("a", 0, 1)
    for fault, raised in (("403", StoreRefuses), ("500", StoreUnreachable)):
        proxy.fault = fault
        with pytest.raises(raised) as caught:
            store.get_range("a/one", 0, 5)
        assert "127.0.0.1" not in str(caught.value)


def _decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
