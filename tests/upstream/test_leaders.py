"""The leader schedule, from a running localnet and from a node that answers as told."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.pubkey import Pubkey

from chain.units import Slot
from tests.localnet.wallets import SOL, landed, pay, signed, wallet
from tests.localnet_process import Localnet, running_localnet
from upstream.leaders import Leader, LeaderSchedule, quic_address
from upstream.node import Node, NodeError, NodeUnreachable
from upstream.tpu import TpuClient

A, B, C = (Pubkey(bytes([number]) * 32) for number in (1, 2, 3))
Where = tuple[str, int] | None
Answers = dict[str, Callable[..., Any]]


def leader(identity: Pubkey, slot: int, address: Where) -> Leader:
    return Leader(identity, Slot(slot), address)


class Refusal(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message}


@contextmanager
def node_of(answers: Answers) -> Iterator[Node]:
    """A node over HTTP that answers by these functions."""

    class Door(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer: dict[str, Any] = {"jsonrpc": "2.0", "id": asked["id"]}
            try:
                answer["result"] = answers[asked["method"]](*asked["params"])
            except Refusal as refusal:
                answer["error"] = refusal.error
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield Node(f"http://127.0.0.1:{server.server_address[1]}", timeout_seconds=5)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Cluster:
    """Turns of four slots by A, B, C, A…; the schedule is known to the end of the next epoch."""

    def __init__(self, *, epoch_slots: int = 1_000_000, slot: int = 0) -> None:
        self.epoch_slots = epoch_slots
        self.slot = slot
        self.genesis = "one"
        self.is_behind = False
        self.order = [A, B, C]
        self.asked: list[tuple[str, Any]] = []
        self.contacts: list[Any] = [
            {"pubkey": str(A), "tpuQuic": "10.0.0.1:8009", "tpu": "10.0.0.1:8003"},
            {"pubkey": str(B), "tpuQuic": None, "tpu": "[2001:db8::2]:8003"},
            {"pubkey": str(C), "tpuQuic": None, "tpu": None},
        ]

    def answers(self) -> Answers:
        return {
            "getGenesisHash": lambda: self.genesis,
            "getSlotLeaders": self.slot_leaders,
            "getEpochInfo": self.epoch_info,
            "getClusterNodes": self.cluster_nodes,
        }

    def slot_leaders(self, start: int, limit: int) -> list[str]:
        self.asked.append(("getSlotLeaders", (start, limit)))
        if limit > 5_000:
            raise Refusal(-32602, "Invalid limit; max 5000")
        if start + limit > (self.slot // self.epoch_slots + 2) * self.epoch_slots:
            raise Refusal(-32602, "Invalid slot range: leader schedule for epoch is unavailable")
        return [str(self.leader(slot)) for slot in range(start, start + limit)]

    def leader(self, slot: int) -> Pubkey:
        return self.order[slot // 4 % len(self.order)]

    def epoch_info(self) -> dict[str, int]:
        return {
            "absoluteSlot": self.slot,
            "slotIndex": self.slot % self.epoch_slots,
            "slotsInEpoch": self.epoch_slots,
        }

    def cluster_nodes(self) -> list[Any]:
        self.asked.append(("getClusterNodes", None))
        if self.is_behind:
            raise Refusal(-32005, "Node is behind")
        return self.contacts

    def count(self, method: str) -> int:
        return sum(name == method for name, _ in self.asked)


@pytest.fixture(scope="module")
def short_epochs() -> Iterator[Localnet]:
    with running_localnet(LOCALNET_EPOCH_SLOTS=64) as running:
        yield running


def test_the_leaders_of_a_localnet_are_found_where_it_listens(short_epochs: Localnet) -> None:
    schedule = LeaderSchedule(Node(short_epochs.url))
    slot = short_epochs.call("getSlot")
    schedule.refresh(slot, 0.0)
    found = schedule.upcoming(slot, 3)
    told = short_epochs.call("getSlotLeaders", slot, 64)
    assert [str(leader.identity) for leader in found] == list(dict.fromkeys(told))[:3]
    for each in found:
        assert each.address == ("127.0.0.1", short_epochs.tpu_port)
        assert told[each.first_slot - slot] == str(each.identity)
    follow_through_an_epoch(short_epochs, schedule)


def test_a_transaction_sent_to_the_next_leader_lands(short_epochs: Localnet) -> None:
    schedule = LeaderSchedule(Node(short_epochs.url))
    alice = wallet(short_epochs)
    transaction = signed(short_epochs, [pay(alice, A, SOL)], alice)
    slot = short_epochs.call("getSlot", {"commitment": "processed"})
    schedule.refresh(slot, 0.0)
    [leader] = schedule.upcoming(slot, 1)
    assert leader.address is not None

    async def send(address: tuple[str, int]) -> None:
        client = TpuClient(alice)
        await client.send(address, bytes(transaction))
        await client.close()

    asyncio.run(send(leader.address))
    assert landed(short_epochs, str(transaction.signatures[0]))["err"] is None


def follow_through_an_epoch(localnet: Localnet, schedule: LeaderSchedule) -> None:
    """No slot is without its leader while the chain goes on through the ends of epochs."""
    slot = localnet.call("getSlot", {"commitment": "processed"})
    for now in range(2, 12, 2):
        slot = localnet.wait_for_slot(slot + 20, "processed")
        if schedule.is_due(slot, float(now)):
            schedule.refresh(slot, float(now))
        [found] = schedule.upcoming(slot, 1)
        assert str(found.identity) == localnet.call("getSlotLeaders", slot, 1)[0]


def test_every_leader_comes_once_with_its_first_slot_and_address() -> None:
    with node_of(Cluster().answers()) as node:
        schedule = LeaderSchedule(node)
        assert schedule.upcoming(101, 3) == []
        schedule.refresh(101, 0.0)
        a = (leader(A, 108, ("10.0.0.1", 8009)),)
        b = (leader(B, 101, ("2001:db8::2", 8009)),)
        c = (leader(C, 104, None),)
        assert schedule.upcoming(101, 9) == [*b, *c, *a]
        assert schedule.upcoming(101, 2) == [*b, *c]
        assert schedule.upcoming(101, 0) == []


def test_a_lonely_leader_is_found_once() -> None:
    cluster = Cluster()
    cluster.order = [A]
    with node_of(cluster.answers()) as node:
        schedule = LeaderSchedule(node)
        schedule.refresh(7, 0.0)
        assert schedule.upcoming(7, 3) == [leader(A, 7, ("10.0.0.1", 8009))]


def test_a_leader_beyond_a_hundred_slots_is_not_upcoming() -> None:
    cluster = Cluster()
    cluster.order = [A] * 25 + [B]
    with node_of(cluster.answers()) as node:
        schedule = LeaderSchedule(node)
        schedule.refresh(1, 0.0)
        assert [each.identity for each in schedule.upcoming(0, 2)] == [A]
        assert [each.identity for each in schedule.upcoming(1, 2)] == [A, B]


def test_the_schedule_is_extended_ahead_and_addresses_are_not_asked_every_time() -> None:
    cluster = Cluster(slot=50_000)
    with node_of(cluster.answers()) as node:
        schedule = LeaderSchedule(node)
        assert schedule.is_due(50_000, 0.0)
        schedule.refresh(50_000, 0.0)
        assert cluster.asked[:2] == [
            ("getSlotLeaders", (49_500, 5_000)),
            ("getSlotLeaders", (54_500, 5_000)),
        ]
        cluster.asked.clear()
        assert not schedule.is_due(50_010, 299.0)
        assert schedule.is_due(50_010, 300.0)
        schedule.refresh(54_600, 300.0)
        assert cluster.asked == [
            ("getSlotLeaders", (74_500, 5_000)),
            ("getClusterNodes", None),
        ]
        assert schedule.upcoming(54_099, 1) == []
        assert schedule.upcoming(79_499, 1)[0].identity == cluster.leader(79_499)


def test_the_end_of_what_is_decided_is_asked_for_again() -> None:
    cluster = Cluster(epoch_slots=128, slot=120)
    with node_of(cluster.answers()) as node:
        schedule = LeaderSchedule(node)
        schedule.refresh(120, 0.0)
        assert schedule.upcoming(255, 3) == [leader(A, 255, ("10.0.0.1", 8009))]
        assert schedule.upcoming(256, 3) == []
        assert not schedule.is_due(154, 1.0)
        assert not schedule.is_due(155, 2.0)
        assert schedule.is_due(156, 2.0)
        cluster.slot = 128
        schedule.refresh(156, 2.0)
        assert schedule.upcoming(256, 1) == [leader(B, 256, ("2001:db8::2", 8009))]


def test_a_missing_address_is_asked_for_after_a_minute() -> None:
    cluster = Cluster()
    with node_of(cluster.answers()) as node:
        schedule = LeaderSchedule(node)
        schedule.refresh(8, 0.0)
        assert schedule.upcoming(8, 1) == [leader(C, 8, None)]
        assert not schedule.is_due(8, 59.0)
        assert schedule.is_due(8, 60.0)
        cluster.contacts[2]["tpuQuic"] = "10.0.0.3:1"
        schedule.refresh(8, 60.0)
        assert schedule.upcoming(8, 1) == [leader(C, 8, ("10.0.0.3", 1))]
        assert not schedule.is_due(8, 359.0)


def test_what_is_known_outlives_the_node() -> None:
    cluster = Cluster()
    with node_of(cluster.answers()) as node:
        schedule = LeaderSchedule(node)
        schedule.refresh(0, 0.0)
    known = schedule.upcoming(0, 3)
    with pytest.raises(NodeUnreachable):
        schedule.refresh(0, 400.0)
    assert schedule.upcoming(0, 3) == known
    assert not schedule.is_due(0, 401.0)
    assert schedule.is_due(0, 402.0)


def test_a_refresh_that_fails_midway_keeps_both_what_is_new_and_what_is_old() -> None:
    cluster = Cluster()
    with node_of(cluster.answers()) as node:
        schedule = LeaderSchedule(node)
        schedule.refresh(0, 0.0)
        cluster.is_behind = True
        with pytest.raises(NodeError, match="Node is behind"):
            schedule.refresh(30_000, 300.0)
        assert schedule.upcoming(30_000, 1) == [leader(A, 30_000, ("10.0.0.1", 8009))]
        assert schedule.is_due(30_000, 302.0)


def test_another_chain_at_the_same_address_has_its_own_leaders() -> None:
    cluster = Cluster()
    with node_of(cluster.answers()) as node:
        schedule = LeaderSchedule(node)
        schedule.refresh(0, 0.0)
        cluster.genesis, cluster.order = "two", [B]
        schedule.refresh(0, 2.0)
        assert [each.identity for each in schedule.upcoming(0, 3)] == [B]


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("getSlotLeaders", None),
        ("getSlotLeaders", ["no pubkey"]),
        ("getSlotLeaders", [7]),
        ("getSlotLeaders", [str(A)] * 5_001),
        ("getClusterNodes", {}),
        ("getGenesisHash", None),
    ],
)
def test_an_answer_that_is_none_is_an_error(method: str, answer: Any) -> None:
    with (
        node_of({**Cluster().answers(), method: lambda *_: answer}) as node,
        pytest.raises(NodeUnreachable, match=method),
    ):
        LeaderSchedule(node).refresh(0, 0.0)


def test_a_nodes_other_refusals_rise_as_they_are() -> None:
    def refuse(*_: Any) -> None:
        raise Refusal(-32601, "Method not found")

    with (
        node_of({**Cluster().answers(), "getSlotLeaders": refuse}) as node,
        pytest.raises(NodeError, match="Method not found"),
    ):
        LeaderSchedule(node).refresh(0, 0.0)


@pytest.mark.parametrize(
    ("contact", "address"),
    [
        ({"tpuQuic": "1.2.3.4:8009", "tpu": "1.2.3.4:1"}, ("1.2.3.4", 8009)),
        ({"tpuQuic": None, "tpu": "1.2.3.4:8003"}, ("1.2.3.4", 8009)),
        ({"tpu": "[::1]:8003"}, ("::1", 8009)),
        ({"tpuQuic": "[2001:db8::1]:1"}, ("2001:db8::1", 1)),
        ({"tpuQuic": None, "tpu": None}, None),
        ({}, None),
        ({"tpuQuic": "host.example:8009"}, None),
        ({"tpuQuic": "0.0.0.0:8009"}, None),
        ({"tpuQuic": "239.1.1.1:8009"}, None),
        ({"tpuQuic": "255.255.255.255:8009"}, None),
        ({"tpuQuic": "169.254.169.254:8009"}, None),
        ({"tpuQuic": "[ff02::1]:8009"}, None),
        ({"tpuQuic": "[::ffff:169.254.169.254]:8009"}, None),
        ({"tpuQuic": "1.2.3.4:0"}, None),
        ({"tpu": "1.2.3.4:65530"}, None),
        ({"tpu": "1.2.3.4:65529"}, ("1.2.3.4", 65535)),
        ({"tpuQuic": "1.2.3.4"}, None),
        ({"tpuQuic": "1.2.3.4:٣"}, None),
        ({"tpuQuic": 8009}, None),
    ],
)
def test_where_a_node_takes_transactions(
    contact: dict[str, Any], address: tuple[str, int] | None
) -> None:
    assert quic_address(contact, private_allowed=True) == address


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "169.254.169.254",
        "192.88.99.1",
        "224.0.0.1",
        "240.0.0.1",
        "[::1]",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "[2001:db8::1]",
        "[64:ff9b::7f00:1]",
        "[::ffff:192.168.1.1]",
        "[2002:a00:1::]",
    ],
)
def test_a_public_node_does_not_aim_us_at_private_addresses(host: str) -> None:
    for contact in ({"tpuQuic": f"{host}:8009"}, {"tpu": f"{host}:8003"}):
        assert quic_address(contact, private_allowed=False) is None
    for public in ("9.9.9.9", "[2606:4700::1]"):
        assert quic_address({"tpuQuic": f"{public}:8009"}, private_allowed=False) is not None


@pytest.mark.parametrize(
    "answer",
    [
        {"absoluteSlot": 2**64, "slotIndex": 0, "slotsInEpoch": 1},
        {"absoluteSlot": 1e300, "slotIndex": 0, "slotsInEpoch": 1},
        {"absoluteSlot": 1, "slotIndex": "0", "slotsInEpoch": 1},
        [],
        None,
    ],
)
def test_an_epoch_that_is_none_is_an_error(answer: Any) -> None:
    def refuse(*_: Any) -> None:
        raise Refusal(-32602, "Invalid slot range")

    answers = {**Cluster().answers(), "getSlotLeaders": refuse, "getEpochInfo": lambda: answer}
    with node_of(answers) as node, pytest.raises(NodeUnreachable, match="getEpochInfo"):
        LeaderSchedule(node).refresh(0, 0.0)


@given(told=st.text() | st.integers() | st.none(), tpu=st.text() | st.none())
def test_any_contact_has_an_address_that_can_be_connected_to_or_none(told: Any, tpu: Any) -> None:
    address = quic_address({"tpuQuic": told, "tpu": tpu}, private_allowed=False)
    assert address is None or 0 < address[1] < 65_536


def test_contacts_that_are_nonsense_do_not_cost_the_others() -> None:
    cluster = Cluster()
    cluster.contacts = [7, None, {}, {"pubkey": 3}, {"pubkey": "x"}, *cluster.contacts]
    with node_of(cluster.answers()) as node:
        schedule = LeaderSchedule(node)
        schedule.refresh(0, 0.0)
        assert schedule.upcoming(0, 1) == [leader(A, 0, ("10.0.0.1", 8009))]
