"""A node's JSON-RPC: what it answers, and what is wrong with its answers."""

import contextlib
import itertools
import json
import threading
import tracemalloc
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chain.units import Slot
from tests.examples import examples
from tests.localnet_process import Localnet, free_ports, running_localnet
from tests.patience import wait
from tests.upstream.hostile import HEAD, gzip_bomb, says, speaking, trickles
from upstream.geyser.updates import stores_untouched
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

    def absent_slots() -> set[int]:
        slots = node.blocks(Slot(0), Slot(20))
        return set(range(max(slots))) - set(slots)

    wait(lambda: bool(absent_slots()), "a slot is skipped")
    absent = min(absent_slots())
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
    assert str(refusal.value).startswith(f"127.0.0.1:{port}: Connection refused")
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
        (200, b'{"result":18446744073709551616}', NodeUnreachable),
        (200, b'{"result":18446744073709551615}', NodeUnreachable),
        (200, b'{"result":9223372036854775808}', NodeUnreachable),
        (200, b'{"result":%s}' % (b"9" * 5_000), NodeUnreachable),
        (200, b'{"result":-%s}' % (b"9" * 5_000), NodeUnreachable),
        (200, b'{"result":NaN}', NodeUnreachable),
        (200, b'{"result":1e400}', NodeUnreachable),
        (200, b'{"result":7.0}', NodeUnreachable),
        (200, b'{"result":true}', NodeUnreachable),
        (200, b'{"result":"\\ud800"}', NodeUnreachable),
        (200, b'{"result":"\xff"}', NodeUnreachable),
        (200, b'{"result":' + b"[" * 100_000, NodeUnreachable),
        (200, b'{"result":' + b'{"a":' * 100_000, NodeUnreachable),
        (200, b"\0", NodeUnreachable),
        (200, b"", NodeUnreachable),
        (200, b'{"error":{"code":99999999999999999999,"message":[7]}}', NodeError),
        (200, b'{"result":7}' + b" " * 1_048_576, NodeUnreachable),
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
        {"value": [{"slot": -1, "err": None}]},
        {"value": [{"slot": 2**63, "err": None}]},
        {"value": [{"slot": 1e300, "err": None}]},
        {"value": [{"slot": True, "err": None}]},
        {"value": [None], "context": None},
        {"value": [None], "context": {"slot": -1}},
    ],
)
def test_statuses_that_are_none(answering: Answering, result: Any) -> None:
    answering.status = 200
    if isinstance(result, dict) and "value" in result:
        result = {"context": {"slot": 9}, **result}
    answering.body = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()
    with pytest.raises(NodeUnreachable, match="getSignatureStatuses answered no"):
        node_of(answering).signature_statuses([bytes(64)])


def test_a_block_that_is_none_is_told_with_its_place(answering: Answering) -> None:
    answering.status = 200
    answering.body = b'{"jsonrpc":"2.0","id":1,"result":{"parentSlot":1,"blockhash":"x"}}'
    with pytest.raises(BadBlock, match="block 2: transactions: missing"):
        node_of(answering).block(Slot(2))


def test_an_error_text_is_one_printable_line(answering: Answering) -> None:
    answering.status = 200
    message = "be\x00hind\r\n2026-01-01 CRITICAL \x1b[31m" + "x" * 1_000
    answering.body = json.dumps({"error": {"code": -32005, "message": message}}).encode()
    with pytest.raises(NodeError) as caught:
        node_of(answering).slot()
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("told", ["a\0b", "a\nb", "x" * 201])
def test_a_genesis_hash_is_a_short_word(answering: Answering, told: str) -> None:
    answering.status = 200
    answering.body = json.dumps({"result": told}).encode()
    with pytest.raises(NodeUnreachable, match="getGenesisHash answered no text"):
        node_of(answering).genesis_hash()


@pytest.mark.parametrize(
    "told",
    [
        {"slotsPerEpoch": 0, "firstNormalEpoch": 0, "firstNormalSlot": 0},
        {"slotsPerEpoch": 1.5, "firstNormalEpoch": 0, "firstNormalSlot": 0},
        {"slotsPerEpoch": 432_000, "firstNormalEpoch": 10**18, "firstNormalSlot": 0},
        {"slotsPerEpoch": 2**64, "firstNormalEpoch": 0, "firstNormalSlot": 0},
        [],
        None,
    ],
)
def test_an_epoch_schedule_that_is_none(answering: Answering, told: Any) -> None:
    answering.status = 200
    answering.body = json.dumps({"result": told}).encode()
    with pytest.raises(NodeUnreachable, match="getEpochSchedule answered no schedule"):
        node_of(answering).epoch_schedule()


def test_versions_of_any_kind_are_a_word(answering: Answering) -> None:
    answering.status = 200
    for told, version in (("4.1.2", "4.1.2"), (7, ""), ("9" * 9_000, "9" * 200), ("4.\0", "4.")):
        answering.body = json.dumps({"result": {"solana-core": told}}).encode()
        assert node_of(answering).version() == version
        stores_untouched(version)


def test_blocks_are_told_in_order_and_once(answering: Answering) -> None:
    answering.status, answering.body = 200, b'{"result":[9,7,7,12,-1,8]}'
    assert node_of(answering).blocks(Slot(7), Slot(10)) == [7, 8, 9]


def test_a_bomb_is_an_unreachable_node_and_the_memory_stays_bounded() -> None:
    with speaking(says(gzip_bomb(400))) as port:
        node = Node(f"http://127.0.0.1:{port}")
        tracemalloc.start()
        try:
            with pytest.raises(NodeUnreachable, match="bytes decompressed"):
                node.call("getBlock", 7)
            with pytest.raises(NodeUnreachable, match="more than 1048576 bytes"):
                node.slot()
            assert tracemalloc.get_traced_memory()[1] < 200_000_000
        finally:
            tracemalloc.stop()


def test_a_node_that_trickles_is_given_up() -> None:
    with speaking(trickles(HEAD + b"Content-Length: 100000\r\n\r\n")) as port:
        node = Node(f"http://127.0.0.1:{port}", timeout_seconds=0.3)
        with pytest.raises(NodeUnreachable, match=r"no answer within 0\.3 s"):
            node.slot()


def test_a_node_on_this_machine_is_a_private_one(answering: Answering) -> None:
    answering.status, answering.body = 200, b'{"result":7}'
    node = node_of(answering)
    assert not node.is_private  # nothing is known yet
    node.slot()
    assert node.is_private


@settings(max_examples=examples(60))
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
