"""The TPU client against localnet's port: its limits, its faults, its coming and going."""

import asyncio
import re
import socket
import time
from contextlib import AsyncExitStack, suppress

import pytest

from localnet.faults import Faults
from localnet.servers import tpu as server
from tests.upstream.tpu_ports import (
    LEADER,
    SENDER,
    Inbox,
    outcome,
    state_of,
    tried,
    until,
    wire,
)
from upstream import tpu_errors
from upstream.tpu import TpuClient
from upstream.tpu_connection import Limits
from upstream.tpu_errors import TpuError
from upstream.tpu_sending import Opened, Sent

HERE = "127.0.0.1"


def test_a_transaction_arrives_and_is_acknowledged() -> None:
    async def trial(client: TpuClient, opened: server.Tpu, inbox: Inbox, faults: Faults) -> None:
        first = await client.send((HERE, opened.port), wire(1))
        second = await client.send((HERE, opened.port), wire(2))
        assert inbox.wires == [wire(1), wire(2)]
        assert (first.opened, second.opened) == (Opened.NEW, Opened.WARM)
        assert 0 < second.written_seconds < second.latency_seconds
        assert opened.by_identity == {SENDER.pubkey(): 2}
        state = state_of(client, (HERE, opened.port))
        assert (state.state, state.pending, state.last_error) == ("open", 0, "")
        assert state.counts == {"connections": 1, "sent": 2, "acked": 2}

    tried(trial)


def test_a_leader_of_ipv6() -> None:
    async def trial(client: TpuClient, opened: server.Tpu, inbox: Inbox, faults: Faults) -> None:
        assert await outcome(client, ("::1", opened.port), wire(1)) == "new"
        assert inbox.wires == [wire(1)]

    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            pytest.skip("this machine has no IPv6")
    tried(trial, host="::1")


def test_a_warm_connection_takes_a_transaction_before_the_first_await() -> None:
    async def trial(client: TpuClient, opened: server.Tpu, inbox: Inbox, faults: Faults) -> None:
        address = (HERE, opened.port)
        client.warm([address])
        assert state_of(client, address).state == "opening"
        await until(lambda: state_of(client, address).state == "open")
        sending = client.send(address, wire(1))
        called_at = time.monotonic()
        answer = sending.send(None)
        call_seconds = time.monotonic() - called_at
        assert isinstance(answer, asyncio.Future)
        # The acknowledgement is not read before the loop runs again.
        time.sleep(0.1)
        await until(answer.done)
        assert inbox.wires == [wire(1)]
        with pytest.raises(StopIteration) as answered:
            sending.send(None)
        sent = answered.value.value
        assert sent.opened == Opened.WARM
        assert sent.written_seconds <= call_seconds and sent.latency_seconds >= 0.1

    tried(trial)


def test_what_is_started_together_is_answered_by_callbacks_and_later() -> None:
    async def trial(client: TpuClient, opened: server.Tpu, inbox: Inbox, faults: Faults) -> None:
        address = (HERE, opened.port)
        client.warm([address])
        await until(lambda: state_of(client, address).state == "open")
        answers: list[Sent | TpuError] = []
        wires = [wire(number) for number in range(40)]
        for each in wires:
            client.start(address, each, answers.append)
        client.start(address, bytes(1_233), answers.append)
        assert not answers, "never before the call has returned"
        await until(lambda: len(answers) == 41)
        assert sorted(inbox.wires) == sorted(wires)
        failures = [each for each in answers if isinstance(each, TpuError)]
        assert [each.kind for each in failures] == ["too_large"]
        counts = {"connections": 1, "sent": 40, "acked": 40, "failed:too_large": 1}
        assert state_of(client, address).counts == counts

    tried(trial)


def test_what_is_started_ends_with_the_client() -> None:
    async def trial(client: TpuClient, opened: server.Tpu, inbox: Inbox, faults: Faults) -> None:
        answers: list[Sent | TpuError] = []
        client.start((HERE, opened.port), wire(1), answers.append)
        await client.close()
        client.start((HERE, opened.port), wire(2), answers.append)
        await until(lambda: len(answers) == 2)
        assert all(isinstance(each, tpu_errors.ClientClosed) for each in answers)

    tried(trial)


def test_more_than_the_leaders_128_streams_wait_their_turn() -> None:
    async def trial(client: TpuClient, opened: server.Tpu, inbox: Inbox, faults: Faults) -> None:
        address = (HERE, opened.port)
        wires = [wire(number) for number in range(300)]
        sent = await asyncio.gather(*(client.send(address, each) for each in wires))
        assert sorted(inbox.wires) == sorted(wires)
        assert len(sent) == 300
        assert opened.counts == {"accepted": 300}
        assert state_of(client, address).counts == {"connections": 1, "sent": 300, "acked": 300}

    tried(trial, limits=Limits(waiting=300, send_seconds=10))


