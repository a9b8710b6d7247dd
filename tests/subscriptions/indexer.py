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
        # The payment before all others, its slot, and what was seen before a slot is read again.
        self._first, self._since = "", 0
        self._read_again = (-1, -1, "")

    def runs(self, *, kills: int) -> None:
        """Raises AssertionError unless all that was paid was seen once and in order, but for what
        gaps cover.
        """
        localnet, payer = self._served.localnet, self._payer
        last = send(localnet, signed(localnet, [pay(payer, self._to, SOL)], payer))
        self._first = last
        self._since = landed(localnet, last, "finalized")["slot"]
        thread = threading.Thread(target=self._pay_on)
        thread.start()
        try:
            for turn in range(kills):
                with self._served.socket() as socket:
                    number = self._subscribe(socket, last)
                    for _ in range(turn % 5 + 1):
                        number, last = self._take(socket, number)
        finally:
            self._stopping.set()
            thread.join()
        with self._served.socket() as socket:
            number = self._subscribe(socket, last)
            end = send(localnet, signed(localnet, [pay(payer, self._to, 2 * SOL)], payer))
            self.sent.append(end)
            while last != end:
                number, last = self._take(socket, number)
        self._check()

    def _pay_on(self) -> None:
        while not self._stopping.is_set():
            instruction = pay(self._payer, self._to, SOL // 100 + len(self.sent))
            transaction = signed(self._served.localnet, [instruction], self._payer)
            self.sent.append(send(self._served.localnet, transaction))
            time.sleep(self._pause)

    def _subscribe(self, socket: Socket, last: str) -> int:
        return self._subscribe_since(socket, {"fromSignature": last})

    def _subscribe_since(self, socket: Socket, beginning: dict[str, Any]) -> int:
        number: int = socket.call("logsSubscribe", {"mentions": [str(self._to)]}, beginning)
        return number

    def _take(self, socket: Socket, number: int) -> tuple[int, str]:
        """The subscription and the next transaction's signature. A busy machine may lose slots,
        which is reported; where the last transaction's was one, its slot is read again.
        """
        while True:
            notice = socket.notice(number)
            params = notice["params"]
            if notice["method"] == "gapNotification":
                if params["result"].get("reason") == "from_signature_unknown":
                    self._read_again = self.seen[-1] if self.seen else (self._since, 0, "")
                    number = self._subscribe_since(socket, {"fromSlot": self._read_again[0]})
                else:
                    self.gaps.append((params["result"]["fromSlot"], params["result"]["toSlot"]))
                continue
            signature: str = params["result"]["value"]["signature"]
            place = (params["slot"], params["transactionIndex"], signature)
            if signature == self._first or place <= self._read_again:
                continue
            self.seen.append(place)
            return number, signature

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
