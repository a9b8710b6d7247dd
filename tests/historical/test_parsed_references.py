"""getTransaction in jsonParsed against what modern nodes answered, through the public door."""

import json
from pathlib import Path
from typing import Any

import pytest

from chain.encodings import b58encode
from tests.chain.test_parsed_fixtures import FIXTURES, REBUILD

from .conftest import import_path

Entry = dict[str, Any]


def references() -> list[Any]:
    folder = FIXTURES / "transactions"
    files = [
        *sorted(folder.glob("explorer/*.json")),
        *sorted(folder.glob("pumpfun/raw_*_from_gettransaction.json")),
    ]
    return [pytest.param(file, id=file.stem[:40]) for file in files]


def compiled(instruction: Entry, keys: list[str]) -> Entry:
    parsed = instruction.get("parsed")
    if parsed is None:
        accounts, data = instruction["accounts"], instruction["data"]
    elif isinstance(parsed, str):
        accounts, data = [], b58encode(parsed.encode())
    else:
        names, rebuild = REBUILD[instruction["program"], parsed["type"]]
        accounts = [parsed["info"][name] for name in names]
        data = b58encode(rebuild(parsed["info"]))
    return {
        "programIdIndex": keys.index(instruction["programId"]),
        "accounts": [keys.index(account) for account in accounts],
        "data": data,
        "stackHeight": instruction["stackHeight"],
    }


def as_json_encoded(answer: Entry) -> Entry:
    """The transaction as the node would have written it in encoding json."""
    message, meta = answer["transaction"]["message"], answer["meta"]
    shown = message["accountKeys"]
    static = [each for each in shown if each["source"] == "transaction"]
    loaded = [each for each in shown if each["source"] == "lookupTable"]
    keys = [each["pubkey"] for each in shown]
    signers = [each for each in static if each["signer"]]
    others = static[len(signers) :]
    last_writable = max((i for i, each in enumerate(others) if each["writable"]), default=-1)
    raw_message = {
        "accountKeys": [each["pubkey"] for each in static],
        "header": {
            "numRequiredSignatures": len(signers),
            "numReadonlySignedAccounts": sum(not each["writable"] for each in signers),
            "numReadonlyUnsignedAccounts": len(others) - last_writable - 1,
        },
        "instructions": [compiled(each, keys) for each in message["instructions"]],
        "recentBlockhash": message["recentBlockhash"],
    }
    if "addressTableLookups" in message:
        raw_message["addressTableLookups"] = message["addressTableLookups"]
    inner = [
        {
            "index": group["index"],
            "instructions": [compiled(each, keys) for each in group["instructions"]],
        }
        for group in meta["innerInstructions"]
    ]
    raw_meta = {
        **meta,
        "innerInstructions": inner,
        "loadedAddresses": {
            "writable": [each["pubkey"] for each in loaded if each["writable"]],
            "readonly": [each["pubkey"] for each in loaded if not each["writable"]],
        },
    }
    return {
        "transaction": {
            "message": raw_message,
            "signatures": answer["transaction"]["signatures"],
        },
        "meta": raw_meta,
        "version": answer["version"],
    }


@pytest.mark.parametrize("file", references())
def test_a_transaction_is_parsed_as_the_reference_node_parsed_it(rpc, db, tmp_path, file: Path):
    answer = json.loads(file.read_text())
    reference = answer.get("result", answer)
    slot, raw = reference["slot"], as_json_encoded(reference)
    block = {
        "blockhash": b58encode(bytes([1]) * 32),
        "previousBlockhash": b58encode(bytes([2]) * 32),
        "parentSlot": slot - 1,
        "blockTime": reference["blockTime"],
        "blockHeight": None,
        "transactions": [raw],
    }
    path = tmp_path / f"block-{slot}.json"
    path.write_text(json.dumps({"jsonrpc": "2.0", "id": 1, "result": block}))
    import_path(path)
    config = {"encoding": "jsonParsed", "maxSupportedTransactionVersion": 0}
    signature = reference["transaction"]["signatures"][0]
    served = rpc("/historical", "getTransaction", signature, config)["result"]
    assert served == {**reference, "transactionIndex": 0}
    config["encoding"] = "json"
    served = rpc("/historical", "getTransaction", signature, config)["result"]
    assert {name: served[name] for name in raw} == raw
