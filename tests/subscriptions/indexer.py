"""An indexer that is killed again and again, and reads on where it was; beside it, payments."""

import threading
import time
from typing import Any

from solders.pubkey import Pubkey

from tests.localnet.wallets import SOL, landed, pay, send, signed, wallet
from tests.subscriptions.conftest import Served
from tests.subscriptions.socket_client import Socket


class Indexer:
    """Reads the transactions that pay an address, each connection from the last one's end on."""

    def __init__(self, served: Served, *, pause_seconds: float = 0.02) -> None:
        self._served, self._pause = served, pause_seconds
        self._to = Pubkey.new_unique()
        self._payer = wallet(served.localnet, 1_000 * SOL)
        self._stopping = threading.Event()
        # (slot, index, signature) of what was notified, and what was reported as missing.
        self.seen: list[tuple[int, int, str]] = []
        self.gaps: list[tuple[int, int]] = []
        self.sent: list[str] = []

    def runs(self, *, kills: int) -> None:
        """Raises AssertionError unless all that was paid was seen once and in order, but for what
        gaps cover.
        """
        localnet, payer = self._served.localnet, self._payer
        last = send(localnet, signed(localnet, [pay(payer, self._to, SOL)], payer))
        landed(localnet, last, "finalized")
        thread = threading.Thread(target=self._pay_on)
        thread.start()
        try:
            for turn in range(kills):
                with self._served.socket() as socket:
                    number = self._subscribe(socket, last)
                    for _ in range(turn % 5 + 1):
                        last = self._take(socket, number)
        finally:
            self._stopping.set()
            thread.join()
        with self._served.socket() as socket:
            number = self._subscribe(socket, last)
            end = send(localnet, signed(localnet, [pay(payer, self._to, 2 * SOL)], payer))
            self.sent.append(end)
            while last != end:
                last = self._take(socket, number)
        self._check()

    def _pay_on(self) -> None:
        while not self._stopping.is_set():
            instruction = pay(self._payer, self._to, SOL // 100 + len(self.sent))
            transaction = signed(self._served.localnet, [instruction], self._payer)
            self.sent.append(send(self._served.localnet, transaction))
            time.sleep(self._pause)

    def _subscribe(self, socket: Socket, last: str) -> int:
        mentions = {"mentions": [str(self._to)]}
        number: int = socket.call("logsSubscribe", mentions, {"fromSignature": last})
        return number

    def _take(self, socket: Socket, number: int) -> str:
        """The next transaction's signature; a busy machine may lose slots, which is reported."""
        while True:
            notice = socket.notice(number)
            params = notice["params"]
            if notice["method"] == "gapNotification":
                self.gaps.append((params["result"]["fromSlot"], params["result"]["toSlot"]))
                continue
            signature: str = params["result"]["value"]["signature"]
            self.seen.append((params["slot"], params["transactionIndex"], signature))
            return signature

    def _check(self) -> None:
        assert self.seen == sorted(set(self.seen), key=lambda each: each[:2])
        statuses: list[Any] = []
        for start in range(0, len(self.sent), 200):
            history = {"searchTransactionHistory": True}
            some = self.sent[start : start + 200]
            found = self._served.localnet.call("getSignatureStatuses", some, history)
            statuses += found["value"]
        known = {each[2] for each in self.seen}
        assert known <= set(self.sent)
        missing = [
            status["slot"]
            for name, status in zip(self.sent, statuses, strict=True)
            if name not in known
        ]
        lost = [slot for slot in missing if not any(low <= slot <= high for low, high in self.gaps)]
        assert not lost
