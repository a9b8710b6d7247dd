"""Calls of a node and of the service, answer beside answer."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from solders.transaction import VersionedTransaction

from chain.encodings import b64encode
from tests.clients.chain_endpoints import Question, answers_of_node, answers_of_service
from tests.clients.service import Service
from tests.localnet.wallets import encoded
from tests.localnet_process import Localnet
from tests.recorded_answers import difference

_ALL = {"maxSupportedTransactionVersion": 1}
BLOCK_FORMS: dict[str, dict[str, Any]] = {
    "json": _ALL | {"encoding": "json"},
    "base64": _ALL | {"encoding": "base64", "rewards": False},
    "jsonParsed": _ALL | {"encoding": "jsonParsed"},
    "base58": {"encoding": "base58", "maxSupportedTransactionVersion": 0},
    "accounts": _ALL | {"transactionDetails": "accounts"},
    "signatures": _ALL | {"transactionDetails": "signatures"},
    "none": _ALL | {"transactionDetails": "none"},
}
TRANSACTION_FORMS: dict[str, dict[str, Any]] = {
    each: _ALL | {"encoding": each} for each in ("json", "base64", "jsonParsed")
}
_A_BATCH = 20


def of_ledger(
    signatures: Sequence[str], slots: Sequence[int], keys: Sequence[str]
) -> list[Question]:
    """Calls of the ledger whose answers are those of a node, word for word."""
    first, last, searched = slots[0], slots[-1], {"searchTransactionHistory": True}
    asked: list[Question] = [("getBlock", slot, form) for slot in slots for form in _forms()]
    asked += [
        ("getTransaction", each, form) for each in signatures for form in TRANSACTION_FORMS.values()
    ]
    asked += [("getBlockTime", slot) for slot in slots]
    asked += [("getBlocks", first, last), ("getBlocksWithLimit", first, min(10, len(slots)))]
    asked += [
        ("getSignatureStatuses", list(signatures[at : at + 100]), searched)
        for at in range(0, len(signatures), 100)
    ]
    for key in keys:
        asked.append(("getSignaturesForAddress", key, {"limit": 1_000}))
        asked.append(
            ("getSignaturesForAddress", key, {"before": signatures[-1], "limit": 50}),
        )
    return asked


def _forms() -> list[dict[str, Any]]:
    return list(BLOCK_FORMS.values())


def of_node(keys: Sequence[str], sent: VersionedTransaction, slot: int) -> list[Question]:
    """Calls that `/` passes on or answers itself: each method of a node that reads, and sending
    what was sent. The slot is a new one.
    """
    transaction, message = encoded(sent), b64encode(bytes(sent.message))
    final, wire = {"commitment": "finalized"}, {"encoding": "base64"}
    owner, mint_program = keys[0], "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
    return [
        *(("getAccountInfo", key, final | {"encoding": "jsonParsed"}) for key in keys),
        *(("getBalance", key, final) for key in keys),
        ("getMultipleAccounts", list(keys), final | {"encoding": "base64+zstd"}),
        ("getProgramAccounts", "Vote111111111111111111111111111111111111111", final),
        ("getProgramAccounts", mint_program, final | {"filters": [{"dataSize": 82}]}),
        ("getTokenAccountsByOwner", owner, {"programId": mint_program}, final),
        ("getTokenAccountsByDelegate", owner, {"programId": mint_program}, final),
        ("getTokenSupply", keys[0]),
        ("getVoteAccounts",),
        ("getEpochInfo", final),
        ("getEpochSchedule",),
        ("getGenesisHash",),
        ("getHealth",),
        ("getIdentity",),
        ("getInflationGovernor",),
        ("getInflationRate",),
        ("getInflationReward", list(keys), {"epoch": 0}),
        ("getLeaderSchedule", slot),
        ("getSlotLeader", final),
        ("getSlotLeaders", slot, 5),
        ("getMinimumBalanceForRentExemption", 165),
        ("getRecentPerformanceSamples", 4),
        ("getRecentPrioritizationFees", [owner]),
        ("getSupply", final),
        ("getLargestAccounts",),
        ("getClusterNodes",),
        ("getStakeMinimumDelegation",),
        ("getVersion",),
        ("getLatestBlockhash", final),
        ("isBlockhashValid", "1" * 32, final),
        ("getFeeForMessage", message, final),
        ("simulateTransaction", transaction, wire | {"replaceRecentBlockhash": True}),
        ("sendTransaction", transaction, wire),
        ("sendTransaction", "not a transaction", wire),
        ("minimumLedgerSlot",),
        ("getFirstAvailableBlock",),
        ("getHighestSnapshotSlot",),
        ("getBlockProduction", final),
        ("getBlockHeight", final),
        ("getTransactionCount", final),
        ("getSlot", final),
        ("getMaxRetransmitSlot",),
        ("getMaxShredInsertSlot",),
        ("getAccountInfo", "no key"),
        ("getBlock", 1 << 40),
        ("getNothing",),
    ]


def unequal(node: Localnet, service: Service, path: str, asked: Sequence[Question]) -> list[str]:
    """The calls whose answers differ in any value."""
    return [
        f"{_name(question)}: {why}"
        for question, theirs, ours in _answers(node, service, path, asked)
        if (why := _place(_lasting(theirs), _lasting(ours)))
    ]


def unlike(node: Localnet, service: Service, path: str, asked: Sequence[Question]) -> list[str]:
    """The calls whose answers differ in code, text or shape: their values are of the moment."""
    return [
        f"{_name(question)}: {why}"
        for question, theirs, ours in _answers(node, service, path, asked)
        if (why := difference(theirs, ours))
    ]


def _lasting(answer: dict[str, Any]) -> Any:
    """Without the newest slot; and without an error's data, which say more with us."""
    if "error" in answer:
        return answer["error"]["code"], answer["error"]["message"]
    result = answer["result"]
    return result["value"] if isinstance(result, dict) and "context" in result else result


def _answers(
    node: Localnet, service: Service, path: str, asked: Sequence[Question]
) -> Iterator[tuple[Question, Any, Any]]:
    ours = answers_of_service(service, path, asked, batch=_A_BATCH)
    return zip(asked, answers_of_node(node, asked, batch=_A_BATCH), ours, strict=True)


def _name(question: Question) -> str:
    return json.dumps(question)[:160]


def _place(theirs: Any, ours: Any, at: str = "") -> str:
    """Where the first difference is, and what is there."""
    if isinstance(theirs, dict) and isinstance(ours, dict) and theirs.keys() == ours.keys():
        found = (_place(theirs[name], ours[name], f"{at}.{name}") for name in theirs)
        return next(filter(None, found), "")
    if isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        pairs = enumerate(zip(theirs, ours, strict=True))
        found = (_place(*pair, f"{at}[{number}]") for number, pair in pairs)
        return next(filter(None, found), "")
    return "" if theirs == ours else f"{at}: {theirs!r:.200} is {ours!r:.200}"
