"""The Geyser stream over the wire: commitments, replay, pings, faults and the unary calls."""

import socket
import threading
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from solders.hash import Hash

from chain.commitment import Commitment
from chain.units import Slot
from localnet.feed import SlotStatus
from tests.localnet.geyser_client import Block, Client, Service, call, client_of
from tests.localnet.geyser_events import ALICE, BOB, a_slot, status, written
from tests.patience import PATIENCE_SECONDS
from upstream.geyser.messages import account_write
from upstream.protobuf import geyser_pb2 as schema

PROCESSED, CONFIRMED, FINALIZED = schema.CommitmentLevel.values()


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as service:
        yield service


def everything(commitment: Any = PROCESSED, **fields: Any) -> Any:
    """A request for one of everything, each under its own name."""
    request = schema.SubscribeRequest(commitment=commitment, **fields)
    request.accounts["accounts"].SetInParent()
    request.slots["slots"].SetInParent()
    request.transactions["transactions"].SetInParent()
    request.entry["entries"].SetInParent()
    request.blocks["blocks"].SetInParent()
    request.blocks_meta["metas"].SetInParent()
    return request


def kinds(updates: list[Any]) -> list[str]:
    """What came, in short: `account 1:10` is slot 1 and 10 lamports."""
    found = []
    for update in updates:
        kind = update.WhichOneof("update_oneof")
        inner = getattr(update, kind)
        what = f"{inner.slot}"
        if kind == "account":
            what += f":{inner.account.lamports}"
        elif kind == "slot":
            what += f" {schema.SlotStatus.Name(inner.status).removeprefix('SLOT_')}"
        elif kind == "transaction":
            what += f":{inner.transaction.index}"
        elif kind == "entry":
            what += f":{inner.index}"
        found.append(f"{kind} {what}")
    return found


def test_what_is_delivered_comes_before_anything_else_that_the_loop_does(service: Service) -> None:
    with client_of(service, everything()) as client:
        all_came = threading.Event()
        busy = service.deliver(
            *(status(slot, SlotStatus.PROCESSED) for slot in range(1, 201)), until=all_came
        )
        slots = [next(client.updates).slot.slot for _ in range(200)]
        all_came.set()
        assert slots == list(range(1, 201))
        assert busy.wait(PATIENCE_SECONDS), "the loop was free meanwhile"


def test_processed_gets_every_write_as_it_happens(service: Service) -> None:
    with client_of(service, everything()) as client:
        service.publish(*a_slot(1))
        assert kinds(client.rest()) == [
            "account 1:10",
            "transaction 1:0",
            "account 1:11",
            "account 1:12",
            "transaction 1:1",
            "entry 1:0",
            "entry 1:1",
            "block 1",
            "block_meta 1",
            "slot 1 PROCESSED",
        ]


@pytest.mark.parametrize(
    ("commitment", "reached", "others"),
    [
        (CONFIRMED, SlotStatus.CONFIRMED, ()),
        (FINALIZED, SlotStatus.FINALIZED, (SlotStatus.CONFIRMED,)),
    ],
)
def test_higher_commitments_get_the_last_writes_of_a_slot_that_has_come_so_far(
    service: Service, commitment: Any, reached: SlotStatus, others: tuple[SlotStatus, ...]
) -> None:
    with client_of(service, everything(commitment)) as client:
        service.publish(*a_slot(1), *a_slot(2), *(status(1, each) for each in others))
        told = [f"slot 1 {each.name}" for each in others]
        assert kinds(client.rest()) == ["slot 1 PROCESSED", "slot 2 PROCESSED", *told]
        service.publish(status(1, reached))
        assert kinds(client.rest()) == [
            "account 1:11",
            "account 1:12",
            "transaction 1:0",
            "transaction 1:1",
            "entry 1:0",
            "entry 1:1",
            "block 1",
            "block_meta 1",
            f"slot 1 {reached.name}",
        ]


def test_a_slot_that_dies_or_is_left_behind_never_reaches_higher_commitments(
    service: Service,
) -> None:
    request = everything(CONFIRMED)
    request.slots["slots"].interslot_updates = True
    with client_of(service, request) as client:
        service.publish(*a_slot(1), *a_slot(2), *a_slot(3))
        client.rest()
        service.publish(
            status(2, SlotStatus.DEAD, "the fork died"),
            status(2, SlotStatus.CONFIRMED),
            status(3, SlotStatus.FINALIZED),
            status(1, SlotStatus.CONFIRMED),
        )
        updates = client.rest()
        assert kinds(updates) == [
            "slot 2 DEAD",
            "slot 2 CONFIRMED",
            "slot 3 FINALIZED",
            "slot 1 CONFIRMED",
        ]
        assert updates[0].slot.dead_error == "the fork died"
        assert updates[0].slot.parent == 1


