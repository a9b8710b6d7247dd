"""The blocks that the clients read: real ones as their source files have them, and a made one."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

# March 2024: 602 transactions, 263 of them version 0, with lookup tables and token balances.
MODERN = 254170887
# One block of a test cluster in three encodings, all legacy.
LEGACY = 147078735
# A hundred slots of December 2020, 12 of them skipped.
RANGE = (55065000, 55065099)
SKIPPED = 55065030

TOKEN_PROGRAM = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
ABSENT = "1" * 64  # a signature that no transaction has

FILES = (
    "mainnet-254170887.base64.json.gz",
    "solders-147078735.json.json.gz",
    "mainnet-55065000-55065099.dbin.zst",
)
_REFERENCES = {
    "json": "solders-147078735.json.json.gz",
    "base64": "solders-147078735.base64.json.gz",
    "jsonParsed": "solders-147078735.json_parsed.json.gz",
}

# Above every real one, so that it is the newest whatever else was imported.
MADE = 900_000_000
PAYER = Keypair.from_seed(bytes(32))
PAYEE = Pubkey(bytes([9]) * 32)


def modern_block(folder: Path) -> dict[str, Any]:
    """Slot MODERN, encoding base64."""
    return _read(folder / FILES[0])


def legacy_block(folder: Path, encoding: str) -> dict[str, Any]:
    """Slot LEGACY, as the reference node answered it, with what nodes say since then: where each
    account comes from, and how deep each instruction was called, which of inner ones nobody
    recorded at the time.
    """
    block = _read(folder / _REFERENCES[encoding])
    if encoding != "base64":
        for entry in block["transactions"]:
            message = entry["transaction"]["message"]
            if encoding == "jsonParsed":
                # Nothing was looked up; and the keys hold the loaded ones.
                del message["addressTableLookups"], entry["meta"]["loadedAddresses"]
                for key in message["accountKeys"]:
                    key["source"] = "transaction"
            for instruction in message["instructions"]:
                instruction["stackHeight"] = 1
            for group in entry["meta"]["innerInstructions"] or ():
                for instruction in group["instructions"]:
                    instruction.setdefault("stackHeight", None)
    return block


def wire(entry: dict[str, Any]) -> VersionedTransaction:
    """The transaction of an entry in base64."""
    return VersionedTransaction.from_bytes(base64.b64decode(entry["transaction"][0]))


def first_signatures(block: dict[str, Any]) -> list[str]:
    """The signature that names each transaction of a block in base64."""
    return [str(wire(entry).signatures[0]) for entry in block["transactions"]]


def signatures_of(address: str, block: dict[str, Any]) -> list[str]:
    """The block's transactions that load the address, newest first."""
    found = []
    for entry in reversed(block["transactions"]):
        transaction = wire(entry)
        looked_up = entry["meta"].get("loadedAddresses") or {"writable": [], "readonly": []}
        keys = [*map(str, transaction.message.account_keys), *looked_up["writable"]]
        if address in [*keys, *looked_up["readonly"]]:
            found.append(str(transaction.signatures[0]))
    return found


def made_block() -> dict[str, Any]:
    """A block of one signed transfer of 1,000 lamports, as getBlock answers in base64."""
    blockhash = Hash(bytes([3]) * 32)
    instruction = transfer(
        TransferParams(from_pubkey=PAYER.pubkey(), to_pubkey=PAYEE, lamports=1_000)
    )
    message = Message.new_with_blockhash([instruction], PAYER.pubkey(), blockhash)
    transaction = bytes(VersionedTransaction(message, [PAYER]))
    return {
        "blockHeight": MADE - 50,
        "blockTime": 1_790_000_000,
        "blockhash": str(Hash(bytes([4]) * 32)),
        "parentSlot": MADE - 1,
        "previousBlockhash": str(blockhash),
        "rewards": [],
        "transactions": [
            {
                "transaction": [base64.b64encode(transaction).decode(), "base64"],
                "version": "legacy",
                "meta": {
                    "err": None,
                    "status": {"Ok": None},
                    "fee": 5_000,
                    "preBalances": [10_000_000_000, 0, 1],
                    "postBalances": [9_999_994_000, 1_000, 1],
                    "innerInstructions": [],
                    "logMessages": [
                        "Program 11111111111111111111111111111111 invoke [1]",
                        "Program 11111111111111111111111111111111 success",
                    ],
                    "preTokenBalances": [],
                    "postTokenBalances": [],
                    "rewards": [],
                    "loadedAddresses": {"writable": [], "readonly": []},
                    "computeUnitsConsumed": 150,
                },
            }
        ],
    }


def _read(path: Path) -> dict[str, Any]:
    document = json.loads(gzip.decompress(path.read_bytes()))
    block: dict[str, Any] = document.get("result", document)
    return block
