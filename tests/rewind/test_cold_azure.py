"""Cold storage in Azure, held against Microsoft's own emulator."""

import base64
import io
from collections.abc import Iterator
from typing import Any

import pytest

from rewind.sealed.models import SealedSegment
from rewind.sealed.store import cold_blocks, cold_store, open_blocks
from tests.conftest import Rpc
from tests.rewind.azure_server import KEY, SERVER, azure_server, options
from tests.rewind.sealed_forms import move, seal
from tests.rewind.test_sealing import everything, history
from upstream.object_store import NoSuchObject, NoSuchStore, ObjectStore, StoreRefuses

__all__ = ["history"]

pytestmark = pytest.mark.skipif(SERVER is None, reason="azurite-blob is not on PATH (npm: azurite)")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with azure_server("cold", tmp_path_factory.mktemp("azure")) as address:
        yield address


def test_segments_in_azure_read_as_before(rpc: Rpc, history: Any, server: str) -> None:
    cold_store.configure(cold_store.Terms("az://cold/below", options(server), timeout_seconds=5))
    try:
        seal(half=True)
        before = everything(rpc)
        assert move() > 3
        for module in (open_blocks, cold_blocks):
            module.forget()
        assert everything(rpc) == before
        assert SealedSegment.objects.filter(cold_at__isnull=False).count() == 1
    finally:
        cold_store.configure(cold_store.Terms())
        cold_blocks.forget()


def test_an_object_of_several_parts_and_what_there_is_not(server: str) -> None:
    store = ObjectStore("az://cold/parts", options(server), timeout_seconds=10)
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
        ObjectStore("az://none", options(server), timeout_seconds=5).get_range("a", 0, 1)
    wrong = options(server, base64.b64encode(bytes(64)).decode())
    with pytest.raises(StoreRefuses) as raised:
        ObjectStore("az://cold", wrong, timeout_seconds=5).get_range("a", 0, 1)
    assert KEY not in str(raised.value)