def test_a_new_request_replaces_all_filters(service: Service) -> None:
    with client_of(service, everything()) as client:
        request = schema.SubscribeRequest()
        request.accounts["bob"].account.append(str(Hash(BOB)))
        client.ask(request)
        service.publish(*a_slot(1))
        updates = client.rest()
        assert kinds(updates) == ["account 1:12"]
        assert list(updates[0].filters) == ["bob"]
        assert updates[0].created_at.seconds > 1_700_000_000
        client.ask(schema.SubscribeRequest())
        service.publish(*a_slot(2))
        assert client.rest() == []


def test_nothing_comes_before_something_was_asked_for(service: Service) -> None:
    with client_of(service) as client:
        assert client.rest() == []
        service.publish(*a_slot(1))
        assert client.rest() == []


def test_who_is_done_with_asking_goes_on_getting(service: Service) -> None:
    with client_of(service, everything()) as client:
        client.done_asking()
        service.publish(*a_slot(1))
        assert kinds([next(client.updates)]) == ["account 1:10"]


def test_the_service_pings(service: Service) -> None:
    with Service(ping_seconds=0.01) as quick, client_of(quick) as client:
        update = next(client.updates)
        assert update.WhichOneof("update_oneof") == "ping"
        assert list(update.filters) == []


def test_an_account_comes_whole(service: Service) -> None:
    happening = written(
        7,
        BOB,
        2**64 - 1,
        lamports=2**64 - 2,
        data=b"data",
        executable=True,
        rent_epoch=3,
        signature=bytes([9]) * 64,
    )
    with client_of(service, everything()) as client:
        service.publish(happening)
        (update,) = client.rest()
        assert update.account.slot == 7
        assert not update.account.is_startup
        assert account_write(update.account.account) == happening.write


# --- replay -------------------------------------------------------------------------------------


def test_a_replay_starts_at_the_slot_asked_for_and_goes_over_into_the_present(
    service: Service,
) -> None:
    service.publish(*a_slot(1), *a_slot(2), *a_slot(3), status(2, SlotStatus.CONFIRMED))
    with client_of(service) as client:
        client.send(everything(from_slot=2))
        past = kinds(client.rest())
        service.publish(*a_slot(4))
        live = kinds(client.rest())
    slot_two = [each for each in past if each.split()[1].startswith("2")]
    assert slot_two == [
        "account 2:10",
        "transaction 2:0",
        "account 2:11",
        "account 2:12",
        "transaction 2:1",
        "entry 2:0",
        "entry 2:1",
        "block 2",
        "block_meta 2",
        "slot 2 PROCESSED",
        "slot 2 CONFIRMED",
    ]
    assert len(past) == 11 + 10
    assert live == [each.replace(" 3", " 4") for each in past[11:]]


def test_a_replay_has_a_slots_statuses_behind_all_that_happened_in_it(service: Service) -> None:
    """As a plugin's: a slot that is whole is not said again to have begun."""
    service.publish(*a_slot(1), status(1, SlotStatus.CONFIRMED), *a_slot(2)[:5])
    request = everything(from_slot=1)
    request.slots["slots"].interslot_updates = True
    with client_of(service) as client:
        client.send(request)
        past = kinds(client.rest())
    of_first = [each for each in past if each.split()[1].startswith("1")]
    assert of_first[-4:] == ["block 1", "block_meta 1", "slot 1 PROCESSED", "slot 1 CONFIRMED"]
    assert not any(each.startswith("slot") for each in of_first[:-2])
    of_second = past[len(of_first) :]
    assert of_second[:2] == ["slot 2 FIRST_SHRED_RECEIVED", "slot 2 CREATED_BANK"]
    assert len(of_second) == 5


def test_a_slot_that_died_is_replayed_as_it_was(service: Service) -> None:
    service.publish(*a_slot(1)[:-2], status(1, SlotStatus.DEAD, "dead"), *a_slot(2))
    request = everything(from_slot=1)
    request.slots["slots"].interslot_updates = True
    with client_of(service) as client:
        client.send(request)
        past = kinds(client.rest())
    statuses = [each for each in past if each.startswith("slot 1")]
    assert [each.split()[2] for each in statuses] == [
        "FIRST_SHRED_RECEIVED",
        "CREATED_BANK",
        "COMPLETED",
        "DEAD",
    ]
    assert past[:2] == statuses[:2]


def test_a_replay_can_have_the_last_writes_alone(service: Service) -> None:
    service.faults.replay_last_writes = True
    service.publish(*a_slot(1))
    with client_of(service) as client:
        client.send(everything(from_slot=1))
        accounts = [each for each in kinds(client.rest()) if each.startswith("account")]
        assert accounts == ["account 1:11", "account 1:12"]
        # ... but the present has every one.
        service.publish(*a_slot(2))
        accounts = [each for each in kinds(client.rest()) if each.startswith("account")]
        assert accounts == ["account 2:10", "account 2:11", "account 2:12"]


