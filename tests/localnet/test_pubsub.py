"""The WebSocket: every subscription tells what happens, in a node's own shapes."""

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import aiohttp
import pytest
from solana.rpc.websocket_api import SolanaWsClient
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from tests.localnet.wallets import SOL, encoded, landed, pay, send, signed, wallet
from tests.localnet_process import Localnet
from tests.patience import PATIENCE_SECONDS

SYSTEM = str(Pubkey.default())
Story = Callable[["Socket"], Awaitable[Any]]


class Socket:
    """A conversation: calls and their answers, and the notices that come in between."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, localnet: Localnet) -> None:
        self._socket = socket
        self._localnet = localnet
        self._notices: list[dict[str, Any]] = []
        self._calls = 0

    async def call(self, method: str, *params: Any) -> Any:
        answer = await self.answer(method, *params)
        assert "error" not in answer, answer
        return answer["result"]

    async def answer(self, method: str, *params: Any) -> dict[str, Any]:
        self._calls += 1
        await self._socket.send_json(
            {"jsonrpc": "2.0", "id": self._calls, "method": method, "params": list(params)}
        )
        while True:
            message: dict[str, Any] = await self._socket.receive_json(timeout=PATIENCE_SECONDS)
            if message.get("id") == self._calls:
                return message
            self._notices.append(message)

    async def notice(self, subscription: int) -> Any:
        """The next result for the subscription; those of others are kept."""
        while True:
            for place, message in enumerate(self._notices):
                if message["params"]["subscription"] == subscription:
                    del self._notices[place]
                    return message["params"]["result"]
            self._notices.append(await self._socket.receive_json(timeout=PATIENCE_SECONDS))

    async def rpc(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """A blocking call beside the conversation."""
        return await asyncio.to_thread(function, self._localnet, *arguments, **options)


@pytest.fixture
def tell(localnet: Localnet) -> Callable[[Story], Any]:
    """`tell(story)` runs a story on a new connection."""

    async def run(story: Story) -> Any:
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(localnet.websocket_url) as socket,
        ):
            return await story(Socket(socket, localnet))

    def on_a_thread(story: Story) -> Any:
        with ThreadPoolExecutor(max_workers=1) as thread:
            return thread.submit(asyncio.run, run(story)).result()

    return on_a_thread


def test_a_signature_is_told_at_each_commitment_and_then_no_more(
    localnet: Localnet, tell: Callable[[Story], Any]
) -> None:
    sender = wallet(localnet)
    transaction = signed(localnet, [pay(sender, Pubkey.new_unique(), SOL)], sender)
    signature = str(transaction.signatures[0])

    async def story(socket: Socket) -> None:
        levels = ["processed", "confirmed", "finalized"]
        config = {"enableReceivedNotification": True}
        numbers = [
            await socket.call("signatureSubscribe", signature, {"commitment": level, **config})
            for level in levels
        ]
        await socket.rpc(send, transaction)
        slots = set()
        for number in numbers:
            received = await socket.notice(number)
            assert received["value"] == "receivedSignature"
            final = await socket.notice(number)
            assert final["value"] == {"err": None}
            slots.add(final["context"]["slot"])
        assert len(slots) == 1
        # It has ended by itself, so that there is nothing left to end.
        answer = await socket.answer("signatureUnsubscribe", numbers[0])
        assert answer["error"]["message"] == "Invalid subscription id."
        late = await socket.call("signatureSubscribe", signature, {"commitment": "finalized"})
        assert (await socket.notice(late))["value"] == {"err": None}

    tell(story)


def test_an_account_and_its_program_are_told_of_a_write(
    localnet: Localnet, tell: Callable[[Story], Any]
) -> None:
    sender, receiver = wallet(localnet), Keypair().pubkey()

    async def story(socket: Socket) -> None:
        confirmed = {"commitment": "confirmed", "encoding": "base64"}
        account = await socket.call("accountSubscribe", str(receiver), confirmed)
        filters = {"filters": [{"dataSize": 0}]}
        program = await socket.call("programSubscribe", SYSTEM, {**confirmed, **filters})
        transaction = await socket.rpc(signed, [pay(sender, receiver, SOL)], sender)
        await socket.rpc(send, transaction)
        told = await socket.notice(account)
        assert told["value"] == {
            "data": ["", "base64"],
            "executable": False,
            "lamports": SOL,
            "owner": SYSTEM,
            "rentEpoch": 2**64 - 1,
            "space": 0,
        }
        while True:
            found = await socket.notice(program)
            if found["value"]["pubkey"] == str(receiver):
                break
        assert found == {
            "context": told["context"],
            "value": {"pubkey": str(receiver), "account": told["value"]},
        }
        assert await socket.call("accountUnsubscribe", account) is True
        answer = await socket.answer("accountUnsubscribe", program)
        assert answer["error"]["code"] == -32602

    tell(story)


def test_slots_roots_and_logs_are_told(localnet: Localnet, tell: Callable[[Story], Any]) -> None:
    sender = wallet(localnet)

    async def story(socket: Socket) -> None:
        slot = await socket.call("slotSubscribe")
        root = await socket.call("rootSubscribe")
        updates = await socket.call("slotsUpdatesSubscribe")
        mentions = {"mentions": [str(sender.pubkey())]}
        logs = await socket.call("logsSubscribe", mentions, {"commitment": "processed"})
        every = await socket.call("logsSubscribe", "all", {"commitment": "confirmed"})
        first, second = await socket.notice(slot), await socket.notice(slot)
        assert second["slot"] == first["slot"] + 1
        assert second["parent"] == first["slot"]
        assert second["root"] < second["parent"]
        roots = [await socket.notice(root) for _ in range(3)]
        assert roots == list(range(roots[0], roots[0] + 3))
        kinds = {(await socket.notice(updates))["type"] for _ in range(12)}
        created = {"firstShredReceived", "createdBank", "completed", "frozen"}
        assert kinds == {*created, "optimisticConfirmation", "root"}
        failing = await socket.rpc(signed, [pay(sender, Pubkey.new_unique(), 100 * SOL)], sender)
        signature = await socket.rpc(send, failing, skipPreflight=True)
        value = (await socket.notice(logs))["value"]
        assert value["signature"] == signature
        assert value["err"] == {"InstructionError": [0, {"Custom": 1}]}
        assert value["logs"][0] == f"Program {SYSTEM} invoke [1]"
        assert (await socket.notice(every))["value"] == value

    tell(story)


def test_blocks_are_told_whole(localnet: Localnet, tell: Callable[[Story], Any]) -> None:
    sender = wallet(localnet)

    async def story(socket: Socket) -> None:
        config = {
            "commitment": "confirmed",
            "encoding": "base64",
            "maxSupportedTransactionVersion": 0,
        }
        mention = {"mentionsAccountOrProgram": str(sender.pubkey())}
        number = await socket.call("blockSubscribe", mention, config)
        legacy = {**config, "maxSupportedTransactionVersion": None}
        old = await socket.call("blockSubscribe", mention, legacy)
        transaction = await socket.rpc(signed, [pay(sender, Pubkey.new_unique(), SOL)], sender)
        await socket.rpc(send, transaction)
        told = (await socket.notice(number))["value"]
        assert told["err"] is None
        (found,) = told["block"]["transactions"]
        assert found["transaction"] == [encoded(transaction), "base64"]
        wrong = {"UnsupportedTransactionVersion": 0}
        refused = {"slot": told["slot"], "block": None, "err": wrong}
        assert (await socket.notice(old))["value"] == refused

    tell(story)


def test_what_cannot_be_subscribed_is_refused(tell: Callable[[Story], Any]) -> None:
    async def story(socket: Socket) -> None:
        for method, params, code in (
            ("accountSubscribe", ["short"], -32602),
            ("signatureSubscribe", [], -32602),
            ("logsSubscribe", [{"mentions": []}], -32602),
            ("blockSubscribe", ["all", {"commitment": "processed"}], -32602),
            ("nothingSubscribe", [], -32601),
            ("slotUnsubscribe", [999_999], -32602),
        ):
            answer = await socket.answer(method, *params)
            assert answer["error"]["code"] == code, (method, answer)

    tell(story)


def test_the_python_client_hears_of_its_transaction(localnet: Localnet) -> None:
    sender = wallet(localnet)
    transaction = signed(localnet, [pay(sender, Pubkey.new_unique(), SOL)], sender)

    async def story() -> Any:
        async with SolanaWsClient(localnet.websocket_url) as socket:
            await socket.signature_subscribe(signature=transaction.signatures[0])
            await asyncio.to_thread(send, localnet, transaction)
            return await socket.recv()

    with ThreadPoolExecutor(max_workers=1) as thread:
        notification = thread.submit(asyncio.run, story()).result()
    assert notification.result.value.err is None
    landed(localnet, str(transaction.signatures[0]))


def test_what_is_no_call_is_answered_with_the_reason(localnet: Localnet) -> None:
    async def story() -> list[Any]:
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(localnet.websocket_url) as socket,
        ):
            await socket.send_str("{")
            await socket.send_str("[]")  # has no answer
            await socket.send_str(json.dumps([{}]))
            return [await socket.receive_json(timeout=PATIENCE_SECONDS) for _ in range(2)]

    with ThreadPoolExecutor(max_workers=1) as thread:
        answers = thread.submit(asyncio.run, story()).result()
    assert answers[0]["error"]["code"] == -32700
    assert [answer["error"]["code"] for answer in answers[1]] == [-32600]


def test_messages_are_not_compressed_whatever_is_offered(localnet: Localnet) -> None:
    async def agreed() -> int:
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(localnet.websocket_url, compress=15) as socket,
        ):
            return socket.compress

    assert asyncio.run(agreed()) == 0


def test_a_slice_of_an_accounts_data_is_sent(tell: Callable[[Story], Any]) -> None:
    clock = "SysvarC1ock11111111111111111111111111111111"
    config = {"encoding": "base64", "commitment": "processed"}
    parts: list[dict[str, Any]] = [
        {},
        {"dataSlice": {"offset": 0, "length": 8}},
        {"dataSlice": {"offset": 39, "length": 9}},
        {"dataSlice": {"offset": 5, "length": 0}},
    ]

    async def story(socket: Socket) -> None:
        lengths = []
        for part in parts:
            number = await socket.call("accountSubscribe", clock, {**config, **part})
            value = (await socket.notice(number))["value"]
            assert value["space"] == 40
            lengths.append(len(base64.b64decode(value["data"][0])))
        assert lengths == [40, 8, 1, 0]

    tell(story)
