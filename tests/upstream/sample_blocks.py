"""One small block in every form a file can have; none of it needs the fixtures."""

import base64
import gzip
import json
from typing import Any

import zstandard
from solders.hash import Hash
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.signature import Signature

from chain.encodings import b58encode
from chain.transactions import Header, Instruction, Lookup, Wire, encode_wire
from tests.signing import signed
from upstream.protobuf import confirmed_block_pb2 as schema

SLOT = 103
PARENT = 101
BLOCKHASH = str(Hash(bytes([5]) * 32))
PREVIOUS = str(Hash(bytes([4]) * 32))
PAYER = Keypair.from_seed(bytes(32))
_PROGRAM = bytes([7]) * 32
_TABLE = bytes([8]) * 32


def _legacy() -> Wire:
    return Wire(
        signatures=[],
        version="legacy",
        header=Header(1, 0, 1),
        account_keys=[bytes(PAYER.pubkey()), _PROGRAM],
        recent_blockhash=bytes([4]) * 32,
        instructions=[Instruction(1, b"\0", b"abc"), Instruction(1, b"", b"")],
        lookups=[],
    )


def _v0() -> Wire:
    return Wire(
        signatures=[],
        version=0,
        header=Header(1, 0, 1),
        account_keys=[bytes(PAYER.pubkey()), _PROGRAM],
        recent_blockhash=bytes([4]) * 32,
        instructions=[Instruction(1, b"\2\3\0", b"de")],
        lookups=[Lookup(_TABLE, b"\x09", b"\x01")],
    )


WIRES = [signed(_legacy(), PAYER), signed(_v0(), PAYER)]
WIRE_BYTES = [encode_wire(wire) for wire in WIRES]


def message_json(wire: Wire) -> dict[str, Any]:
    """A message as the standard node writes it in encoding json."""
    message = {
        "header": {
            "numRequiredSignatures": wire.header.required_signatures,
            "numReadonlySignedAccounts": wire.header.readonly_signed,
            "numReadonlyUnsignedAccounts": wire.header.readonly_unsigned,
        },
        "accountKeys": [str(Pubkey.from_bytes(key)) for key in wire.account_keys],
        "recentBlockhash": str(Hash.from_bytes(wire.recent_blockhash)),
        "instructions": [
            {
                "programIdIndex": each.program_index,
                "accounts": list(each.accounts),
                "data": b58encode(each.data),
                "stackHeight": 1,
            }
            for each in wire.instructions
        ],
    }
    if wire.version == 0:
        message["addressTableLookups"] = [
            {
                "accountKey": str(Pubkey.from_bytes(each.account_key)),
                "writableIndexes": list(each.writable),
                "readonlyIndexes": list(each.readonly),
            }
            for each in wire.lookups
        ]
    return message


def _meta_json(wire: Wire) -> dict[str, Any]:
    loaded = [str(Pubkey(bytes([9]) * 32)), str(Pubkey(bytes([10]) * 32))]
    with_lookups = bool(wire.lookups)
    return {
        "err": {"InstructionError": [0, {"Custom": 6001}]},
        "status": {"Err": {"InstructionError": [0, {"Custom": 6001}]}},
        "fee": 5000,
        "preBalances": [2**64 - 1, 1, 2, 3][: wire.key_count],
        "postBalances": [10, 1, 2, 3][: wire.key_count],
        "innerInstructions": [
            {
                "index": 0,
                "instructions": [
                    {"programIdIndex": 1, "accounts": [0], "data": "Cn8eVZg", "stackHeight": 2}
                ],
            }
        ],
        "logMessages": ["Program log: ünïcode", ""],
        "preTokenBalances": [],
        "postTokenBalances": [
            {
                "accountIndex": 1,
                "mint": str(Pubkey(_TABLE)),
                "uiTokenAmount": {
                    "uiAmount": 1.5,
                    "decimals": 6,
                    "amount": "1500000",
                    "uiAmountString": "1.5",
                },
                "owner": str(Pubkey(_PROGRAM)),
                "programId": str(Pubkey(_PROGRAM)),
            }
        ],
        "rewards": [],
        "loadedAddresses": {
            "writable": loaded[:1] if with_lookups else [],
            "readonly": loaded[1:] if with_lookups else [],
        },
        "returnData": {"programId": str(Pubkey(_PROGRAM)), "data": ["AQI=", "base64"]},
        "computeUnitsConsumed": 150,
        "costUnits": 1337,
    }


METAS = [_meta_json(wire) for wire in WIRES]
REWARDS = [
    {
        "pubkey": str(PAYER.pubkey()),
        "lamports": -7,
        "postBalance": 12,
        "rewardType": "Fee",
        "commission": None,
    }
]


