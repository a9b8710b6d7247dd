"""A load of submissions on a running service, and what each was answered."""

import base64
import http.client
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

from tests.clients.service import Service

TIP = 1_000_000
# Of a hundred: what the sender means to become of them.
KINDS = Counter(landed=82, failed=6, expired=4, untipped=4, twice=4)


@dataclass
class Answered:
    """What the senders were told: meant outcome by accepted signature, and refusals by reason."""

    accepted: dict[str, str] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)
    repeated: int = 0
    unanswered: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


class Sender(threading.Thread):
    """Submits at a rate until `stop`. What got no answer is sent again, the same bytes, as a
    client does: only an answer counts.
    """

    def __init__(
        self,
        service: Service,
        payer: Keypair,
        tips: Callable[[], Pubkey],
        blockhash: Callable[[], Hash],
        answered: Answered,
        *,
        per_second: float,
        seed: int,
    ) -> None:
        super().__init__(name=f"sender {seed}", daemon=True)
        self._service = service
        self._payer = payer
        self._tips = tips
        self._blockhash = blockhash
        self._answered = answered
        self._pause = 1 / per_second
        self._chance = random.Random(seed)
        self._stopping = threading.Event()
        self._connection: http.client.HTTPConnection | None = None
        self._count = 0

    def stop(self) -> None:
        self._stopping.set()
        self.join()

    def run(self) -> None:
        due = time.monotonic()
        while not self._stopping.is_set():
            kind = self._chance.choices(list(KINDS), list(KINDS.values()))[0]
            self._submit(kind, self._signed(kind))
            due = max(due + self._pause, time.monotonic() - 1.0)
            self._stopping.wait(max(0.0, due - time.monotonic()))

    def _signed(self, kind: str) -> bytes:
        self._count += 1
        payer = self._payer.pubkey()
        tip = TIP - 1 if kind == "untipped" else TIP
        # Different lamports make different transactions of one blockhash.
        moves = [(payer, self._count), (self._tips(), tip)]
        if kind == "failed":
            moves.append((payer, 10**17))
        # One that nobody knows: no leader will take it.
        unknown = Hash(self._chance.randbytes(32))
        blockhash = unknown if kind == "expired" else self._blockhash()
        message = MessageV0.try_compile(
            payer,
            [
                transfer(TransferParams(from_pubkey=payer, to_pubkey=to, lamports=lamports))
                for to, lamports in moves
            ],
            [],
            blockhash,
        )
        return bytes(VersionedTransaction(message, [self._payer]))

    def _submit(self, kind: str, wire: bytes) -> None:
        signature = str(VersionedTransaction.from_bytes(wire).signatures[0])
        for turn in range(2 if kind == "twice" else 1):
            answer = self._answer(wire)
            if answer is None:
                return
            with self._answered.lock:
                if "result" in answer:
                    assert answer["result"] == signature
                    assert kind != "untipped", answer
                    meant = "landed" if kind == "twice" else kind
                    self._answered.repeated += turn
                    self._answered.accepted[signature] = meant
                else:
                    self._answered.refused[answer["error"]["data"]["reason"]] += 1

    def _answer(self, wire: bytes) -> dict[str, Any] | None:
        config = {"encoding": "base64", "skipPreflight": True}
        params = [base64.b64encode(wire).decode(), config]
        body = {"jsonrpc": "2.0", "id": 1, "method": "sendTransaction", "params": params}
        headers = {"Authorization": self._service.key, "Content-Type": "application/json"}
        while not self._stopping.is_set():
            try:
                if self._connection is None:
                    self._connection = http.client.HTTPConnection(
                        self._service.host, self._service.port, timeout=10
                    )
                self._connection.request("POST", "/priority", json.dumps(body), headers)
                with self._connection.getresponse() as response:
                    answer: dict[str, Any] = json.load(response)
                if "error" in answer and answer["error"]["code"] in (-32603, -32005):
                    # Redis or the database is away: the same again, a little later.
                    with self._answered.lock:
                        self._answered.refused[answer["error"]["data"]["reason"]] += 1
                    self._stopping.wait(0.2)
                    continue
                return answer
            except (OSError, http.client.HTTPException, ValueError):
                if self._connection is not None:
                    self._connection.close()
                self._connection = None
                with self._answered.lock:
                    self._answered.unanswered += 1
                self._stopping.wait(0.05)
        return None
