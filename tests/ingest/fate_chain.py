"""The finalized chain of the model of fates: what each nonce account was at each slot, which blocks
are stored yet, and a node that knows it all.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import msgspec
from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain.accounts import AccountWrite
from chain.blocks import SlotRecord
from chain.encodings import b58decode, b58encode, b64encode
from chain.units import UnixTimestamp
from tests.ingest.made_nonces import OTHER, advance, block, nonce_write, on_nonce
from tests.priority.sending import PAYER, signed, tip
from tests.rewind.samples import blockhash

NONCES = [Pubkey(bytes([3]) * 32), Pubkey(bytes([4]) * 32)]
SECONDS = 20


class NonceState(NamedTuple):
    """A nonce account: its hash by its number, None once it is closed, and whether its authority is
    the payer; `by` are the slot and the transaction that left the state before.
    """

    number: int | None
    is_payers: bool
    by: tuple[int, str] | None = None


@dataclass(eq=False)
class Sent:
    """A submission: its transaction, and what it stands on: a hash of the nonce by its number, or a
    last height; where it landed in the chain, and what its owner was told for good.
    """

    transaction: VersionedTransaction = field(repr=False)
    nonce: Pubkey | None
    number: int
    accepted_slot: int
    landed: tuple[int, Any] | None = None
    told: dict[str, Any] | None = None
    is_watched: bool = True
    is_nonced: bool = True
    bundle_id: str = ""

    @property
    def signature(self) -> str:
        return str(self.transaction.signatures[0])


@dataclass
class Chain:
    """`left` says which block moved a nonce away from a hash; `waiting` is not stored yet."""

    began: int
    with_times: bool = True
    nonces: dict[Pubkey, NonceState] = field(default_factory=dict)
    heights: dict[int, int] = field(default_factory=dict)
    states: dict[int, dict[Pubkey, NonceState]] = field(default_factory=dict)
    landed: dict[str, tuple[int, Any]] = field(default_factory=dict)
    left: dict[tuple[Pubkey, int], tuple[int, str]] = field(default_factory=dict)
    waiting: list[SlotRecord] = field(default_factory=list)
    stored: set[int] = field(default_factory=set)
    numbers: int = 1
    node_lags: int = 0
    # Signatures in blocks of forks, which a node calls confirmed.
    seen: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.add()
        maker = signed(tip(9), blockhash=Hash(bytes([9]) * 32))
        writes = [nonce_write(1, bytes(maker.signatures[0]), nonce=nonce) for nonce in NONCES]
        self.nonces = {nonce: NonceState(1, True) for nonce in NONCES}
        self.add([maker], writes)

    @property
    def slot(self) -> int:
        return max(self.heights, default=-1)

    @property
    def height(self) -> int:
        return self.heights[self.slot]

    def time(self, slot: int | None = None) -> int:
        return self.began + SECONDS * (self.slot if slot is None else slot)

    def add(
        self,
        transactions: Sequence[VersionedTransaction] = (),
        writes: Sequence[AccountWrite] = (),
        *,
        err: Any = None,
        rises: int = 1,
        with_writes: bool = True,
    ) -> None:
        """A block in the next slot."""
        slot = self.slot + 1
        self.heights[slot] = rises - 1 if slot == 0 else self.height + rises
        ordered = [each._replace(write_version=at) for at, each in enumerate(writes)]
        made = block(slot, transactions, ordered if with_writes else None, err=err)
        time = UnixTimestamp(self.time(slot)) if self.with_times else None
        self.waiting.append(replace(made, block_height=self.heights[slot], block_time=time))
        self.states[slot] = dict(self.nonces)
        for each in transactions:
            self.landed[str(each.signatures[0])] = (slot, err)

    def change(
        self, nonce: Pubkey, by: VersionedTransaction, *, number: int | None, is_payers: bool = True
    ) -> AccountWrite:
        """The write of the nonce in the next block."""
        before, place = self.nonces[nonce], (self.slot + 1, str(by.signatures[0]))
        if before.number is not None and before.number != number:
            self.left[nonce, before.number] = place
        self.nonces[nonce] = NonceState(number, is_payers, place)
        authority = PAYER.pubkey() if is_payers else OTHER.pubkey()
        return nonce_write(number, bytes(by.signatures[0]), nonce=nonce, authority=authority)

    def new_number(self) -> int:
        """Of a hash that no nonce ever had."""
        self.numbers += 1
        return self.numbers

    def on(self, nonce: Pubkey, number: int, lamports: int) -> VersionedTransaction:
        return on_nonce(number, lamports=lamports, nonce=nonce)

    def ordinary(self, nonce: Pubkey | None, slot: int, lamports: int) -> VersionedTransaction:
        """On that slot's blockhash; with a nonce, its advance comes first."""
        first = [] if nonce is None else [advance(nonce)]
        recent = Hash.from_string(blockhash(slot))
        return signed(*first, tip(1_000_000 + lamports), blockhash=recent)

    def can_land(self, each: Sent) -> bool:
        """In the next block."""
        if each.landed is not None:
            return False
        if each.nonce is None:
            return self.height < each.number
        return self.nonces[each.nonce][:2] == (each.number, True)

    def is_gone(self, each: Sent) -> bool:
        """Whether no later block can change that it cannot land."""
        if each.nonce is None or each.landed is not None:
            return not self.can_land(each)
        return self.nonces[each.nonce].number != each.number

    def answer(self, body: bytes) -> tuple[int, bytes]:
        """A node's, which has finalized all, or lags behind by some slots."""
        call = msgspec.json.decode(body)
        slot = max(self.slot - self.node_lags, 1)
        result: Any = {
            "getFirstAvailableBlock": 0,
            "getBlockHeight": self.heights[slot],
            "getSlot": slot,
        }.get(call["method"])
        if call["method"] == "getMultipleAccounts":
            values = [self._account(slot, key) for key in call["params"][0]]
            result = {"context": {"slot": slot}, "value": values}
        elif call["method"] == "getSignatureStatuses":
            values = [self._status(slot, each) for each in call["params"][0]]
            result = {"context": {"slot": slot}, "value": values}
        elif call["method"] == "getBlock":
            result = self._header(call["params"][0])
        return 200, msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "result": result})

    def _header(self, slot: int) -> dict[str, Any]:
        return {
            "blockhash": blockhash(slot),
            "parentSlot": max(slot - 1, 0),
            "previousBlockhash": blockhash(max(slot - 1, 0)),
            "blockTime": self.time(slot) if self.with_times else None,
        }

    def _account(self, slot: int, key: str) -> dict[str, Any] | None:
        nonce = Pubkey(b58decode(key))
        state = self.states[slot][nonce]
        if state.number is None:
            return None
        authority = PAYER.pubkey() if state.is_payers else OTHER.pubkey()
        made = nonce_write(state.number, None, nonce=nonce, authority=authority)
        return {
            "lamports": made.lamports,
            "owner": b58encode(made.owner),
            "data": [b64encode(made.data), "base64"],
        }

    def _status(self, slot: int, signature: str) -> dict[str, Any] | None:
        place = self.landed.get(signature)
        if place is None or place[0] > slot:
            is_seen = signature in self.seen
            fork = {"slot": slot + 1, "err": None, "confirmationStatus": "confirmed"}
            return fork if is_seen else None
        return {"slot": place[0], "err": place[1], "confirmationStatus": "finalized"}