def block_json(encoding: str) -> dict[str, Any]:
    """A getBlock result."""
    transactions: list[Any] = []
    for wire, wire_bytes, meta in zip(WIRES, WIRE_BYTES, METAS, strict=True):
        transaction: Any = {
            "signatures": [str(Signature.from_bytes(each)) for each in wire.signatures],
            "message": message_json(wire),
        }
        if encoding == "base64":
            transaction = [base64.b64encode(wire_bytes).decode(), "base64"]
        elif encoding == "base58":
            transaction = b58encode(wire_bytes)
        elif encoding == "base64+zstd":
            packed = zstandard.compress(wire_bytes)
            transaction = [base64.b64encode(packed).decode(), "base64+zstd"]
        transactions.append({"transaction": transaction, "meta": meta, "version": wire.version})
    return {
        "blockhash": BLOCKHASH,
        "previousBlockhash": PREVIOUS,
        "parentSlot": PARENT,
        "blockTime": 1_600_000_000,
        "blockHeight": 99,
        "transactions": transactions,
        "rewards": REWARDS,
        "numRewardPartitions": 3,
    }


def json_file(encoding: str = "base64") -> bytes:
    """A getBlock response."""
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": block_json(encoding)}).encode()


def block_message() -> Any:
    """The same block as ConfirmedBlock message."""
    block = schema.ConfirmedBlock(
        blockhash=BLOCKHASH,
        previous_blockhash=PREVIOUS,
        parent_slot=PARENT,
        rewards=[{"pubkey": str(PAYER.pubkey()), "lamports": -7, "post_balance": 12}],
        block_time={"timestamp": 1_600_000_000},
        block_height={"block_height": 99},
        num_partitions={"num_partitions": 3},
    )
    block.rewards[0].reward_type = 1
    for wire, meta in zip(WIRES, METAS, strict=True):
        added = block.transactions.add()
        message = added.transaction.message
        added.transaction.signatures.extend(wire.signatures)
        message.header.num_required_signatures = wire.header.required_signatures
        message.header.num_readonly_signed_accounts = wire.header.readonly_signed
        message.header.num_readonly_unsigned_accounts = wire.header.readonly_unsigned
        message.account_keys.extend(wire.account_keys)
        message.recent_blockhash = wire.recent_blockhash
        message.versioned = wire.version != "legacy"
        for program_index, accounts, data in wire.instructions:
            message.instructions.add(program_id_index=program_index, accounts=accounts, data=data)
        for key, writable, readonly in wire.lookups:
            message.address_table_lookups.add(
                account_key=key, writable_indexes=writable, readonly_indexes=readonly
            )
        stored = added.meta
        stored.err.err = bytes([8, 0, 0, 0, 0, 25, 0, 0, 0]) + (6001).to_bytes(4, "little")
        stored.fee = meta["fee"]
        stored.pre_balances.extend(meta["preBalances"])
        stored.post_balances.extend(meta["postBalances"])
        inner = stored.inner_instructions.add(index=0)
        inner.instructions.add(program_id_index=1, accounts=b"\0", data=b"hello", stack_height=2)
        stored.log_messages.extend(meta["logMessages"])
        balance = stored.post_token_balances.add(account_index=1, mint=str(Pubkey(_TABLE)))
        balance.owner = balance.program_id = str(Pubkey(_PROGRAM))
        balance.ui_token_amount.ui_amount = 1.5
        balance.ui_token_amount.decimals = 6
        balance.ui_token_amount.amount = "1500000"
        loaded = meta["loadedAddresses"]
        for name in ("writable", "readonly"):
            keys = [bytes(Pubkey.from_string(each)) for each in loaded[name]]
            getattr(stored, f"loaded_{name}_addresses").extend(keys)
        stored.return_data.program_id = _PROGRAM
        stored.return_data.data = b"\1\2"
        stored.compute_units_consumed = 150
        stored.cost_units = 1337
    return block


def protobuf_file() -> bytes:
    """A bare ConfirmedBlock."""
    return bytes(block_message().SerializeToString())


def dbin_file(slots: tuple[int, ...] = (SLOT,)) -> bytes:
    """A dbin container with the block at each of the slots."""
    out = b"dbin\0SOL01"
    for slot in slots:
        block = block_message()
        block.slot = slot
        message = schema.ContainedBlock(
            number=slot,
            id=BLOCKHASH,
            previous_id=PREVIOUS,
            payload_kind=3,
            payload=block.SerializeToString(),
        ).SerializeToString()
        out += len(message).to_bytes(4) + message
    return out


def tar_file(members: dict[str, bytes]) -> bytes:
    """A tar of regular files, in the order given."""
    out = b""
    for name, content in members.items():
        header = bytearray(512)
        header[: len(name)] = name.encode()
        header[100:108] = b"0000644\0"
        header[124:136] = b"%011o\0" % len(content)
        header[148:156] = b" " * 8
        header[156:157] = b"0"
        header[257:265] = b"ustar\x0000"
        header[148:156] = b"%06o\0 " % sum(header)
        out += bytes(header) + content + bytes(-len(content) % 512)
    return out + bytes(1024)


PACKINGS = {"plain": bytes, "gzip": gzip.compress, "zstd": zstandard.compress}
FILES = {
    "json": json_file("json"),
    "base64": json_file("base64"),
    "base58": json_file("base58"),
    "base64+zstd": json_file("base64+zstd"),
    "bare result": json.dumps(block_json("base64"), indent=2).encode(),
    "protobuf": protobuf_file(),
    "dbin": dbin_file(),
    "tar": tar_file({"103.dbin.zst": zstandard.compress(dbin_file())}),
}
