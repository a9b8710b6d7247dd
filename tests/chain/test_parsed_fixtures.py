"""Parsed instructions against real answers of real nodes, read from the fixtures."""

import base64
import gzip
import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain.blocks import Form
from chain.encodings import b58decode
from chain.parsed.instructions import parse_instruction
from chain.parsed.transactions import parsed_meta, parsed_transaction

FIXTURES = Path(__file__).resolve().parents[3] / "shared" / "fixtures"

pytestmark = pytest.mark.skipif(
    not FIXTURES.is_dir(), reason="the fixtures of real chain data are not next to this checkout"
)

TOKENS = {
    "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
    "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb",
}
PARSED_PROGRAMS = TOKENS | {
    "11111111111111111111111111111111",
    "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL",
    "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo",
    "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr",
    "Vote111111111111111111111111111111111111111",
    "Stake11111111111111111111111111111111111111",
    "BPFLoader2111111111111111111111111111111111",
    "BPFLoaderUpgradeab1e11111111111111111111111",
    "AddressLookupTab1e1111111111111111111111111",
}

Instruction = tuple[str, list[str], bytes]


def read(path: str) -> Any:
    file = FIXTURES / path
    answer = json.loads(
        gzip.decompress(file.read_bytes()) if path.endswith(".gz") else file.read_text()
    )
    return answer.get("result", answer)


def compiled(instructions: list[dict[str, Any]], keys: list[str]) -> list[Instruction]:
    return [
        (
            keys[one["programIdIndex"]],
            [keys[index] for index in one["accounts"]],
            b58decode(one["data"]),
        )
        for one in instructions
    ]


def all_keys(static: list[str], meta: dict[str, Any]) -> list[str]:
    loaded = meta.get("loadedAddresses") or {}
    return static + loaded.get("writable", []) + loaded.get("readonly", [])


def inner(meta: dict[str, Any]) -> Iterator[list[dict[str, Any]]]:
    for group in meta.get("innerInstructions") or []:
        yield group["instructions"]


def expected(instruction: dict[str, Any]) -> dict[str, Any] | None:
    if "parsed" not in instruction:
        return None
    return {"program": instruction["program"], "parsed": instruction["parsed"]}


def test_a_block_in_raw_form_is_parsed_exactly_as_the_node_parsed_it() -> None:
    raw = read("blocks/solders-147078735.json.json.gz")["transactions"]
    reference = read("blocks/solders-147078735.json_parsed.json.gz")["transactions"]
    compared = 0
    for one, other in zip(raw, reference, strict=True):
        message = one["transaction"]["message"]
        keys = all_keys(message["accountKeys"], one["meta"])
        lists = [message["instructions"], *inner(one["meta"])]
        references = [other["transaction"]["message"]["instructions"], *inner(other["meta"])]
        for instructions, wanted in zip(lists, references, strict=True):
            for instruction, want in zip(compiled(instructions, keys), wanted, strict=True):
                # As text: the order of the keys inside `parsed` is the node's too.
                assert json.dumps(parse_instruction(*instruction)) == json.dumps(expected(want))
                compared += 1
    assert compared == 51


def base64_transactions(path: str) -> Iterator[tuple[list[Instruction], dict[str, Any]]]:
    block = read(path)
    for one in block.get("transactions", [block]):
        message = VersionedTransaction.from_bytes(base64.b64decode(one["transaction"][0])).message
        keys = all_keys([str(key) for key in message.account_keys], one["meta"])
        instructions = [
            (
                keys[instruction.program_id_index],
                [keys[index] for index in instruction.accounts],
                bytes(instruction.data),
            )
            for instruction in message.instructions
        ]
        for group in inner(one["meta"]):
            instructions += compiled(group, keys)
        yield instructions, one["meta"]


@pytest.mark.parametrize(
    ("path", "fewest"),
    [
        ("blocks/mainnet-254170887.base64.json.gz", 500),
        ("transactions/pumpfun/raw_create_tx_from_blocksubscribe.json", 5),
    ],
)
def test_whatever_a_known_program_executed_is_parsed(path: str, fewest: int) -> None:
    parsed = 0
    for instructions, meta in base64_transactions(path):
        for instruction in instructions:
            shown = parse_instruction(*instruction)
            assert (shown is None) or instruction[0] in PARSED_PROGRAMS
            if meta["err"] is None and instruction[0] in PARSED_PROGRAMS:
                assert shown is not None, instruction
                parsed += 1
    assert parsed >= fewest


# The bytes and accounts that a shown instruction must have had, for what the fixtures show.


def u32(value: int) -> bytes:
    return struct.pack("<I", value)


def u64(value: int | str) -> bytes:
    return struct.pack("<Q", int(value))


def key(value: str | None) -> bytes:
    return bytes(32) if value is None else bytes(Pubkey.from_string(value))


def option(value: str | None) -> bytes:
    return b"\0" if value is None else b"\1" + key(value)


def borsh(value: str) -> bytes:
    return u32(len(value.encode())) + value.encode()


def checked(info: dict[str, Any]) -> bytes:
    amount = info["tokenAmount"]
    return u64(amount["amount"]) + bytes([amount["decimals"]])


Rebuild = tuple[tuple[str, ...], Callable[[dict[str, Any]], bytes]]
CREATED = ("source", "account", "wallet", "mint", "systemProgram", "tokenProgram")

