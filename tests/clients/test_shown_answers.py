"""The reference against the running service: every example is sent, and every answer, also to many
other questions about a chain of mixed transactions, has the fields that are told of and no other.

With RECORD_EXAMPLES=1 what the examples were answered is kept for the pages.
"""

import base64
import json
import os
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import pytest
from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

from reference.examples import EXAMPLES, GET_EXAMPLES, RECORDED, filled
from tests.clients.chain_endpoints import (
    Question,
    answers_of_service,
    fetched,
    of_service,
    until,
)
from tests.clients.mixed_history import VERSION_0, History
from tests.clients.service import ROOT, Service
from tests.reference.conforming import Conforming
from tests.reference.method_samples import method_samples

pytestmark = pytest.mark.soak

# What the examples write: they come first, and the others ask about it.
SENDING = [
    ("/priority", "sendTransaction"),
    ("/bundle", "sendBundle"),
    ("/bundle/bundles", "sendBundle"),
    ("/bundle/transactions", "sendTransaction"),
    ("/rewind", "submitSimulationJob"),
]
# The stream does not end, health is a word of text, and metrics ask for a token of their own.
PLAIN_GETS = {
    path: example
    for path, example in GET_EXAMPLES.items()
    if path not in ("/priority/fates/stream", "/health", "/metrics")
}

# Fields of what this chain does not do, or only now and then; other tests make them come.
RARE = {
    "AccountContext.gap",
    "AccountContext.idl",
    "AccountContext.proof",
    "AddressSignature.outcome",
    "Block.numRewardPartitions",
    "BundleContext.missingRules",
    "DiffContext.gap",
    "DiffContext.proof",
    "FlatAccount.dataOmitted",
    "JobResult.error",
    "ProofRange.restsOn",
    "ProofRange.restsOnSlot",
    "ProvenSlot.accountsLatticeHash",
    "ProvenSlot.chain",
    "RewindContext.gap",
    "RewindContext.proof",
    "RewindContext.reason",
    "SeveralContext.gap",
    "SeveralContext.idl",
    "SeveralContext.proof",
    "ShownAccount.dataOmitted",
    "SimulationContext.gap",
    "SimulationContext.missingRules",
    "SimulationContext.proof",
    "TransactionMeta.returnData",
}


class Reference:
    """The documents of a running service."""

    def __init__(self, service: Service) -> None:
        self.rpc = fetched(service, "/openrpc.json")
        self.plain = fetched(service, "/openapi.json")
        self.answers = Conforming(self.rpc["components"]["schemas"])
        self.plain_answers = Conforming(self.plain["components"]["schemas"])

    def faults(self, path: str, method: str, result: Any) -> list[str]:
        for told in self.rpc["methods"]:
            for each in [told, *told.get("x-also", [])]:
                if each["name"] == method and path in each["x-paths"]:
                    return self.answers.faults(result, each["result"]["schema"])
        raise AssertionError(f"{method} on {path} is not in the reference")

    def get_faults(self, path: str, answer: Any) -> list[str]:
        content = self.plain["paths"][path]["get"]["responses"]["200"]["content"]
        return self.plain_answers.faults(answer, content["application/json"]["schema"])


@pytest.fixture(scope="module")
def reference(history: History) -> Reference:
    return Reference(history.service)


@pytest.fixture(scope="module")
def payer(history: History) -> Keypair:
    made = Keypair()
    (airdrop,) = of_service(history.service, "/", [("requestAirdrop", str(made.pubkey()), 10**10)])

    def is_there() -> bool:
        (found,) = of_service(history.service, "/", [("getSignatureStatuses", [airdrop])])
        return bool(found["value"][0] and found["value"][0]["confirmationStatus"] != "processed")

    until(is_there, "the payer funded")
    return made


@pytest.fixture(scope="module")
def values() -> dict[str, Any]:
    """Something for each word of the examples, from `answers`: what was sent has landed, and is
    archived.
    """
    return {}


def to_send(service: Service, payer: Keypair) -> dict[str, Any]:
    """Transactions on a blockhash of now, and the names of what comes of them."""
    (tip,) = of_service(service, "/bundle", [("getTipAccounts",)])
    (latest,) = of_service(service, "/", [("getLatestBlockhash", {"commitment": "confirmed"})])
    blockhash = Hash.from_string(latest["value"]["blockhash"])

    def signed(lamports: int, *, tips: bool = True) -> tuple[str, str]:
        to = [(Pubkey.from_string(tip[0]), 1_000_000)] if tips else []
        instructions: list[Instruction] = [
            transfer(TransferParams(from_pubkey=payer.pubkey(), to_pubkey=key, lamports=amount))
            for key, amount in [(Keypair().pubkey(), lamports), *to]
        ]
        message = MessageV0.try_compile(payer.pubkey(), instructions, [], blockhash)
        transaction = VersionedTransaction(message, [payer])
        return base64.b64encode(bytes(transaction)).decode(), str(transaction.signatures[0])

    texts = {
        "signed": signed(2_000_001),
        "signed_plain": signed(2_000_002),
        "signed_alone": signed(2_000_003),
        "signed_first": signed(2_000_004),
        "signed_second": signed(2_000_005, tips=False),
    }
    submitted = texts["signed"][1]
    bundle = [texts["signed_first"][1], texts["signed_second"][1]]
    return {
        **{name: text for name, (text, _) in texts.items()},
        "submitted": submitted,
        "bundle_id": sha256(",".join(bundle).encode()).hexdigest(),
        "tip_address": tip[0],
    }


