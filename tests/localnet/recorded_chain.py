"""A chain in this process that stands where a recorded node's stood: its newest blocks are of the
same slots, and it has none of the older ones. Its answers come without HTTP.
"""

import asyncio
import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.system_program import TransferParams, transfer
from solders.transaction import Transaction, VersionedTransaction

import localnet.servers.rpc  # noqa: F401  (registers the methods)
from chain.units import Slot, UnixTimestamp
from localnet.clock import Clock
from localnet.faults import Faults
from localnet.feed import Feed
from localnet.identities import FAUCET
from localnet.ledger import Ledger
from localnet.methods.table import Node, methods
from localnet.opening import open_chain
from localnet.options import Options
from localnet.servers.datagrams import DatagramPorts
from localnet.servers.envelopes import NotUtf8, respond
from localnet.snapshots import write_snapshot
from localnet.storage import Storage
from tests.recorded_answers import Asked

_EPOCH_SLOTS = 128
_SLOT_SECONDS = 0.01
_NOW = UnixTimestamp(1_795_709_000)
# Who signs the recorded node's transactions.
_SENDER = Keypair.from_seed(bytes(32))


@dataclass(frozen=True, slots=True)
class RecordedChain:
    """Asks the chain; `names` are the recorded names and ours."""

    node: Node
    names: Mapping[str, str]

    def answer(self, asked: Asked) -> Any:
        """What the chain answers to a node's request: JSON, or text that is none."""
        body = asked.body
        if not isinstance(asked.request, str):
            for recorded, ours in self.names.items():
                body = body.replace(recorded.encode(), ours.encode())
        try:
            text = respond(body, methods, self.node)
        except NotUtf8 as error:
            return str(error)
        return json.loads(text) if text else ""


def stand(folder: Path, facts: Mapping[str, Any]) -> RecordedChain:
    """A chain whose blocks begin 30 slots before the recorded slot and go on behind it."""
    return asyncio.run(_stand(folder, facts))


async def _stand(folder: Path, facts: Mapping[str, Any]) -> RecordedChain:
    storage, faults = Storage(folder), Faults()
    chain = open_chain(
        storage,
        epoch_slots=_EPOCH_SLOTS,
        slot_seconds=_SLOT_SECONDS,
        now=_NOW,
        validator_count=1,
    )
    numbers: dict[str, Any] = {"slot_seconds": _SLOT_SECONDS, "finalized_after": 4}
    ledger = Ledger(
        chain, storage, Feed(faults), faults, skip_percent=0, clock=lambda: _NOW, **numbers
    )
    first, last = facts["slot"] - 30, facts["slot"] + 35
    ledger.warp_to(Slot(first))
    running = asyncio.create_task(ledger.run())
    while ledger.head.slot < first:
        await asyncio.sleep(_SLOT_SECONDS / 4)
    signature = ledger.submit(_failing(ledger.head.blockhash))
    while ledger.head.slot < last:
        await asyncio.sleep(_SLOT_SECONDS)
    ledger.stop()
    await running
    for table in ("blocks", "transactions", "addresses"):
        storage._database.execute(f"DELETE FROM {table} WHERE slot < ?", (first,))
    write_snapshot(ledger, folder / "snapshots")
    options = Options(
        folder=folder,
        host="127.0.0.1",
        **{f"{name}_port": 0 for name in ("rpc", "geyser", "tpu", "block_engine")},
        **numbers,
        skip_percent=0,
        epoch_slots=_EPOCH_SLOTS,
        epoch_slots_given=False,
        validators=1,
        validators_given=False,
        warp_slot=None,
        reset=False,
        votes=False,
        token_2022_mint=True,
        searcher_tokens=False,
        accounts={},
    )
    node = Node(ledger, faults, options, Clock(storage), DatagramPorts(0, 0))
    validator = ledger.schedule.validators[0]
    names = {
        facts["signature"]: str(signature),
        facts["identity"]: str(validator.identity.pubkey()),
        facts["vote"]: str(validator.vote),
        **_renewed(ledger.head.blockhash, facts["answers"]),
    }
    return RecordedChain(node, names)


def _failing(blockhash: bytes) -> bytes:
    """A payment to a program, which fails as the recorded one does."""
    vote = Pubkey.from_string("Vote111111111111111111111111111111111111111")
    pay = transfer(TransferParams(from_pubkey=FAUCET.pubkey(), to_pubkey=vote, lamports=1))
    recent = Hash(bytes(blockhash))
    message = Message.new_with_blockhash([pay], FAUCET.pubkey(), recent)
    return bytes(Transaction([FAUCET], message, recent))


def _renewed(blockhash: bytes, answers: list[dict[str, Any]]) -> dict[str, str]:
    """Blockhashes of the requests → ours, in texts and in what was signed and encoded."""
    recent = Hash(bytes(blockhash))
    names: dict[str, str] = {}
    for each in answers:
        if each["what"] != "right":
            continue
        first = each["request"]["params"][0] if each["request"].get("params") else None
        if each["method"] == "isBlockhashValid":
            names[first] = str(recent)
        elif each["method"] == "sendTransaction":
            old = VersionedTransaction.from_bytes(b64decode(first))
            wire = b64decode(first).replace(bytes(old.message.recent_blockhash), bytes(recent))
            message = wire[65:]
            signed = b"\x01" + bytes(_SENDER.sign_message(message)) + message
            assert VersionedTransaction.from_bytes(signed).signatures[0] != Signature.default()
            # Where base64 is the encoding: else its text is what is wrong.
            names[f'["{first}", {{"encoding": "base64"'] = (
                f'["{b64encode(signed).decode()}", {{"encoding": "base64"'
            )
            names[b64encode(bytes(old.message)).decode()] = b64encode(message).decode()
    return names
