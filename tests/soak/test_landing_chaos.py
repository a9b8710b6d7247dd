"""Five hundred submissions a second while every process is killed at random: all get a fate."""

import contextlib
import itertools
import json
import os
import random
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pytest
from solders.hash import Hash
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from tests.clients.service import Service, running_service
from tests.localnet_process import Localnet
from tests.soak import test_chaos
from tests.soak.submitting import Answered, Sender
from tests.soak.test_chaos import kill, localnet_of, rows

pytestmark = pytest.mark.soak

SECONDS = float(os.environ.get("SOAK_SECONDS", "120"))
PER_SECOND = float(os.environ.get("SOAK_RATE", "500"))
SENDERS = 4
SETTLE_SECONDS = 240.0
SOL = 1_000_000_000
VICTIMS = {"lander": "manage.py land ", **test_chaos.VICTIMS}
T = TypeVar("T")


def test_every_accepted_signature_has_a_fate_whatever_is_killed() -> None:
    chance = random.Random(int(os.environ.get("SOAK_SEED", "7")))
    settings = {"LOCALNET": "true", "LOCALNET_SLOT_MS": "200", "WEB_WORKERS": "2"}
    with running_service(**settings) as service:
        localnet = localnet_of(service)
        localnet.call("setFaults", {"replaySlots": 100_000})
        rows(service, "UPDATE access_tier SET requests_per_second = NULL WHERE name = 'epic'")
        addresses = TipAddresses(service)
        blockhash = fresh(lambda: Hash.from_string(newest_blockhash(localnet)), seconds=1.0)
        answered = Answered()
        senders = [
            Sender(
                service,
                funded(localnet),
                addresses.next,
                blockhash,
                answered,
                per_second=PER_SECOND / SENDERS,
                seed=seed,
            )
            for seed in range(SENDERS)
        ]
        began = time.monotonic()
        for sender in senders:
            sender.start()
        kills = storm(service, addresses, chance)
        for sender in senders:
            sender.stop()
        spent = time.monotonic() - began
        fates, settled = all_fates(service, list(answered.accepted))
        states = Counter(fate["state"] for fate in fates.values())
        print(
            f"\n{spent:.0f} s, kills {dict(kills)}; {len(answered.accepted)} accepted"
            f" ({len(answered.accepted) / spent:.0f}/s, {answered.repeated} asked twice),"
            f" fates {dict(states)} after {settled:.1f} s; refused {dict(answered.refused)},"
            f" {answered.unanswered} without an answer and sent again"
        )
        missed = Counter(
            (fate["state"], (fate["reason"] or "").partition(":")[0], fate["tries"])
            for signature, fate in fates.items()
            if answered.accepted[signature] != fate["state"]
        )
        print(f"not as meant: {missed.most_common(12)}")
        assert states.total() == len(answered.accepted)
        assert set(states) <= {"landed", "failed", "expired", "refused"}
        compare(localnet, fates, answered.accepted)
        check_tips(service, localnet)
        assert sum(kills.values()) >= SECONDS / 8


class TipAddresses:
    """Tip addresses, the static one among them, fetched anew now and then."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._lock = threading.Lock()
        self._chance = random.Random(3)
        self._found: list[Pubkey] = []
        self.fetch()

    def fetch(self) -> None:
        answer = get(self._service, "/priority/fetchtipaddress?ttl=3600&count=16")
        with self._lock:
            self._found = [*map(Pubkey.from_string, answer["addresses"]), *self._found[:100]]

    def next(self) -> Pubkey:
        with self._lock:
            return self._chance.choice(self._found)


def storm(service: Service, addresses: TipAddresses, chance: random.Random) -> Counter[str]:
    """Kills in turn, the lander twice as often, until the time is over."""
    kills: Counter[str] = Counter()
    end = time.monotonic() + SECONDS
    for victim in itertools.cycle([*VICTIMS, "lander"]):
        time.sleep(chance.uniform(2.0, 6.0))
        if time.monotonic() >= end:
            assert kills.keys() == VICTIMS.keys(), kills
            return kills
        if kill(service.run_dir, VICTIMS[victim], chance):
            kills[victim] += 1
        with contextlib.suppress(OSError, ValueError):
            addresses.fetch()
    return kills


def all_fates(service: Service, signatures: Sequence[str]) -> tuple[dict[str, Any], float]:
    """Every signature's fate, once all are final; how long that took."""
    began = time.monotonic()
    left, fates = list(signatures), {}
    while left:
        for start in range(0, len(left), 256):
            asked = left[start : start + 256]
            for fate in call(service, "/priority", "getTransactionFates", asked):
                fates[fate["signature"]] = fate
        left = [each for each in signatures if not fates.get(each, {}).get("final")]
        states = Counter(fates[each]["state"] if each in fates else "none" for each in left)
        spent = time.monotonic() - began
        assert spent < SETTLE_SECONDS, f"{len(left)} have no fate: {states}, as {left[:3]}"
        time.sleep(1.0 if left else 0.0)
    return fates, time.monotonic() - began


