"""Reads, changes, simulations and bundles at the newest slots while streams lose and reorder and
processes are killed: every answer is right, refused, or marked incomplete.
"""

import base64
import json
import os
import random
import threading
import urllib.error
import urllib.request
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import Transaction

from tests.clients.service import Service, running_service
from tests.localnet_process import Localnet
from tests.soak.load import SOL, Load
from tests.soak.test_chaos import NO_FAULTS, SECONDS, localnet_of, storm

pytestmark = pytest.mark.soak

# As many as the claim is about, where the test runs its full time.
ANSWERS = 10_000
ASKERS = 3
_FEE = 5_000
_NEWEST = 40
FAULTS: list[dict[str, Any]] = [
    {"losePercent": 1, "duplicatePercent": 5, "reorderPercent": 5},
    {"losePercent": 100},
    {"losePercent": 20, "reorderPercent": 20},
    {"dropStreams": True, "replayLastWrites": True},
    {"losePercent": 2, "replayLastWrites": True},
    {"forkSlots": 3},
    {"skipSlots": 3},
    {"refuseStreams": True, "dropStreams": True},
]

# What was asked about an answer: kind, slot, accounts, and what else tells right from wrong.
Asked = tuple[str, int, list[str], Any]


@dataclass
class Asker(threading.Thread):
    """Asks until `stop`; what has no answer (a connection that ends, 429, 503) is left out."""

    service: Service
    localnet: Localnet
    payers: Sequence[Keypair]
    others: Sequence[Pubkey]
    seed: int
    answers: list[tuple[Asked, dict[str, Any]]] = field(default_factory=list)
    unanswered: int = 0

    def __post_init__(self) -> None:
        super().__init__(daemon=True)
        self._chance = random.Random(self.seed)
        self._stopping = threading.Event()

    def __hash__(self) -> int:
        return id(self)

    def stop(self) -> None:
        self._stopping.set()
        self.join()

    def run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._ask_some()
            except (OSError, ValueError, KeyError, AssertionError):
                self.unanswered += 1
                self._stopping.wait(0.2)

    def _ask_some(self) -> None:
        (coverage,) = self._post("/rewind", [("getRewindCoverage", {"includeGaps": False})])
        latest = coverage["result"]["latestSlot"]
        if latest is None:
            self._stopping.wait(0.2)
            return
        for path, made in (
            ("/rewind", [self._question(latest) for _ in range(12)]),
            ("/rewind", self._replays(latest)),
            ("/", [self._bundle(latest) for _ in range(2)]),
        ):
            if not made:
                continue
            found = self._post(path, [question for _, question in made])
            # A call that nothing of the service was there for has no answer.
            self.answers += [
                (asked, answer)
                for (asked, _), answer in zip(made, found, strict=True)
                if answer.get("error", {}).get("code") not in (-32603, -32005)
            ]

    def _slot(self, latest: int) -> int:
        return max(1, latest - self._chance.randrange(_NEWEST))

    def _question(self, latest: int) -> tuple[Asked, tuple[Any, ...]]:
        chance, slot = self._chance, self._slot(latest)
        keys = [str(each.pubkey()) for each in self.payers] + [str(each) for each in self.others]
        one, several = chance.choice(keys), chance.sample(keys, 4)
        place = {"slot": slot, "tolerateGaps": chance.random() < 0.5}
        kind = chance.choice(["info", "several", "diff", "changes", "simulation"])
        if kind == "info":
            return (kind, slot, [one], None), ("getAccountInfo", one, place)
        if kind == "several":
            return (kind, slot, several, None), ("getMultipleAccounts", several, place)
        first = max(1, slot - 15)
        if kind == "diff":
            config = {"slotA": first, "slotB": slot, "tolerateGaps": place["tolerateGaps"]}
            return (kind, slot, [one], first), ("getAccountDiff", one, config)
        if kind == "changes":
            config = {"fromSlot": first, "toSlot": slot, "limit": 1_000}
            return (kind, slot, [one], first), ("getAccountChanges", one, config)
        text, accounts = self._payment()
        wanted = {"encoding": "base64", "addresses": accounts}
        config = {**place, "accounts": wanted}
        return (kind, slot, accounts, None), ("simulateHistoricalTransaction", text, config)

    def _bundle(self, latest: int) -> tuple[Asked, tuple[Any, ...]]:
        slot = self._slot(latest)
        text, accounts = self._payment()
        config = {
            "slot": slot,
            "tolerateGaps": self._chance.random() < 0.5,
            "skipSigVerify": True,
            "replaceRecentBlockhash": True,
            "encodedTransactions": [text],
            "preExecutionAccountsConfigs": [{"addresses": accounts}],
        }
        return ("bundle", slot, accounts, None), ("simulateBundle", config)

    def _replays(self, latest: int) -> list[tuple[Asked, tuple[Any, ...]]]:
        """Transactions of a newest block, in their own place: they end as they did."""
        slot = self._slot(latest)
        config = {"encoding": "base64", "maxSupportedTransactionVersion": 0}
        try:
            block = self.localnet.call("getBlock", slot, {**config, "rewards": False})
        except AssertionError:  # a skipped slot
            return []
        return [
            (
                ("replay", slot, [], entry["meta"]),
                (
                    "simulateHistoricalTransaction",
                    entry["transaction"][0],
                    {"anchor": {"slot": slot, "transactionIndex": index}},
                ),
            )
            for index, entry in enumerate(block["transactions"][:2])
        ]

    def _payment(self) -> tuple[str, list[str]]:
        payer, target = self._chance.choice(self.payers), self._chance.choice(self.others)
        params = TransferParams(from_pubkey=payer.pubkey(), to_pubkey=target, lamports=SOL)
        recent = Hash(self._chance.randbytes(32))
        message = Message.new_with_blockhash([transfer(params)], payer.pubkey(), recent)
        text = base64.b64encode(bytes(Transaction([payer], message, recent))).decode()
        return text, [str(payer.pubkey()), str(target)]

    def _post(self, path: str, questions: Sequence[tuple[Any, ...]]) -> list[dict[str, Any]]:
        body = [
            {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            for number, (method, *params) in enumerate(questions)
        ]
        request = urllib.request.Request(
            self.service.base_url + path,
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Authorization": self.service.key},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                answers: list[dict[str, Any]] = json.load(response)
        except urllib.error.HTTPError as error:
            raise OSError(str(error)) from error
        assert len(answers) == len(questions)
        return answers


class Truth:
    """Every write to some accounts, as the chain itself tells it."""

    def __init__(self, localnet: Localnet, last: int, accounts: set[str]) -> None:
        self.writes: dict[str, list[tuple[int, int]]] = {each: [] for each in accounts}
        for slot in localnet.call("getBlocks", 0, last, {"commitment": "finalized"}):
            for write in localnet.call("getAccountWrites", slot):
                if write["pubkey"] in accounts:
                    self.writes[write["pubkey"]].append((slot, write["lamports"]))

    def lamports(self, account: str, slot: int) -> int:
        """At the slot's end; 0 where there was no account."""
        writes = self.writes[account]
        count = bisect_right(writes, slot, key=lambda write: write[0])
        return writes[count - 1][1] if count else 0

    def is_right(self, asked: Asked, result: dict[str, Any]) -> bool:
        kind, slot, accounts, more = asked
        value = result.get("value")
        had = [self.lamports(account, slot) for account in accounts]
        match kind:
            case "info":
                return [_lamports(value)] == had
            case "several":
                return [_lamports(each) for each in value or ()] == had
            case "diff":
                before = self.lamports(accounts[0], more)
                return value is not None and (
                    [_lamports(value["a"]), _lamports(value["b"])] == [before, *had]
                )
            case "changes":
                made = [each for each in self.writes[accounts[0]] if more <= each[0] <= slot]
                found = [(each["slot"], each["lamports"]) for each in (value or {})["changes"]]
                return found == made[::-1]
            case "bundle":
                return [_lamports(each) for each in result["preExecutionAccounts"]] == had
            case "replay":
                assert value is not None
                return bool(
                    value["err"] == more["err"]
                    and value["unitsConsumed"] == more["computeUnitsConsumed"]
                    and value["logs"] == more["logMessages"]
                )
        assert value is not None
        payer, target = had
        if payer < SOL + _FEE:
            return value["err"] is not None
        after = [_lamports(each) for each in value["accounts"]]
        return value["err"] is None and after == [payer - SOL - _FEE, target + SOL]


def _lamports(account: dict[str, Any] | None) -> int:
    return 0 if account is None else int(account["lamports"])


def test_no_answer_is_wrong_and_says_nothing() -> None:
    chance = random.Random(int(os.environ.get("SOAK_SEED", "7")))
    settings = {"LOCALNET": "true", "LOCALNET_SLOT_MS": "100", "LOCALNET_SKIP_PERCENT": "5"}
    with running_service(**settings) as service:
        localnet = localnet_of(service)
        load = Load(localnet, pause_seconds=0.03)
        load.start()
        askers = [
            Asker(service, localnet, load.payers, load.others, chance.randrange(2**32))
            for _ in range(ASKERS)
        ]
        for asker in askers:
            asker.start()
        kills = storm(service, localnet, chance, FAULTS)
        for asker in askers:
            asker.stop()
        load.stop()
        localnet.call("setFaults", NO_FAULTS)
        answers = [each for asker in askers for each in asker.answers]
        last = max(slot for (_, slot, _, _), _ in answers)
        accounts = {account for (_, _, named, _), _ in answers for account in named}
        truth = Truth(localnet, last, accounts)
    counts: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    silent = []
    for asked, answer in answers:
        kinds[asked[0]] += 1
        if "error" in answer:
            counts["refused"] += 1
            continue
        status = answer["result"]["context"]["completeness"]["status"]
        if status == "incomplete":
            counts["incomplete"] += 1
            value = answer["result"].get("value")
            assert not isinstance(value, dict) or value.get("fidelity") != "verified"
            counts["wrong and marked"] += not truth.is_right(asked, answer["result"])
        elif truth.is_right(asked, answer["result"]):
            counts["right"] += 1
        else:
            silent.append((asked, answer))
    unanswered = sum(asker.unanswered for asker in askers)
    print(
        f"\n{SECONDS:.0f} s, kills {dict(kills)}, {len(answers)} answers {dict(kinds)}:"
        f" {dict(counts)}, {len(silent)} silent; {unanswered} batches without an answer"
    )
    assert not silent, (len(silent), silent[:3])
    assert min(counts[each] for each in ("right", "refused", "wrong and marked")) > 0, counts
    if SECONDS >= 300:
        assert len(answers) >= ANSWERS
