"""The client: a class with the methods of every path, and what lands a transaction."""

import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from typing import Any

from solders.hash import Hash
from solders.instruction import Instruction
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from websockets.exceptions import WebSocketException

from tidemark import types
from tidemark._io_sync import open_socket, receive, sleep
from tidemark._sync.caller import Caller, Connected
from tidemark._sync.methods import (
    Bundle,
    Historical,
    Node,
    Priority,
    Rewind,
)
from tidemark.errors import SignatureUnknown
from tidemark.failures import DeadlinePassed
from tidemark.follow import Change, StreamEnded, Until, change_in, differs, is_over, subscription
from tidemark.values import Address, Transaction, TransactionId, params_of
from tidemark.wire import websocket_url

# What a tip must be at least, by default of the service; `TipTooSmall.data["required"]` is its own.
TIP_LAMPORTS = 1_000_000
_POLL_SECONDS = 0.5
# How often the WebSocket is tried before only polling is left.
_STREAM_ATTEMPTS = 3


class Tidemark(Connected):
    """The service at `url`, with an API key.

    priority, bundle, historical, rewind: the methods of the path of this name; `node` has those
      of `/`
    timeout_seconds: for each request
    retry_seconds: for how long a call is repeated after 429, 502, 503, 504 and broken connections;
      0 is never. A service that has never responded is not tried again
    """

    def __init__(
        self, url: str, key: str = "", *, timeout_seconds: float = 30.0, retry_seconds: float = 30.0
    ) -> None:
        caller = Caller(url, key, timeout_seconds=timeout_seconds, retry_seconds=retry_seconds)
        super().__init__(caller)
        self.priority = Priority(caller)
        self.bundle = Bundle(caller)
        self.historical = Historical(caller)
        self.rewind = Rewind(caller)
        self.node = Node(caller)

    def call(self, method: str, *params: Any, path: str = "/") -> Any:
        """Calls any method by its name, such as one of the followed node → its result as JSON."""
        return self._caller.rpc(path, method, params_of(*params), Any)

    def latest_blockhash(self) -> Hash:
        """The followed node's newest blockhash of the commitment confirmed."""
        found = self.call("getLatestBlockhash", {"commitment": "confirmed"})
        return Hash.from_string(found["value"]["blockhash"])

    def airdrop(self, account: Address, lamports: int = 1_000_000_000) -> str:
        """Requests SOL of the faucet of localnet or a test chain, and waits until the account has
        it → the airdrop's signature. Raises DeadlinePassed after a minute.
        """
        before = self._balance(account)
        signature: str = self.call("requestAirdrop", account, lamports)
        deadline = time.monotonic() + 60
        while self._balance(account) <= before:
            if time.monotonic() > deadline:
                raise DeadlinePassed(signature, 60, "")
            sleep(_POLL_SECONDS)
        return signature

    def with_tip(
        self,
        instructions: Iterable[Instruction],
        payer: Pubkey,
        *,
        lamports: int = TIP_LAMPORTS,
        ttl: int | None = None,
    ) -> list[Instruction]:
        """The instructions, and the transfer of a tip from the payer to a new tip address.

        ttl: for how many seconds the address must be valid; by default the service's own choice
        """
        fetched = self.priority.fetch_tip_addresses(ttl=ttl)
        address = Pubkey.from_string(fetched.addresses[0])
        tip = TransferParams(from_pubkey=payer, to_pubkey=address, lamports=lamports)
        return [*instructions, transfer(tip)]

    def send_and_follow(
        self, transaction: Transaction, *, until: Until = "finalized", deadline_seconds: float = 120
    ) -> types.Fate:
        """Sends a transaction with a tip, and follows it to its end → its fate, whose `state` is
        landed, failed (in a block, with `err`), expired or refused. Raises DeadlinePassed when it
        is none of these in time: it may still land.

        until: landed is as soon as a block has it, finalized when no fork can take it away
        """
        signature = self.priority.send_transaction(transaction)
        for _ in self.follow(signature, until=until, deadline_seconds=deadline_seconds):
            pass
        return self.priority.get_transaction_fate(signature)

    def follow(
        self,
        signature: TransactionId,
        *,
        until: Until = "finalized",
        deadline_seconds: float = 120,
    ) -> Iterator[Change]:
        """Each change of a submission of this key, to its end: by WebSocket, by polling while there
        is none. Raises DeadlinePassed, and SignatureUnknown for another key's.
        """
        subject = str(signature)
        last: Change | None = None
        deadline = time.monotonic() + deadline_seconds
        streams = _STREAM_ATTEMPTS
        while True:
            polled = self._polled(subject, is_known=last is not None)
            if polled is not None and differs(polled, last):
                last = polled
                yield polled
            if last is not None and is_over(last, until):
                return
            if time.monotonic() > deadline:
                raise DeadlinePassed(subject, deadline_seconds, last.state if last else "")
            if not streams:
                sleep(_POLL_SECONDS)
                continue
            streams -= 1
            with closing(self._streamed(subject, deadline)) as changes:
                for change in changes:
                    if differs(change, last):
                        last = change
                        yield change
                    if is_over(change, until):
                        return

    def _streamed(self, signature: str, deadline: float) -> Generator[Change, None]:
        """Changes by one WebSocket, until it ends or the time is over."""
        url = websocket_url(self._caller.url, "/priority")
        patience = min(self._caller.timeout_seconds, deadline - time.monotonic())
        try:
            with open_socket(url, self._caller.key, patience) as socket:
                socket.send(subscription(signature))
                while (left := deadline - time.monotonic()) > 0:
                    change = change_in(receive(socket, left))
                    if change is not None:
                        yield change
        except (WebSocketException, OSError, StreamEnded):  # TimeoutError is an OSError
            return

    def _polled(self, signature: str, *, is_known: bool) -> types.Fate | None:
        """The fate; None while one that was known cannot be found."""
        try:
            return self.priority.get_transaction_fate(signature)
        except SignatureUnknown:
            if not is_known:
                raise
            return None

    def _balance(self, account: Address) -> int:
        found = self.call("getBalance", account, {"commitment": "confirmed"})
        return int(found["value"])
