"""A localnet that is stopped, killed, reset or started twice."""

import itertools
import socket

import pytest
from solders.pubkey import Pubkey

from tests.localnet.wallets import SOL, balance, done, landed, pay, send, signed, wallet
from tests.localnet_process import Localnet, new_localnet, running_localnet

CONFIRMED = {"commitment": "confirmed", "maxSupportedTransactionVersion": 0}


def blocks_of(localnet: Localnet, last: int) -> list[dict[str, object]]:
    config = {"maxSupportedTransactionVersion": 0}
    return [localnet.call("getBlock", slot, config) for slot in localnet.call("getBlocks", 0, last)]


def test_after_kill_9_everything_announced_as_final_is_there() -> None:
    with running_localnet() as localnet:
        sender, receiver = wallet(localnet), Pubkey.new_unique()
        for round_number in range(1, 4):
            signature = send(localnet, signed(localnet, [pay(sender, receiver, SOL)], sender))
            landed(localnet, signature)
            last = localnet.call("getSlot")
            before = blocks_of(localnet, last)
            head = localnet.call("getSlot", {"commitment": "processed"})
            # Blocks that may be lost, but must never be shown with other content.
            shown = {
                slot: localnet.call("getBlock", slot, CONFIRMED)["blockhash"]
                for slot in localnet.call("getBlocks", last, CONFIRMED)
            }
            genesis = localnet.call("getGenesisHash")
            localnet.kill()
            localnet.start()
            assert localnet.call("getGenesisHash") == genesis
            assert blocks_of(localnet, last) == before
            assert balance(localnet, receiver, "finalized") == round_number * SOL
            status = localnet.call(
                "getSignatureStatuses", [signature], {"searchTransactionHistory": True}
            )["value"][0]
            assert status["confirmationStatus"] == "finalized"
            # No slot that anyone saw before is used again, and the next block stands on the last.
            newest = localnet.wait_for_slot(head + 1)
            slots = localnet.call("getBlocks", last, newest)
            for parent, slot in itertools.pairwise(slots):
                block = localnet.call("getBlock", slot, CONFIRMED)
                assert block["parentSlot"] == parent
                assert shown.get(slot, block["blockhash"]) == block["blockhash"]


def test_write_versions_go_on_after_a_restart() -> None:
    with running_localnet() as localnet:
        first = localnet.wait_for_slot(2)
        before = localnet.call("getAccountWrites", first)[-1]["writeVersion"]
        localnet.kill()
        localnet.start()
        slot = localnet.wait_for_slot(first + 1)
        assert localnet.call("getAccountWrites", slot)[0]["writeVersion"] > before


def test_a_clean_stop_finalizes_what_was_processed() -> None:
    with new_localnet() as localnet:
        localnet.execute()
        sender, receiver = wallet(localnet), Pubkey.new_unique()
        signature = send(localnet, signed(localnet, [pay(sender, receiver, SOL)], sender))
        landed(localnet, signature, "processed")
        assert localnet.stop() == 0
        localnet.start()
        assert balance(localnet, receiver, "finalized") == SOL


def test_a_blockhash_and_a_signature_are_remembered_over_a_restart() -> None:
    with running_localnet() as localnet:
        sender, receiver = wallet(localnet), Pubkey.new_unique()
        transaction = signed(localnet, [pay(sender, receiver, SOL)], sender)
        landed(localnet, send(localnet, transaction))
        localnet.stop()
        localnet.start()
        blockhash = str(transaction.message.recent_blockhash)
        assert localnet.call("isBlockhashValid", blockhash)["value"] is True
        send(localnet, transaction, skipPreflight=True)
        later = pay(sender, Pubkey.new_unique(), SOL)
        done(localnet, [later], sender)
        assert balance(localnet, receiver) == SOL


def test_reset_begins_another_chain() -> None:
    with running_localnet() as localnet:
        key = wallet(localnet, SOL).pubkey()
        localnet.wait_for_slot(3)
        genesis = localnet.call("getGenesisHash")
        localnet.stop()
        localnet.start("--reset")
        assert localnet.call("getGenesisHash") != genesis
        assert balance(localnet, key, "processed") == 0
        assert localnet.call("getFirstAvailableBlock") == 0


@pytest.mark.parametrize(
    ("name", "field", "kind", "offset"),
    [
        ("JSON-RPC", "rpc_port", socket.SOCK_STREAM, 0),
        ("WebSocket", "rpc_port", socket.SOCK_STREAM, 1),
        ("Geyser", "geyser_port", socket.SOCK_STREAM, 0),
        ("TPU", "tpu_port", socket.SOCK_DGRAM, 0),
        ("block engine", "block_engine_port", socket.SOCK_STREAM, 0),
        ("block engine's gRPC", "block_engine_port", socket.SOCK_STREAM, 1),
    ],
)
def test_a_port_that_is_taken_is_named(
    name: str, field: str, kind: socket.SocketKind, offset: int
) -> None:
    with new_localnet() as localnet, socket.socket(type=kind) as door:
        port = getattr(localnet, field) + offset
        door.bind(("127.0.0.1", port))
        if kind == socket.SOCK_STREAM:
            door.listen()
        expected = f"{name}: cannot listen on 127.0.0.1 port {port}"
        with pytest.raises(AssertionError, match=expected):
            localnet.start()
        assert "Traceback" not in localnet.output


def test_two_on_one_folder_are_refused() -> None:
    with running_localnet() as first, new_localnet() as second:
        second.run_dir, removed = first.run_dir, second.run_dir
        removed.rmdir()
        with pytest.raises(AssertionError, match="another localnet runs on"):
            second.start()
        assert first.call("getHealth") == "ok"
        second.process = None


@pytest.mark.parametrize(
    ("option", "value", "text"),
    [
        ("--slot-ms", "0", "--slot-ms: expected 1 to 60000, found 0"),
        ("--rpc-port", "65535", "--rpc-port: expected 1 to 65534, found 65535"),
        ("--tpu-port", "x", "argument --tpu-port: expected a number, found 'x'"),
    ],
)
def test_an_option_that_makes_no_sense_is_named(option: str, value: str, text: str) -> None:
    with new_localnet() as localnet, pytest.raises(AssertionError, match=text):
        localnet.start(option, value)
