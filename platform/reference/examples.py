"""One example request for each method, with a recorded response.

Placeholders in braces stand for values of the chain: a signature, a slot. The tests fill them in,
send every request and record the responses in recorded.json (tests/clients/test_shown_answers.py).
"""

from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from chain.addresses import TOKEN
from jsonrpc.methods import Method
from jsonrpc.wire import to_camel

RECORDED = Path(__file__).parent / "recorded.json"

# Placeholders that any chain has values for; the others stand for what the reader sends.
_OF_A_CHAIN = ("signature", "slot", "earlier_slot", "address", "transaction")

_VERSIONS = {"maxSupportedTransactionVersion": 1}
_AT = {"slot": "{slot}"}
_BEFORE = {"anchor": {"signature": "{signature}", "position": "before"}}
_WRITTEN = {"encoding": "base64"}

EXAMPLES: dict[tuple[str, str], list[Any]] = {
    ("/", "simulateBundle"): [
        {
            "encodedTransactions": ["{transaction}"],
            "skipSigVerify": True,
            "replaceRecentBlockhash": True,
        }
    ],
    ("/", "getHealth"): [],
    ("/", "rpc.discover"): [],
    ("/", "whoami"): [],
    ("/priority", "sendTransaction"): [
        "{signed}",
        {"encoding": "base64", "skipPreflight": True, "maxRetries": 0},
    ],
    ("/priority", "getTransactionFate"): ["{submitted}"],
    ("/priority", "getTransactionFates"): [["{submitted}", "{signature}"]],
    ("/priority", "getHealth"): [],
    ("/bundle", "sendBundle"): [["{signed_first}", "{signed_second}"], _WRITTEN],
    ("/bundle", "getBundleFate"): ["{bundle_id}"],
    ("/bundle", "getBundleStatuses"): [["{bundle_id}"]],
    ("/bundle", "getInflightBundleStatuses"): [["{bundle_id}"]],
    ("/bundle", "getTipAccounts"): [],
    ("/bundle/bundles", "sendBundle"): [["{signed_alone}"], _WRITTEN],
    ("/bundle/transactions", "sendTransaction"): ["{signed_plain}", _WRITTEN],
    ("/historical", "getTransaction"): ["{signature}", _VERSIONS],
    ("/historical", "explainTransaction"): ["{signature}"],
    ("/historical", "getSignatureStatuses"): [["{signature}"]],
    ("/historical", "getBlock"): [
        "{slot}",
        {**_VERSIONS, "transactionDetails": "signatures", "rewards": False},
    ],
    ("/historical", "getBlocks"): ["{earlier_slot}", "{slot}"],
    ("/historical", "getBlocksWithLimit"): ["{earlier_slot}", 3],
    ("/historical", "getSignaturesForAddress"): ["{address}", {"limit": 2}],
    ("/historical", "getTransactionsForAddress"): [
        "{address}",
        {"limit": 2, "sortOrder": "asc", "filters": {"status": "success"}},
    ],
    ("/historical", "getSlot"): [],
    ("/historical", "getBlockTime"): ["{slot}"],
    ("/historical", "getFirstAvailableBlock"): [],
    ("/historical", "getLedgerCoverage"): [],
    ("/rewind", "getAccountInfo"): ["{address}", {**_BEFORE, **_WRITTEN}],
    ("/rewind", "getMultipleAccounts"): [["{address}"], {**_AT, **_WRITTEN}],
    ("/rewind", "getAccountDiff"): [
        "{address}",
        {
            "anchorA": {"signature": "{signature}", "position": "before"},
            "anchorB": {"signature": "{signature}", "position": "after"},
        },
    ],
    ("/rewind", "getAccountChanges"): [
        "{address}",
        {"fromSlot": "{earlier_slot}", "toSlot": "{slot}", "limit": 2},
    ],
    ("/rewind", "getSlotProof"): ["{slot}", {"includeLattice": False}],
    ("/rewind", "getRewindCoverage"): [{"includeGaps": True, "maxGaps": 10}],
    ("/rewind", "simulateHistoricalTransaction"): ["{transaction}", _BEFORE],
    ("/rewind", "submitSimulationJob"): [{"signatures": ["{signature}"]}],
    ("/rewind", "getSimulationJob"): ["{job_id}"],
    ("/rewind", "getSimulationJobResults"): ["{job_id}", {"limit": 1}],
    ("/rewind", "cancelSimulationJob"): ["{job_id}"],
}