def test_a_replay_at_a_higher_commitment_has_the_slots_that_came_so_far(
    service: Service,
) -> None:
    service.publish(*a_slot(1), *a_slot(2), status(1, SlotStatus.CONFIRMED))
    with client_of(service) as client:
        client.send(everything(CONFIRMED, from_slot=1))
        accounts = [each for each in kinds(client.rest()) if each.startswith("account")]
        assert accounts == ["account 1:11", "account 1:12"]
        service.publish(status(2, SlotStatus.CONFIRMED))
        accounts = [each for each in kinds(client.rest()) if each.startswith("account")]
        assert accounts == ["account 2:11", "account 2:12"]


def test_a_replay_of_what_is_forgotten_is_refused(service: Service) -> None:
    service.faults.replay_slots = 2
    service.publish(*a_slot(1), *a_slot(2), *a_slot(3))
    info = call(
        service.port,
        "SubscribeReplayInfo",
        schema.SubscribeReplayInfoRequest(),
        schema.SubscribeReplayInfoResponse,
    )
    assert info.first_available == 2
    with client_of(service) as client:
        client.send(everything(from_slot=1))
        assert client.end() == (
            grpc.StatusCode.OUT_OF_RANGE,
            "broadcast from 1 is not available, last available: 2",
        )


def test_before_anything_happened_there_is_nothing_to_replay(service: Service) -> None:
    info = call(
        service.port,
        "SubscribeReplayInfo",
        schema.SubscribeReplayInfoRequest(),
        schema.SubscribeReplayInfoResponse,
    )
    assert not info.HasField("first_available")
    with client_of(service) as client:
        client.ask(everything(from_slot=5))
        service.publish(*a_slot(6))
        assert len(client.rest()) == 10


# --- refusals and faults ------------------------------------------------------------------------


def test_a_caller_without_the_token_is_refused() -> None:
    with Service(token="secret") as service:
        for metadata in (None, [("x-token", "wrong")]):
            with client_of(service, metadata=metadata) as client:
                assert client.end() == (
                    grpc.StatusCode.UNAUTHENTICATED,
                    "No valid auth token",
                )
            with pytest.raises(grpc.RpcError) as caught:
                request, answer = schema.PingRequest(), schema.PongResponse
                call(service.port, "Ping", request, answer, metadata)
            assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
        with client_of(service, everything(), [("x-token", "secret")]) as client:
            service.publish(*a_slot(1))
            assert len(client.rest()) == 10


def test_the_deshred_stream_is_not_served(service: Service) -> None:
    with grpc.insecure_channel(f"127.0.0.1:{service.port}") as channel:
        stream = channel.stream_stream("/geyser.Geyser/SubscribeDeshred")
        with pytest.raises(grpc.RpcError) as caught:
            next(stream(iter([b""]), timeout=PATIENCE_SECONDS))
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_bytes_that_are_no_request_end_the_stream(service: Service) -> None:
    with grpc.insecure_channel(f"127.0.0.1:{service.port}") as channel:
        stream = channel.stream_stream("/geyser.Geyser/Subscribe")
        with pytest.raises(grpc.RpcError) as caught:
            next(stream(iter([b"\xff\xff"]), timeout=PATIENCE_SECONDS))
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_open_streams_are_cut_once(service: Service) -> None:
    with client_of(service, everything()) as first, client_of(service, everything()) as second:
        service.faults.drop_streams = True
        service.publish(*a_slot(1))
        for client in (first, second):
            assert client.end()[0] is grpc.StatusCode.UNAVAILABLE
    assert not service.faults.drop_streams
    with client_of(service, everything()) as client:
        service.publish(*a_slot(2))
        assert len(client.rest()) == 10


def test_streams_are_refused_while_the_fault_lasts(service: Service) -> None:
    service.faults.refuse_streams = True
    with client_of(service) as client:
        assert client.end()[0] is grpc.StatusCode.UNAVAILABLE
    service.faults.refuse_streams = False
    with client_of(service, everything()) as client:
        assert client.rest() == []


def test_a_stream_too_far_behind_is_ended() -> None:
    # More than the buffers between hold for a client that does not read.
    big = [written(1, ALICE, version, data=bytes(100_000)) for version in range(600)]
    with Service(stream_limit=100) as service, client_of(service, everything()) as client:
        service.publish(*big)
        code, text = client.end()
    assert code is grpc.StatusCode.INTERNAL
    assert "lagged" in text


