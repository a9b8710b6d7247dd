"""A node's JSON-RPC: what it answers, and what is wrong with its answers."""

import contextlib
import itertools
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from chain.units import Slot
from tests.localnet_process import Localnet, free_ports, running_localnet
from upstream.node import (
    BadBlock,
    Node,
    NodeError,
    NodeUnreachable,
    SlotNotAvailable,
    SlotSkipped,
)


@pytest.fixture(scope="module")
def localnet() -> Iterator[Localnet]:
    with running_localnet(LOCALNET_SLOT_MS=20, LOCALNET_SKIP_PERCENT=30) as running:
        running.wait_for_slot(20)
        yield running


class Answering(ThreadingHTTPServer):
    """A server that answers what it is told to."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.body: bytes = b""
        self.status = 200


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 65_536

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        server: Any = self.server
        self.send_response(server.status)
        self.send_header("Content-Length", str(len(server.body)))
        self.end_headers()
        self.wfile.write(server.body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def answering() -> Iterator[Answering]:
    server = Answering()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def node_of(server: Answering) -> Node:
    return Node(f"http://127.0.0.1:{server.server_address[1]}", timeout_seconds=5.0)


def test_a_node_tells_its_chain_and_its_blocks(localnet: Localnet) -> None:
    node = Node(localnet.url)
    assert node.genesis_hash() == localnet.call("getGenesisHash")
    assert node.health() == "ok"
    assert node.version()
    first, last = node.first_available_block(), node.slot()
    slots = node.blocks(first, last)
    assert slots == sorted(slots)
    assert slots == localnet.call("getBlocks", first, last, {"commitment": "finalized"})
    records = [node.block(slot) for slot in slots[1:6]]
    for before, record in itertools.pairwise(records):
        assert record.parent_slot == before.slot
        assert record.previous_blockhash == before.blockhash
        assert record.account_writes is None


def test_a_slot_without_a_block_proves_nothing_by_its_error(localnet: Localnet) -> None:
    node = Node(localnet.url)
    slots = node.blocks(Slot(0), Slot(20))
    absent = next(slot for slot in range(max(slots)) if slot not in slots)
    with pytest.raises(SlotSkipped):
        node.block(Slot(absent))
    with pytest.raises(SlotNotAvailable):
        node.block(Slot(node.slot() + 10_000))


def test_bytes_pass_through_as_they_are(localnet: Localnet) -> None:
    body = b'{"jsonrpc":"2.0","id":"a","method":"getGenesisHash"}'
    answer = json.loads(Node(localnet.url).call_raw(body))
    assert answer["id"] == "a"
    assert answer["result"] == localnet.call("getGenesisHash")


def test_nobody_there_is_said_without_the_path() -> None:
    port = free_ports(1)[0]
    node = Node(f"http://127.0.0.1:{port}/secret-key")
    with pytest.raises(NodeUnreachable) as refusal:
        node.slot()
    assert str(refusal.value).startswith(
        f"127.0.0.1:{port}: Failed to establish a new connection: [Errno "
    )
    assert "secret-key" not in str(refusal.value)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (502, b"<html>", NodeUnreachable),
        (200, b"<html>", NodeUnreachable),
        (200, b'{"jsonrpc":"2.0","id":1,"result":"twelve"}', NodeUnreachable),
        (200, b'{"jsonrpc":"2.0","id":1,"result":-1}', NodeUnreachable),
        (200, b"[]", NodeUnreachable),
        (429, b'{"error":{"code":-32005,"message":"slow down"}}', NodeError),
        (200, b'{"error":{"code":-32009,"message":"skipped"}}', SlotSkipped),
        (200, b'{"error":{"code":-32001,"message":"cleaned up"}}', SlotNotAvailable),
        (200, b'{"error":"words"}', NodeError),
    ],
)
def test_answers_that_are_none(
    answering: Answering, status: int, body: bytes, kind: type[Exception]
) -> None:
    answering.status, answering.body = status, body
    with pytest.raises(kind):
        node_of(answering).slot()


@pytest.mark.parametrize(
    "result",
    [
        None,
        {"value": None},
        {"value": []},
        {"value": [None, None]},
        {"value": [7]},
        {"value": [{"slot": "x", "err": None}]},
        {"value": [{"slot": 7}]},
    ],
)
def test_statuses_that_are_none(answering: Answering, result: Any) -> None:
    answering.status = 200
    answering.body = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()
    with pytest.raises(NodeUnreachable, match="getSignatureStatuses answered no"):
        node_of(answering).signature_statuses([bytes(64)])


def test_a_block_that_is_none_is_told_with_its_place(answering: Answering) -> None:
    answering.status = 200
    answering.body = b'{"jsonrpc":"2.0","id":1,"result":{"parentSlot":1,"blockhash":"x"}}'
    with pytest.raises(BadBlock, match="block 2: transactions: missing"):
        node_of(answering).block(Slot(2))


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.one_of(
        st.binary(max_size=40),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(
                        ["result", "error", "code", "message", "parentSlot", "value", "slot", "err"]
                    ),
                    inner,
                    max_size=4,
                )
            ),
        ).map(lambda value: json.dumps(value).encode()),
    )
)
@example(body=b'{"error":{"code":[]}}')
def test_no_answer_breaks_it(answering: Answering, body: bytes) -> None:
    answering.status, answering.body = 200, body
    node = node_of(answering)
    for ask in (
        lambda: node.slot(),
        lambda: node.block(Slot(2)),
        lambda: node.blocks(Slot(0), Slot(9)),
        lambda: node.genesis_hash(),
        lambda: node.version(),
        lambda: node.block_height(),
        lambda: node.signature_statuses([bytes(64)]),
    ):
        with contextlib.suppress(NodeError):
            ask()