def compare(localnet: Localnet, fates: dict[str, Any], meant: dict[str, str]) -> None:
    """Every fate against the chain's own word, and against what its sender meant."""
    wrong = []
    signatures = list(fates)
    for start in range(0, len(signatures), 256):
        asked = signatures[start : start + 256]
        options = {"searchTransactionHistory": True}
        answer = localnet.call("getSignatureStatuses", asked, options)
        for signature, status in zip(asked, answer["value"], strict=True):
            fate = fates[signature]
            if status is None:
                right = fate["state"] in ("expired", "refused") and fate["slot"] is None
            else:
                state = "landed" if status["err"] is None else "failed"
                right = (fate["state"], fate["slot"]) == (state, status["slot"])
                right = right and fate["err"] == status["err"] and state == meant[signature]
            if not right:
                wrong.append((signature, meant[signature], fate, status))
    assert not wrong, f"{len(wrong)} wrong, as {wrong[:3]}"


def check_tips(service: Service, localnet: Localnet) -> None:
    """The ledger of tips is what the accounts hold, as soon as it has caught up."""
    deadline = time.monotonic() + 60
    while True:
        booked = {
            str(Pubkey(bytes(pubkey))): int(lamports)
            for pubkey, lamports in rows(
                service, "SELECT pubkey, sum(lamports) FROM tipping_tipentry GROUP BY 1"
            )
        }
        assert booked
        held: dict[str, int] = {}
        keys = list(booked)
        for start in range(0, len(keys), 100):
            asked = keys[start : start + 100]
            options = {"commitment": "finalized"}
            found = localnet.call("getMultipleAccounts", asked, options)["value"]
            held |= {
                key: account["lamports"] if account else 0
                for key, account in zip(asked, found, strict=True)
            }
        if held == booked:
            print(f"{len(held)} addresses hold {sum(held.values())} lamports, as booked")
            return
        differing = {key: (held[key], booked[key]) for key in keys if held[key] != booked[key]}
        assert time.monotonic() < deadline, differing
        time.sleep(1.0)


def fresh(read: Callable[[], T], *, seconds: float) -> Callable[[], T]:
    """`read`, at most every so many seconds."""
    lock, kept = threading.Lock(), [(read(), time.monotonic())]

    def newest() -> T:
        with lock:
            value, read_at = kept[0]
            if time.monotonic() - read_at > seconds:
                value = read()
                kept[0] = (value, time.monotonic())
            return value

    return newest


def newest_blockhash(localnet: Localnet) -> str:
    found: str = localnet.call("getLatestBlockhash")["value"]["blockhash"]
    return found


def funded(localnet: Localnet) -> Keypair:
    payer = Keypair()
    localnet.call("requestAirdrop", str(payer.pubkey()), 5_000 * SOL)
    options = {"commitment": "confirmed"}
    localnet.wait(
        lambda: localnet.call("getBalance", str(payer.pubkey()), options)["value"], "funded"
    )
    return payer


def get(service: Service, path: str) -> Any:
    request = urllib.request.Request(
        service.base_url + path, headers={"Authorization": service.key}
    )
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)


def call(service: Service, path: str, method: str, *params: Any) -> Any:
    """The result, whenever the service is back."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    headers = {"Authorization": service.key, "Content-Type": "application/json"}
    deadline = time.monotonic() + 60
    while True:
        try:
            request = urllib.request.Request(service.base_url + path, body, headers)
            with urllib.request.urlopen(request, timeout=20) as response:
                answer = json.load(response)
            if "result" in answer:
                return answer["result"]
            problem: Any = answer["error"]
        except (urllib.error.URLError, OSError, ValueError) as error:
            problem = error
        assert time.monotonic() < deadline, problem
        time.sleep(0.5)
