"""The object store by itself, in a folder and on a server: outcomes, and the words for failures."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

from tests.rewind.s3_server import SECRET, Proxy, options, proxy_of, s3_server
from upstream.object_store import (
    NoSuchObject,
    NoSuchStore,
    ObjectStore,
    StoreFault,
    StoreRefuses,
    StoreUnreachable,
)

# Digits of a status and a word of a refusal: a name may have both.
NAME = "accounts/000000416403-bucket/41.blocks"
FAULTS = {
    "refused": (StoreUnreachable, "connection broke"),
    "hang": (StoreUnreachable, "did not respond in time"),
    "500": (StoreUnreachable, r"status 500 \(Injected\)"),
    "403": (StoreRefuses, r"status 403 \(Injected\)"),
    "truncated": (StoreUnreachable, "not complete"),
}


@pytest.fixture(scope="module")
def server() -> Iterator[int]:
    with s3_server("my-bucket") as port:
        yield port


@pytest.fixture
def proxy(server: int) -> Iterator[Proxy]:
    with proxy_of(server) as found:
        yield found


@pytest.fixture(params=["folder", "server"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    if request.param == "folder":
        return ObjectStore(f"file://{tmp_path}", None, timeout_seconds=60)
    return at(request.getfixturevalue("server"))


def at(port: int, *, bucket: str = "my-bucket", timeout_seconds: int = 60) -> ObjectStore:
    return ObjectStore(f"s3://{bucket}/below", options(port), timeout_seconds=timeout_seconds)


def test_an_object_is_read_whole_and_by_range(store: ObjectStore) -> None:
    content = bytes(range(256)) * 70_000  # three parts
    store.put(NAME, BytesIO(content))
    assert store.head(NAME) == len(content)
    assert b"".join(store.pieces(NAME)) == content
    assert store.get_range(NAME, 8_388_600, 20) == content[8_388_600:8_388_620]
    assert store.get_range(NAME, len(content) - 3, 9) == content[-3:]
    assert store.get_range(NAME, len(content) + 5, 9) == b""
    store.put(NAME, BytesIO(b"other"))
    assert store.get_range(NAME, 0, 9) == b"other"
    assert [tuple(each) for each in store.list("accounts")] == [(NAME, 5)]
    store.delete(NAME)
    store.delete(NAME)
    assert list(store.list()) == []


def test_a_missing_object_is_no_missing_store(store: ObjectStore) -> None:
    absent = f"{NAME}-absent"  # other tests leave theirs in the bucket
    for read in (
        lambda: store.head(absent),
        lambda: store.get_range(absent, 0, 9),
        lambda: list(store.pieces(absent)),
    ):
        with pytest.raises(NoSuchObject, match="there is no such object"):
            read()


def test_a_missing_bucket_is_no_missing_object(server: int) -> None:
    store = at(server, bucket="other")
    for work in (
        lambda: store.put(NAME, BytesIO(b"1")),
        lambda: store.get_range(NAME, 0, 9),
        lambda: list(store.list()),
    ):
        with pytest.raises(NoSuchStore, match="the bucket does not exist"):
            work()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_failure_has_our_words_alone(server: int, proxy: Proxy, fault: str) -> None:
    at(server).put(NAME, BytesIO(b"0123456789"))
    kind, reason = FAULTS[fault]
    proxy.fault = fault
    store = at(proxy.port, timeout_seconds=1 if fault == "hang" else 60)
    with pytest.raises(StoreFault, match=reason) as caught:
        store.get_range(NAME, 2, 4)
    assert type(caught.value) is kind
    for hidden in (SECRET, "127.0.0.1", str(proxy.port)):
        assert hidden not in str(caught.value)

    def is_left_alone() -> bool:
        """For a second. A busy machine may be later: then it hangs once more."""
        asked = proxy.requests
        with pytest.raises(StoreUnreachable) as again:
            store.get_range(NAME, 2, 4)
        return "a moment ago" in str(again.value) and proxy.requests == asked

    assert fault != "hang" or any(is_left_alone() for _ in range(20))


@pytest.mark.parametrize("fault", ["refused", "500"])
def test_what_fails_once_is_tried_again(server: int, proxy: Proxy, fault: str) -> None:
    at(server).put(NAME, BytesIO(b"0123456789"))
    proxy.fault, proxy.times = fault, 1
    assert at(proxy.port).get_range(NAME, 2, 4) == b"2345"


def test_a_port_that_no_one_listens_at_is_named_so() -> None:
    with pytest.raises(StoreUnreachable, match="does not accept connections"):
        at(1).head(NAME)