def test_what_does_not_fit_into_the_queue_is_refused_at_once() -> None:
    async def trial(client: TpuClient, opened: server.Tpu, inbox: Inbox, faults: Faults) -> None:
        address = (HERE, opened.port)
        found = await asyncio.gather(*(outcome(client, address, wire(n)) for n in range(12)))
        # A new connection has no credit before its handshake: ten wait.
        assert found == ["new"] * 10 + ["backlogged"] * 2
        assert state_of(client, address).counts["failed:backlogged"] == 2

    tried(trial, limits=Limits(waiting=10))


def test_the_size_that_leaders_take() -> None:
    async def trial(client: TpuClient, opened: server.Tpu, inbox: Inbox, faults: Faults) -> None:
        address = (HERE, opened.port)
        assert await outcome(client, address, bytes(1_232)) == "new"
        with pytest.raises(tpu_errors.TooLarge, match="1233 bytes; leaders take 1232"):
            await client.send(address, bytes(1_233))
        assert await outcome(client, address, b"\x81" + bytes(4_095)) == "warm"
        with pytest.raises(tpu_errors.TooLarge, match="4097 bytes; leaders take 4096"):
            await client.send(address, b"\x81" + bytes(4_096))
        assert opened.counts == {"garbage": 2}

    tried(trial)


def test_a_leader_that_minds_the_size_closes_the_connection() -> None:
    async def trial(client: TpuClient, opened: server.Tpu, inbox: Inbox, faults: Faults) -> None:
        address = (HERE, opened.port)
        assert await outcome(client, address, wire(1)) == "new"
        with pytest.raises(tpu_errors.StreamInvalid, match="code 5: invalid_stream"):
            await client.send(address, bytes(4_097))
        assert state_of(client, address).state == "closed"
        # It has served well before: the next transaction opens the next connection at once.
        assert await outcome(client, address, wire(2)) == "new"
        assert inbox.wires == [wire(1), wire(2)]

    tried(trial, max_wire_bytes=5_000)


def test_a_leader_that_refuses_us_is_left_alone_for_longer_and_longer() -> None:
    async def trial(client: TpuClient, opened: server.Tpu, inbox: Inbox, faults: Faults) -> None:
        address = (HERE, opened.port)
        faults.tpu = "refuse"
        refusals: list[TpuError] = []
        # A busy machine may come again when the first rest, of half a second, is over.
        while not refusals or isinstance(refusals[-1], tpu_errors.Disallowed):
            with pytest.raises(TpuError) as refused:
                await client.send(address, wire(1))
            refusals.append(refused.value)
        state = state_of(client, address)
        assert "code 2: disallowed" in str(refusals[0])
        assert isinstance(refusals[-1], tpu_errors.Resting)
        assert re.search(r"not allow .*; tried again in \d\.\d s", str(refusals[-1]))
        assert state.state == "resting"
        assert "does not allow" in state.last_error
        assert state.counts["failed:resting"] == 1
        await until(lambda: state_of(client, address).state == "closed")
        since = asyncio.get_running_loop().time()
        assert await outcome(client, address, wire(1)) == "disallowed"
        faults.tpu = "ok"
        await until(lambda: state_of(client, address).state == "closed")
        assert asyncio.get_running_loop().time() - since > 0.9
        assert await outcome(client, address, wire(1)) == "new"

    tried(trial)


def test_eight_connections_a_minute_are_enough() -> None:
    async def trial(client: TpuClient, opened: server.Tpu, inbox: Inbox, faults: Faults) -> None:
        address = (HERE, opened.port)
        for number in range(8):
            assert await outcome(client, address, wire(number)) == "new"
            assert await outcome(client, address, bytes(4_097)) == "invalid_stream"
        with pytest.raises(tpu_errors.Resting, match="connected 8 times within a minute"):
            await client.send(address, wire(8))
        assert len(inbox.wires) == 8

    tried(trial, max_wire_bytes=5_000)


def test_the_ninth_connection_of_an_identity_is_told_so() -> None:
    async def trial(client: TpuClient, opened: server.Tpu, inbox: Inbox, faults: Faults) -> None:
        address = (HERE, opened.port)
        async with AsyncExitStack() as stack:
            for number in range(8):
                other = TpuClient(SENDER)
                stack.push_async_callback(other.close)
                await other.send(address, wire(number))
            with pytest.raises(tpu_errors.TooManyConnections, match="code 4: too_many"):
                await client.send(address, wire(8))
                # It may get through before the leader has counted.
                await client.send(address, wire(9))

    tried(trial)