_TOKENS = {"programId": str(TOKEN)}
_PARSED = {"encoding": "jsonParsed"}
# Of the standard node's methods that are passed on, those with params; they are not recorded.
NODE_EXAMPLES: dict[str, list[Any]] = {
    "getAccountInfo": ["{address}", _WRITTEN],
    "getBalance": ["{address}"],
    "getBlock": EXAMPLES["/historical", "getBlock"],
    "getBlockCommitment": ["{slot}"],
    "getBlocks": ["{earlier_slot}", "{slot}"],
    "getBlocksWithLimit": ["{earlier_slot}", 3],
    "getBlockTime": ["{slot}"],
    "getFeeForMessage": ["{message}"],
    "getInflationReward": [["{address}"]],
    "getMinimumBalanceForRentExemption": [165],
    "getMultipleAccounts": [["{address}"], _WRITTEN],
    "getProgramAccounts": ["{program}", {**_WRITTEN, "filters": [{"dataSize": 165}]}],
    "getRecentPrioritizationFees": [["{address}"]],
    "getSignaturesForAddress": ["{address}", {"limit": 2}],
    "getSignatureStatuses": [["{signature}"]],
    "getSlotLeaders": ["{slot}", 4],
    "getTokenAccountBalance": ["{token_account}"],
    "getTokenAccountsByDelegate": ["{address}", _TOKENS, _PARSED],
    "getTokenAccountsByOwner": ["{address}", _TOKENS, _PARSED],
    "getTokenLargestAccounts": ["{mint}"],
    "getTokenSupply": ["{mint}"],
    "getTransaction": ["{signature}", _VERSIONS],
    "isBlockhashValid": ["{blockhash}"],
    "requestAirdrop": ["{address}", 1_000_000_000],
    "sendTransaction": ["{signed}", _WRITTEN],
    "simulateTransaction": ["{transaction}", {**_WRITTEN, "replaceRecentBlockhash": True}],
}

# Each plain GET's path with an example request.
GET_EXAMPLES = {
    "/health": "/health",
    "/priority/ping": "/priority/ping",
    "/priority/fate/{signature}": "/priority/fate/{submitted}",
    "/priority/fates": "/priority/fates?limit=5",
    "/priority/fates/stream": "/priority/fates/stream",
    "/priority/tipfloor": "/priority/tipfloor?window=300",
    "/bundle/fate/{bundle_id}": "/bundle/fate/{bundle_id}",
    "/priority/tipinfo": "/priority/tipinfo",
    "/priority/fetchtipaddress": "/priority/fetchtipaddress?count=2",
    "/priority/tipaddress/{pubkey}": "/priority/tipaddress/{tip_address}",
    "/healthz": "/healthz",
    "/readyz": "/readyz",
    "/whoami": "/whoami",
    "/metrics": "/metrics",
}


def filled(template: Any, values: dict[str, Any]) -> Any:
    """The template with its placeholders replaced; one without a value is left unchanged."""
    if isinstance(template, str) and template[:1] == "{":
        return values.get(template[1:-1], template)
    if isinstance(template, list):
        return [filled(each, values) for each in template]
    if isinstance(template, dict):
        return {name: filled(each, values) for name, each in template.items()}
    return template


@cache
def recorded() -> dict[str, Any]:
    """`values` of the placeholders, and `answers` by path and method."""
    found: dict[str, Any] = msgspec.json.decode(RECORDED.read_bytes())
    return found


def params_of(path: str, method: str) -> list[Any] | None:
    """An example's params with the values of the recorded response."""
    template = EXAMPLES.get((path, method))
    made: list[Any] | None = filled(template, recorded()["values"])
    return made


def request_of(path: str, method: str, values: dict[str, Any]) -> list[Any]:
    """An example's params to edit and send: with these values of this chain, else with the recorded
    ones; placeholders for the reader's own values are kept. A path below another one has that one's
    examples where it has none of its own.
    """
    found = recorded()["values"]
    chains = {name: found[name] for name in _OF_A_CHAIN if name in found}
    passed_on = NODE_EXAMPLES.get(method, []) if path == "/" else []
    above = EXAMPLES.get((path.rpartition("/")[0], method), passed_on)
    made: list[Any] = filled(EXAMPLES.get((path, method), above), {**chains, **values})
    return made


def answer_of(path: str, method: str) -> Any:
    """The recorded response to an example; None if there is none."""
    return recorded()["answers"].get(f"{path} {method}")


def pairing(path: str, method: Method) -> list[dict[str, Any]]:
    """The example as an OpenRPC example pairing."""
    params = params_of(path, method.name)
    if params is None:
        return []
    names = method.params.names[: len(params)]
    named = [
        {"name": to_camel(name), "value": value} for name, value in zip(names, params, strict=True)
    ]
    result = {"name": "result", "value": answer_of(path, method.name)}
    return [{"name": f"{method.name} on {path}", "params": named, "result": result}]