@pytest.fixture(scope="module")
def answers(history: History, values: dict[str, Any], payer: Keypair) -> dict[tuple[str, str], Any]:
    """What each example was answered."""
    service = history.service

    def asked(path: str, method: str) -> Any:
        params = filled(EXAMPLES[path, method], values)
        (answer,) = of_service(service, path, [(method, *params)])
        return answer

    def fates() -> list[Any]:
        names = (f"priority/fate/{values['submitted']}", f"bundle/fate/{values['bundle_id']}")
        found = [fetched(service, f"/{name}") for name in names]
        return found if all(each["final"] for each in found) else []

    def sent() -> tuple[dict[tuple[str, str], Any], int] | None:
        """The answers, and the slot in which the example landed."""
        values.update(to_send(service, payer))
        found = {}
        for path, method in SENDING[:4]:
            question = (method, *filled(EXAMPLES[path, method], values))
            (answer,) = answers_of_service(service, path, [question])
            if answer.get("error", {}).get("data", {}).get("reason") == "blockhash_expired":
                return None
            found[path, method] = answer["result"]
        of_one, of_bundle = until(fates, "the examples final")
        both_landed = {of_one["state"], of_bundle["state"]} == {"landed"}
        return (found, of_one["slot"]) if both_landed else None

    # On a busy machine a blockhash may be over before all of them are sent.
    taken = until(sent, "the examples landed")
    assert taken is not None
    found, slot = taken

    def archived() -> bool:
        (coverage,) = of_service(service, "/rewind", [("getRewindCoverage",)])
        (newest,) = of_service(service, "/historical", [("getSlot",)])
        return bool(coverage["latestSlot"] >= slot and newest >= slot)

    until(archived, "the example archived")

    def has_bank() -> bool:
        (coverage,) = of_service(service, "/rewind", [("getRewindCoverage",)])
        return any(run["fromSlot"] <= slot <= run["toSlot"] for run in coverage["proof"])

    until(has_bank, "the bank of the example computed")
    (stored,) = of_service(
        service,
        "/historical",
        [("getTransaction", values["submitted"], {"encoding": "base64", **VERSION_0})],
    )
    values.update(
        signature=values["submitted"],
        slot=slot,
        earlier_slot=slot - 20,
        address=str(payer.pubkey()),
        transaction=stored["transaction"][0],
    )
    job = asked(*SENDING[4])
    found[SENDING[4]] = job
    values["job_id"] = job["jobId"]

    def done() -> bool:
        (told,) = of_service(service, "/rewind", [("getSimulationJob", job["jobId"])])
        return bool(told["state"] == "done")

    until(done, "the job done")
    return found | {door: asked(*door) for door in EXAMPLES if door not in found}


def test_every_example_is_answered_as_documented(
    reference: Reference, answers: dict[tuple[str, str], Any], values: dict[str, Any]
) -> None:
    for (path, method), answer in answers.items():
        assert not reference.faults(path, method, answer), (path, method)
    if os.environ.get("RECORD_EXAMPLES") == "1":
        kept = {
            f"{path} {method}": answer
            for (path, method), answer in answers.items()
            if method != "rpc.discover"
        }
        text = json.dumps({"values": values, "answers": kept}, indent=1, ensure_ascii=False)
        RECORDED.write_text(text + "\n", encoding="utf-8")