def test_nobody_at_the_address() -> None:
    async def trial(client: TpuClient, opened: server.Tpu, inbox: Inbox, faults: Faults) -> None:
        with socket.socket(type=socket.SOCK_DGRAM) as quiet, socket.socket() as held:
            quiet.bind((HERE, 0))
            with pytest.raises(tpu_errors.Unreachable, match=r"handshake within 0\.1 s"):
                await client.send(quiet.getsockname(), wire(1))
            held.bind((HERE, 0))
            with pytest.raises(tpu_errors.Unreachable, match="nothing listens"):
                await client.send(held.getsockname(), wire(1))
        for address in (("leader.example", 1), ("1.2.3.4", 70_000), ("", 1), ("::g", 1)):
            assert await outcome(client, address, wire(1)) == "unreachable"

    tried(trial, limits=Limits(handshake_seconds=0.1))


def test_a_leader_that_restarts_is_found_again() -> None:
    async def trial(client: TpuClient, opened: server.Tpu, inbox: Inbox, faults: Faults) -> None:
        async with server.serve(inbox, faults, HERE, 0, identity=LEADER) as first:
            address = (HERE, first.port)
            assert await outcome(client, address, wire(1)) == "new"
        # It said goodbye, or nobody listens any more: both are heard of at once.
        while await outcome(client, address, wire(2)) in ("warm", "new"):
            pass
        async with server.serve(inbox, faults, HERE, address[1], identity=LEADER):
            while await outcome(client, address, wire(3)) != "new":
                await asyncio.sleep(0.02)
        assert inbox.wires[-1] == wire(3)

    tried(trial)


def test_a_leader_that_went_without_a_word_is_given_up() -> None:
    async def trial(client: TpuClient, opened: server.Tpu, inbox: Inbox, faults: Faults) -> None:
        async with Relay(opened.port) as relay:
            address = (HERE, relay.port)
            await sent_anew(client, address, wire(1))
            relay.is_cut = True
            with pytest.raises(tpu_errors.ConnectionLost, match="fell silent"):
                await client.send(address, wire(2))
            assert state_of(client, address).state == "closed"
            relay.is_cut = False
            await sent_anew(client, address, wire(3))
            assert [*dict.fromkeys(inbox.wires)] == [wire(1), wire(3)]

    tried(trial, limits=Limits(send_seconds=10, silent_seconds=0.3))


async def sent_anew(client: TpuClient, address: tuple[str, int], sent: bytes) -> None:
    """By a new connection: a busy machine, too, may answer nothing for as long as a leader that
    went.
    """
    while await outcome(client, address, sent) != "new":
        await asyncio.sleep(0.02)


def test_a_leader_that_went_is_missed_even_when_nothing_is_sent() -> None:
    async def trial(client: TpuClient, opened: server.Tpu, inbox: Inbox, faults: Faults) -> None:
        async with Relay(opened.port) as relay:
            address = (HERE, relay.port)
            await sent_anew(client, address, wire(1))
            relay.is_cut = True
            await until(lambda: state_of(client, address).state == "closed")
            assert state_of(client, address).last_error == "the leader answers no PING"

    tried(trial, limits=Limits(send_seconds=10, keep_alive_seconds=0.3))


def test_what_is_not_acknowledged_in_time_may_have_arrived() -> None:
    async def trial(client: TpuClient, opened: server.Tpu, inbox: Inbox, faults: Faults) -> None:
        async with Relay(opened.port) as relay:
            address = (HERE, relay.port)
            assert await outcome(client, address, wire(1)) == "new"
            relay.is_cut = True
            assert await outcome(client, address, wire(2), timeout_seconds=0.1) == "unacknowledged"
            assert state_of(client, address).state == "open"
            relay.is_cut = False
            # QUIC goes on with it.
            await until(lambda: inbox.wires == [wire(1), wire(2)])

    tried(trial, limits=Limits(send_seconds=10, silent_seconds=30))


def test_lost_datagrams_are_sent_again() -> None:
    async def trial(client: TpuClient, opened: server.Tpu, inbox: Inbox, faults: Faults) -> None:
        async with Relay(opened.port) as relay:
            address = (HERE, relay.port)
            assert await outcome(client, address, wire(0)) == "new"
            relay.loses_every = 3
            wires = [wire(number) for number in range(1, 40)]
            await asyncio.gather(*(client.send(address, each) for each in wires))
            assert sorted(inbox.wires) == sorted([wire(0), *wires])

    tried(trial, limits=Limits(send_seconds=10))


