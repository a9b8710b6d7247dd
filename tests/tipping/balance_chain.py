"""A plain chain behind a node's JSON-RPC, with the network's rules of fees and rent."""

import contextlib
import json
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone
from solders.hash import Hash
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import Transaction

from chain.derived_keys import derived_keypair
from chain.units import Slot
from tests.priority.odd_nodes import odd_node
from tipping.models import Edge, TipAddress, TipBatch, TipEntry, TtlClass
from tipping.services import sweeping
from upstream.node import Node

SEED = b"s" * 32
TREASURY = derived_keypair(SEED, "treasury").pubkey()
LEAST = 890_880


@dataclass
class BalanceChain:
    """Balances that tips and transactions change. `is_recorded`: in the tip ledger too, which is
    `behind` by so many slots.
    """

    held: Counter[Pubkey] = field(default_factory=Counter)
    slot: int = 100
    fees: int = 0
    received: int = 0
    is_recorded: bool = True
    behind: int = 0
    ours: set[Pubkey] = field(default_factory=lambda: {TREASURY})
    url: str = "http://127.0.0.1:1"
    spoken: int = 0

    @property
    def node(self) -> Node:
        return Node(self.url)

    @property
    def recorded_to(self) -> Slot:
        return Slot(self.slot - self.behind)

    def tip(self, pubkey: Pubkey, lamports: int) -> None:
        self.slot += 1
        self.held[pubkey] += lamports
        self.received += lamports
        self._record(Keypair().sign_message(b"tip"), {pubkey: lamports})

    def execute(self, wire: bytes) -> str:
        """`landed`, `failed`, or `dropped` where no leader would take it."""
        self.slot += 1
        signed = Transaction.from_bytes(wire)
        signed.verify()
        message, before = signed.message, self.held.copy()
        payer, fee = message.account_keys[0], 5_000 * message.header.num_required_signatures
        if not self._lives(before[payer] - fee):
            return "dropped"
        self.held[payer] -= fee
        self.fees += fee
        paid = self.held.copy()
        for instruction in message.instructions:
            keys = [message.account_keys[index] for index in instruction.accounts]
            kind, lamports = struct.unpack("<IQ", bytes(instruction.data))
            assert kind == 2
            paid[keys[0]] -= lamports
            paid[keys[1]] += lamports
        succeeds = all(self._lives(lamports) for lamports in paid.values())
        if succeeds:
            self.held = paid
        self._record(
            signed.signatures[0],
            {key: self.held[key] - before[key] for key in self.held | before},
        )
        return "landed" if succeeds else "failed"

    def answer(self, body: bytes) -> tuple[int, bytes]:
        asked = json.loads(body)
        if asked["method"] == "getMultipleAccounts":
            accounts = [self.held[Pubkey.from_string(key)] for key in asked["params"][0]]
            value: Any = [{"lamports": lamports} if lamports else None for lamports in accounts]
        else:
            assert asked["method"] == "getLatestBlockhash"
            self.spoken += 1
            value = {"blockhash": str(Hash.hash(self.spoken.to_bytes(8)))}
        result = {"context": {"slot": self.slot}, "value": value}
        return 200, json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()

    @staticmethod
    def _lives(lamports: int) -> bool:
        return lamports == 0 or lamports >= LEAST

    def _record(self, signature: Signature, changes: dict[Pubkey, int]) -> None:
        moved = {key: change for key, change in changes.items() if change and key in self.ours}
        if not self.is_recorded or not moved:
            return
        with transaction.atomic():
            for key, change in moved.items():
                TipEntry.objects.create(
                    signature=signature,
                    pubkey=key,
                    kind="tip" if change > 0 else "sweep",
                    lamports=change,
                    slot=self.slot,
                    recorded_at=timezone.now(),
                )
            sweeping.reopen_swept([bytes(key) for key in moved.keys() - {TREASURY}])


@contextlib.contextmanager
def balance_chain() -> Iterator[BalanceChain]:
    """A chain whose node listens."""
    chain = BalanceChain()
    with odd_node(lambda body: chain.answer(body)) as node:
        chain.url = node.url
        yield chain


def expired_batch(
    chain: BalanceChain,
    *,
    issued: int,
    number: int = 1,
    ttl: int = 900,
    epoch: str = "an epoch's word",
) -> TipBatch:
    """A closed batch whose addresses expired an hour ago; all of them were issued."""
    now = timezone.now()
    expired = now - timedelta(hours=1)
    edge = Edge.objects.get_or_create(name="edge-1", defaults={"first_seen_at": now})[0]
    batch = TipBatch.objects.create(
        ttl_class=TtlClass.objects.get_or_create(ttl_seconds=ttl, defaults={"window_seconds": 300})[
            0
        ],
        epoch=epoch,
        number=number,
        ttl_seconds=ttl,
        size=issued,
        state=TipBatch.State.CLOSED,
        prepared_at=expired,
        opened_at=expired,
        window_ends_at=expired,
        expires_at=expired,
        closed_at=expired,
    )
    rows = [
        TipAddress(
            pubkey=derived_keypair(
                SEED, "tip", *([epoch] if epoch else []), ttl, number, position
            ).pubkey(),
            batch=batch,
            position=position,
            edge=edge,
            issued_at=expired,
        )
        for position in range(issued)
    ]
    TipAddress.objects.bulk_create(rows)
    chain.ours |= {row.pubkey for row in rows}
    return batch


def addresses(batch: TipBatch) -> list[Pubkey]:
    return [row.pubkey for row in TipAddress.objects.filter(batch=batch).order_by("position")]