def test_every_python_sample_of_a_method_runs(
    history: History,
    answers: dict[tuple[str, str], Any],
    values: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("KEY", history.service.key)
    monkeypatch.syspath_prepend(str(ROOT / "clients/python/src"))
    for text in method_samples("python", history.service.base_url, values):
        exec(compile(text, text, "exec"), {})
        assert capsys.readouterr().out.strip(), text


def test_what_is_recorded_is_what_is_documented(reference: Reference) -> None:
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    expected = {f"{path} {method}" for path, method in EXAMPLES if method != "rpc.discover"}
    assert recorded["answers"].keys() == expected, (
        f"recorded.json is not of these examples: RECORD_EXAMPLES=1 .venv/bin/pytest {__file__}"
    )
    for door, answer in recorded["answers"].items():
        path, method = door.split()
        assert not reference.faults(path, method, answer), door
    words = set(filter(None, map(_word, _leaves(list(EXAMPLES.values())))))
    assert words <= recorded["values"].keys()


def test_every_plain_get_is_answered_as_documented(
    history: History,
    reference: Reference,
    answers: dict[tuple[str, str], Any],
    values: dict[str, Any],
) -> None:
    told = {
        path
        for path, item in reference.plain["paths"].items()
        if not path.startswith("/manage/")
        and "application/json" in item["get"]["responses"]["200"]["content"]
    }
    assert told == PLAIN_GETS.keys()
    for path, asked in PLAIN_GETS.items():
        answer = fetched(history.service, asked.format(**values))
        assert not reference.get_faults(path, answer), path
    for path in ("/priority/fetchtipaddress", "/whoami", "/priority/tipinfo"):
        assert not reference.get_faults(path, fetched(history.service, path, "")), path
    unknown = fetched(history.service, f"/priority/tipaddress/{Pubkey.new_unique()}")
    assert not reference.get_faults("/priority/tipaddress/{pubkey}", unknown)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _leaves(each)
    else:
        yield value


def _word(leaf: Any) -> str:
    return leaf[1:-1] if isinstance(leaf, str) and leaf[:1] == "{" else ""


def ledger_questions(history: History) -> Iterator[Question]:
    slots, wallets = list(history.blocks), list(map(str, history.wallets))
    for slot in slots[::10]:
        for details in ("full", "accounts", "signatures", "none"):
            for encoding in ("json", "jsonParsed", "base64") if details == "full" else ("json",):
                config = {"transactionDetails": details, "encoding": encoding, **VERSION_0}
                yield "getBlock", slot, config
        yield "getBlockTime", slot
    for signature in history.signatures[::20]:
        for encoding in ("json", "jsonParsed", "base64"):
            yield "getTransaction", signature, {"encoding": encoding, **VERSION_0}
        yield "explainTransaction", signature
    yield "getSignatureStatuses", [*history.signatures[:200], str(history.lost[0].signature)]
    for wallet in wallets:
        yield "getSignaturesForAddress", wallet
        yield "getTransactionsForAddress", wallet, {"limit": 50}
        full = {"transactionDetails": "full", "limit": 20, **VERSION_0}
        yield "getTransactionsForAddress", wallet, full


def archive_questions(history: History) -> Iterator[Question]:
    touched = sorted(
        {
            key
            for block in history.blocks.values()
            for entry in block["transactions"]
            for key in [
                *entry["transaction"]["message"]["accountKeys"],
                *entry["meta"]["loadedAddresses"]["writable"],
            ]
        }
    )
    first, last = history.first, history.last
    middle = (first + last) // 2
    for key in touched[::15]:
        yield "getAccountInfo", key, {"slot": last, "encoding": "jsonParsed"}
        yield "getAccountInfo", key, {"slot": middle}
        yield "getAccountDiff", key, {"slotA": middle, "slotB": last}
        window = {"fromSlot": middle, "toSlot": last, "limit": 5}
        yield "getAccountChanges", key, window
        yield "getAccountChanges", key, {**window, "includeData": True, "encoding": "base64+zstd"}
    yield "getMultipleAccounts", touched[:100], {"slot": last, "encoding": "base64+zstd"}
    yield "getRewindCoverage", {"includeGaps": False}


def test_answers_about_mixed_transactions_are_as_documented(
    history: History, reference: Reference
) -> None:
    for path, questions in (
        ("/historical", list(ledger_questions(history))),
        ("/rewind", list(archive_questions(history))),
    ):
        assert len(questions) > 100
        for question, answer in zip(
            questions, of_service(history.service, path, questions), strict=True
        ):
            assert not reference.faults(path, question[0], answer), question


def test_simulations_of_mixed_transactions_are_as_documented(
    history: History, reference: Reference
) -> None:
    chosen = history.taken[::40]
    texts = of_service(
        history.service,
        "/historical",
        [
            ("getTransaction", each.signature, {"encoding": "base64", **VERSION_0})
            for each in chosen
        ],
    )
    for planned, stored in zip(chosen, texts, strict=True):
        text = stored["transaction"][0]
        before = {"anchor": {"signature": planned.signature}}
        keys = [str(key) for key in planned.transaction.message.account_keys][:3]
        shown = {"accounts": {"encoding": "base64", "addresses": keys}, "innerInstructions": True}
        question = ("simulateHistoricalTransaction", text, {**before, **shown})
        (answer,) = of_service(history.service, "/rewind", [question])
        assert not reference.faults("/rewind", question[0], answer), planned.kind
        bundle = {"encodedTransactions": [text], "skipSigVerify": True, **before}
        accounts = [{"addresses": keys, "encoding": "jsonParsed"}]
        nested = {
            "preExecutionAccountsConfigs": accounts,
            "postExecutionAccountsConfigs": accounts,
        }
        for params in ([bundle], [{**bundle, **nested}], [bundle, nested]):
            (answer,) = of_service(history.service, "/", [("simulateBundle", *params)])
            assert not reference.faults("/", "simulateBundle", answer), (planned.kind, params)


def test_what_is_documented_was_seen(
    history: History, reference: Reference, answers: dict[tuple[str, str], Any]
) -> None:
    """After all these answers: a field that never came would be an invention."""
    never = reference.answers.never_seen()
    assert never <= RARE, never - RARE