def test_a_slow_leader_costs_no_acknowledgement() -> None:
    async def trial(client: TpuClient, opened: server.Tpu, inbox: Inbox, faults: Faults) -> None:
        faults.tpu, faults.tpu_delay_seconds = "slow", 0.5
        await client.send((HERE, opened.port), wire(1))
        # Its QUIC stack has it; when it is read is the leader's affair.
        assert inbox.wires == []
        await until(lambda: inbox.wires == [wire(1)])

    tried(trial)


def test_a_send_that_is_cancelled_frees_its_place() -> None:
    async def trial(client: TpuClient, opened: server.Tpu, inbox: Inbox, faults: Faults) -> None:
        address = (HERE, opened.port)
        tasks = [asyncio.create_task(client.send(address, wire(number))) for number in range(3)]
        await asyncio.sleep(0)
        assert state_of(client, address).pending == 3
        tasks[1].cancel()
        with suppress(asyncio.CancelledError):
            await tasks[1]
        assert state_of(client, address).pending == 2
        await asyncio.gather(tasks[0], tasks[2])
        assert inbox.wires == [wire(0), wire(2)]

    tried(trial)


def test_the_connection_that_was_wanted_least_makes_room() -> None:
    async def trial(client: TpuClient, opened: server.Tpu, inbox: Inbox, faults: Faults) -> None:
        async with (
            server.serve(inbox, faults, HERE, 0) as second,
            server.serve(inbox, faults, HERE, 0) as third,
        ):
            one, two, three = ((HERE, each.port) for each in (opened, second, third))
            for address in (one, two, one, three):
                await client.send(address, wire(1))
            states = {state.address: state.state for state in client.states()}
            assert states == {one: "open", two: "closed", three: "open"}

    tried(trial, max_connections=2)


def test_a_connection_lives_while_it_is_wanted_and_no_longer() -> None:
    async def trial(client: TpuClient, opened: server.Tpu, inbox: Inbox, faults: Faults) -> None:
        address = (HERE, opened.port)
        client.warm([address])
        # A busy machine may miss that it is open.
        await until(lambda: state_of(client, address).counts.get("connections") == 1)
        await until(lambda: state_of(client, address).state == "closed")
        # No failure: it opens again without a rest.
        assert state_of(client, address).last_error == ""
        assert await outcome(client, address, wire(1)) == "new"

    tried(trial, limits=Limits(keep_alive_seconds=0.05, idle_seconds=0.6))


def test_a_closed_client_fails_what_waits_and_opens_nothing() -> None:
    async def trial(client: TpuClient, opened: server.Tpu, inbox: Inbox, faults: Faults) -> None:
        address = (HERE, opened.port)
        waiting = asyncio.create_task(outcome(client, address, wire(1)))
        await asyncio.sleep(0)
        await client.close()
        assert await waiting == "client_closed"
        assert await outcome(client, address, wire(1)) == "client_closed"
        client.warm([address])
        assert state_of(client, address).state == "closed"

    tried(trial)


class Relay(asyncio.DatagramProtocol):
    """Stands between one client and a port, and loses what it is told to."""

    def __init__(self, to: int) -> None:
        self._to = (HERE, to)
        self._client: tuple[str, int] | None = None
        self._passed = 0
        self.is_cut = False
        self.loses_every = 0
        self.port = 0

    async def __aenter__(self) -> "Relay":
        loop = asyncio.get_running_loop()
        self._front, _ = await loop.create_datagram_endpoint(lambda: self, local_addr=(HERE, 0))
        self._backs: dict[tuple[str, int], asyncio.DatagramTransport] = {}
        self.port = self._front.get_extra_info("sockname")[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        for transport in (self._front, *self._backs.values()):
            transport.close()
        await asyncio.sleep(0)

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        if self._is_lost():
            return
        back = self._backs.get(address)
        if back is None:
            asyncio.get_running_loop().create_task(self._pass_first(data, address))
        else:
            back.sendto(data)

    async def _pass_first(self, data: bytes, address: tuple[str, int]) -> None:
        """Each client port has a port of its own behind, as with a router."""
        relay = self

        class Back(asyncio.DatagramProtocol):
            def datagram_received(self, data: bytes, _: object) -> None:
                if not relay._is_lost():
                    relay._front.sendto(data, address)

        back, _ = await asyncio.get_running_loop().create_datagram_endpoint(
            Back, remote_addr=self._to
        )
        self._backs[address] = back
        back.sendto(data)

    def _is_lost(self) -> bool:
        self._passed += 1
        return self.is_cut or bool(self.loses_every and self._passed % self.loses_every == 0)