@pytest.mark.parametrize("fault", ["lose_percent", "duplicate_percent", "reorder_percent"])
def test_messages_are_lost_doubled_and_reordered_on_demand(service: Service, fault: str) -> None:
    versions = list(range(1000))
    setattr(service.faults, fault, 10.0)
    with client_of(service, everything()) as client:
        service.publish(*(written(1, ALICE, version) for version in versions))
        # Statuses are never disturbed, and push out what was held back.
        service.publish(*(status(slot, SlotStatus.PROCESSED) for slot in range(2, 12)))
        updates = client.rest()
    got = [each.account.account.write_version for each in updates if each.HasField("account")]
    assert sum(each.HasField("slot") for each in updates) == 10
    if fault == "lose_percent":
        assert 800 < len(got) < 980
        assert got == sorted(set(got))
    elif fault == "duplicate_percent":
        assert 1020 < len(got) < 1200
        assert sorted(set(got)) == versions
    else:
        assert got != versions
        assert sorted(got) == versions
        assert all(abs(version - place) < 50 for place, version in enumerate(got))


def test_what_is_late_in_a_replay_comes_before_what_is_new(service: Service) -> None:
    # So much data that the replay waits for its reader while new messages come.
    service.publish(*(written(1, ALICE, version, data=bytes(100_000)) for version in range(300)))
    service.faults.reorder_percent = 90.0
    with client_of(service) as client:
        client.send(everything(from_slot=1))
        first = next(client.updates)
        service.publish(*(written(2, ALICE, version) for version in range(300, 500)))
        service.publish(*(status(slot, SlotStatus.PROCESSED) for slot in range(3, 13)))
        updates = [first, *client.rest()]
    got = [each.account.account.write_version for each in updates if each.HasField("account")]
    assert got != sorted(got)
    assert sorted(got) == list(range(500))
    assert all(abs(version - place) < 50 for place, version in enumerate(got))


def test_a_taken_port_is_an_error() -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        service = Service(port=holder.getsockname()[1])
        with pytest.raises(OSError, match="in use"), service:
            pass


# --- unary calls --------------------------------------------------------------------------------


def test_where_the_chain_stands_is_told_for_each_commitment(service: Service) -> None:
    for number, commitment in enumerate(Commitment):
        service.chain.blocks[commitment] = Block(
            Slot(10 - number), 8 - number, Hash(bytes([number]) * 32), 158 - number
        )
    for number, level in enumerate(schema.CommitmentLevel.values()):
        slot = call(
            service.port, "GetSlot", schema.GetSlotRequest(commitment=level), schema.GetSlotResponse
        )
        height = call(
            service.port,
            "GetBlockHeight",
            schema.GetBlockHeightRequest(commitment=level),
            schema.GetBlockHeightResponse,
        )
        latest = call(
            service.port,
            "GetLatestBlockhash",
            schema.GetLatestBlockhashRequest(commitment=level),
            schema.GetLatestBlockhashResponse,
        )
        assert (slot.slot, height.block_height) == (10 - number, 8 - number)
        assert latest.blockhash == str(Hash(bytes([number]) * 32))
        assert (latest.slot, latest.last_valid_block_height) == (10 - number, 158 - number)
        for blockhash, valid in ((latest.blockhash, True), (str(Hash(bytes([7]) * 32)), False)):
            request = schema.IsBlockhashValidRequest(blockhash=blockhash, commitment=level)
            answer = call(
                service.port, "IsBlockhashValid", request, schema.IsBlockhashValidResponse
            )
            assert (answer.slot, answer.valid) == (10 - number, valid)
    unnamed = call(service.port, "GetSlot", schema.GetSlotRequest(), schema.GetSlotResponse)
    assert unnamed.slot == 10


def test_a_commitment_that_does_not_exist_is_refused(service: Service) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        call(service.port, "GetSlot", schema.GetSlotRequest(commitment=3), schema.GetSlotResponse)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_what_is_no_blockhash_is_refused(service: Service) -> None:
    service.chain.blocks[Commitment.PROCESSED] = Block(Slot(1), 1, Hash.default(), 151)
    request = schema.IsBlockhashValidRequest(blockhash="0")
    with pytest.raises(grpc.RpcError) as caught:
        call(service.port, "IsBlockhashValid", request, schema.IsBlockhashValidResponse)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_the_service_answers_pings_and_tells_its_version(service: Service) -> None:
    assert call(service.port, "Ping", schema.PingRequest(count=5), schema.PongResponse).count == 5
    version = call(
        service.port, "GetVersion", schema.GetVersionRequest(), schema.GetVersionResponse
    )
    assert "localnet" in version.version


def test_many_streams_get_the_same(service: Service) -> None:
    clients = [Client(service.port) for _ in range(8)]
    try:
        for client in clients:
            client.ask(everything())
        service.publish(*a_slot(1), *a_slot(2))
        told = [kinds(client.rest()) for client in clients]
        assert all(each == told[0] for each in told)
        assert len(told[0]) == 20
    finally:
        for client in clients:
            client.close()
