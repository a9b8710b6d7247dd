"""Load on a localnet: transfers, failures, airdrops, as fast as one client sends them."""

import base64
import contextlib
import random
import threading
import time
import urllib.error

from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import Transaction

from tests.localnet_process import Localnet

SOL = 1_000_000_000


class Load(threading.Thread):
    """Runs until `stop`; what localnet refuses, or is not there for, is left out."""

    def __init__(self, localnet: Localnet, *, pause_seconds: float) -> None:
        super().__init__(name="load", daemon=True)
        self._localnet = localnet
        self._pause = pause_seconds
        self._stopping = threading.Event()
        self._chance = random.Random(11)
        self.payers = [Keypair() for _ in range(6)]
        self.others = [Keypair().pubkey() for _ in range(20)]
        self.sent = 0

    def stop(self) -> None:
        self._stopping.set()
        self.join()

    def run(self) -> None:
        for payer in self.payers:
            with contextlib.suppress(AssertionError, OSError, ValueError):
                self._localnet.call("requestAirdrop", str(payer.pubkey()), 1_000 * SOL)
        blockhash, fetched_at = "", 0.0
        while not self._stopping.wait(self._pause):
            try:
                if time.monotonic() - fetched_at > 2.0:
                    found = self._localnet.call("getLatestBlockhash")
                    blockhash, fetched_at = found["value"]["blockhash"], time.monotonic()
                self._localnet.call(
                    "sendTransaction",
                    base64.b64encode(bytes(self._transaction(blockhash))).decode(),
                    {"encoding": "base64", "skipPreflight": True},
                )
                self.sent += 1
            except (AssertionError, urllib.error.URLError, OSError, ValueError):
                continue

    def _transaction(self, blockhash: str) -> Transaction:
        chance = self._chance
        payer = chance.choice(self.payers)
        fails = chance.random() < 0.2
        targets: list[Pubkey] = chance.sample(self.others, chance.randint(1, 6))
        transfers = [
            transfer(
                TransferParams(
                    from_pubkey=payer.pubkey(),
                    to_pubkey=target,
                    lamports=10**15 if fails else SOL // 100 + chance.randrange(10_000),
                )
            )
            for target in targets
        ]
        message = Message.new_with_blockhash(transfers, payer.pubkey(), Hash.from_string(blockhash))
        return Transaction([payer], message, Hash.from_string(blockhash))