REBUILD: dict[tuple[str, str], Rebuild] = {
    ("system", "createAccount"): (
        ("source", "newAccount"),
        lambda i: u32(0) + u64(i["lamports"]) + u64(i["space"]) + key(i["owner"]),
    ),
    ("system", "assign"): (("account",), lambda i: u32(1) + key(i["owner"])),
    ("system", "transfer"): (("source", "destination"), lambda i: u32(2) + u64(i["lamports"])),
    ("system", "advanceNonce"): (
        ("nonceAccount", "recentBlockhashesSysvar", "nonceAuthority"),
        lambda i: u32(4),
    ),
    ("system", "allocate"): (("account",), lambda i: u32(8) + u64(i["space"])),
    ("system", "transferWithSeed"): (
        ("source", "sourceBase", "destination"),
        lambda i: (
            u32(11)
            + u64(i["lamports"])
            + u64(len(i["sourceSeed"]))
            + i["sourceSeed"].encode()
            + key(i["sourceOwner"])
        ),
    ),
    ("spl-associated-token-account", "create"): (CREATED, lambda i: b"\0"),
    ("spl-associated-token-account", "createIdempotent"): (CREATED, lambda i: b"\1"),
    ("spl-token", "setAuthority"): (
        ("mint", "authority"),
        lambda i: (
            b"\6" + bytes([["mintTokens"].index(i["authorityType"])]) + option(i["newAuthority"])
        ),
    ),
    ("spl-token", "mintTo"): (
        ("mint", "account", "mintAuthority"),
        lambda i: b"\7" + u64(i["amount"]),
    ),
    ("spl-token", "closeAccount"): (("account", "destination", "owner"), lambda i: b"\x09"),
    ("spl-token", "transferChecked"): (
        ("source", "mint", "destination", "authority"),
        lambda i: b"\x0c" + checked(i),
    ),
    ("spl-token", "initializeAccount3"): (
        ("account", "mint"),
        lambda i: b"\x12" + key(i["owner"]),
    ),
    ("spl-token", "initializeMint2"): (
        ("mint",),
        lambda i: (
            b"\x14"
            + bytes([i["decimals"]])
            + key(i["mintAuthority"])
            + option(i.get("freezeAuthority"))
        ),
    ),
    ("spl-token", "getAccountDataSize"): (
        ("mint",),
        lambda i: b"\x15" + b"\7\0" * i.get("extensionTypes", []).count("immutableOwner"),
    ),
    ("spl-token", "initializeImmutableOwner"): (("account",), lambda i: b"\x16"),
    ("spl-token", "initializeMetadataPointer"): (
        ("mint",),
        lambda i: b"\x27\0" + key(i.get("authority")) + key(i.get("metadataAddress")),
    ),
    ("spl-token", "initializeTokenMetadata"): (
        ("metadata", "updateAuthority", "mint", "mintAuthority"),
        lambda i: (
            bytes([210, 225, 30, 162, 88, 184, 77, 141])
            + borsh(i["name"])
            + borsh(i["symbol"])
            + borsh(i["uri"])
        ),
    ),
    ("spl-token", "updateTokenMetadataAuthority"): (
        ("metadata", "updateAuthority"),
        lambda i: bytes([215, 228, 166, 228, 84, 100, 86, 123]) + key(i["newAuthority"]),
    ),
}


def shown_instructions() -> Iterator[Any]:
    if not FIXTURES.is_dir():
        return
    folder = FIXTURES / "transactions"
    files = [
        *sorted(folder.glob("explorer/*.json")),
        *sorted(folder.glob("pumpfun/raw_*_from_gettransaction.json")),
    ]
    for file in files:
        answer = read(str(file.relative_to(FIXTURES)))
        lists = [answer["transaction"]["message"]["instructions"], *inner(answer["meta"])]
        shown = [one for instructions in lists for one in instructions]
        yield pytest.param(shown, id=file.stem[:40])


@pytest.mark.parametrize("shown", list(shown_instructions()))
def test_what_modern_nodes_show_is_what_its_bytes_are_parsed_to(
    shown: list[dict[str, Any]],
) -> None:
    for instruction in shown:
        program, parsed = instruction["programId"], instruction.get("parsed")
        if parsed is None:
            data = b58decode(instruction["data"])
            assert parse_instruction(program, instruction["accounts"], data) is None
            continue
        if isinstance(parsed, str):
            accounts, data = [], parsed.encode()
        else:
            info = parsed["info"]
            names, rebuild = REBUILD[instruction["program"], parsed["type"]]
            accounts, data = [info[name] for name in names], rebuild(info)
        assert parse_instruction(program, accounts, data) == expected(instruction)


def test_transactions_of_version_1_are_shown_as_the_node_showed_them() -> None:
    """Their settings, keys, instructions and inner instructions, from the same node's `json`."""
    with zstandard.open(FIXTURES / "agave-4.4.0" / "version-1.json.zst", "rt") as file:
        calls = json.load(file)
    shown: dict[str, dict[str, Any]] = {"json": {}, "jsonParsed": {}}
    for call in calls:
        method, params = call["request"]["method"], call["request"]["params"]
        if method == "getTransaction" and call["answer"].get("result"):
            encoding = params[1]["encoding"]
            if encoding in shown:
                shown[encoding][params[0]] = call["answer"]["result"]
    with_settings = 0
    for signature, entry in shown["json"].items():
        ours = {
            **entry,
            "transaction": parsed_transaction(entry, Form.STACK_HEIGHT),
            "meta": parsed_meta(entry, Form.STACK_HEIGHT),
        }
        assert ours == shown["jsonParsed"][signature]
        with_settings += "transactionConfig" in ours["transaction"]["message"]
    assert (len(shown["json"]), with_settings) == (40, 38)
