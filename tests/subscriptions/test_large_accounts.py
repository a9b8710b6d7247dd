"""An account of 10 MiB, the most that one may have: notified as it is written, and afterwards."""

import base64
from typing import Any

import pytest
import zstandard
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.system_program import CreateAccountParams, create_account

from rewind.recording.store import slots as archive
from tests.conftest import Rpc
from tests.ingest.following import wait
from tests.localnet.wallets import SOL, landed, send, signed, wallet
from tests.subscriptions.conftest import Served
from tests.subscriptions.socket_client import Socket
from tests.yellowstone.conftest import Geyser, Request, serving_geyser
from upstream.protobuf import geyser_pb2 as schema

MOST = 10 * 1024 * 1024
OWNER = Pubkey([5] * 32)


@pytest.fixture
def geyser(served: Served) -> Any:
    with serving_geyser() as port:
        found = Geyser(port, served.localnet, served.key)
        wait(found.is_fed, "hearing of the chain")
        yield found


def data_of(socket: Socket, number: int) -> tuple[int, bytes]:
    """The slot, and the account's data, of the next notification."""
    result = socket.result(number)
    value = result["value"]
    data, encoding = value.get("account", value)["data"]
    raw = base64.b64decode(data)
    if encoding == "base64+zstd":
        raw = zstandard.ZstdDecompressor().decompress(raw, max_output_size=MOST)
    return result["context"]["slot"], raw


def test_it_comes_whole_by_every_way(served: Served, geyser: Geyser, rpc: Rpc) -> None:
    localnet, large = served.localnet, Keypair()
    payer, address = wallet(localnet, 100 * SOL), str(large.pubkey())
    made = CreateAccountParams(
        from_pubkey=payer.pubkey(),
        to_pubkey=large.pubkey(),
        lamports=80 * SOL,
        space=MOST,
        owner=OWNER,
    )
    request = Request(
        accounts={"key": {"account": [address]}, "owner": {"owner": [str(OWNER)]}},
        slots={"all": {}},
        commitment=schema.CommitmentLevel.FINALIZED,
    )
    asked: list[tuple[str, str, dict[str, Any]]] = [
        ("accountSubscribe", address, {"encoding": "base64"}),
        ("programSubscribe", str(OWNER), {"encoding": "base64", "filters": [{"dataSize": MOST}]}),
        ("accountSubscribe", address, {"encoding": "base64+zstd"}),
    ]
    with served.socket() as socket:
        numbers = [
            socket.call(name, key, {**config, "commitment": "confirmed"})
            for name, key, config in asked
        ]
        with geyser.subscribed(request) as stream:
            next(iter(stream))
            transaction = signed(localnet, [create_account(made)], payer, large)
            sent = send(localnet, transaction)
            slot = landed(localnet, sent, "finalized")["slot"]
            live = stream.until(lambda each: each.HasField("account"))[-1].account
        wanted = slot, bytes(MOST)
        assert [data_of(socket, number) for number in numbers] == [wanted] * 3
        wait(lambda: (archive.bounds() or (0, 0))[1] > slot, "it is archived")
        numbers = [
            socket.call(name, key, {**config, "fromSlot": slot - 1}) for name, key, config in asked
        ]
        assert [data_of(socket, number) for number in numbers] == [wanted] * 3
    request.from_slot = slot - 1
    with geyser.subscribed(request) as stream:
        stored = stream.until(lambda each: each.HasField("account"))[-1].account
    for each in (live, stored):
        assert (each.slot, each.account.data) == wanted
    again = rpc(
        "/rewind",
        "simulateHistoricalTransaction",
        base64.b64encode(bytes(transaction)).decode(),
        {
            "anchor": {"signature": sent, "position": "before"},
            "accounts": {"addresses": [address], "encoding": "base64+zstd"},
        },
    )["result"]["value"]
    packed = base64.b64decode(again["accounts"][0]["data"][0])
    assert again["err"] is None
    assert zstandard.ZstdDecompressor().decompress(packed, max_output_size=MOST) == bytes(MOST)
