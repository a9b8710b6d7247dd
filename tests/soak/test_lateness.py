"""More submissions than are landed: none is sent too late, and the refused learn when to come."""

import base64
import http.client
import json
import os
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

from tests.clients.service import Service, running_service
from tests.soak.test_chaos import localnet_of, rows
from tests.soak.test_landing_chaos import (
    TipAddresses,
    all_fates,
    call,
    fresh,
    funded,
    newest_blockhash,
)

pytestmark = pytest.mark.soak

SECONDS = float(os.environ.get("SOAK_SECONDS", "60"))
PER_SECOND = float(os.environ.get("SOAK_RATE", "1000"))
SLOTS, SLOT_MS = 16, 400
SENDERS = 8


@dataclass
class Told:
    """What senders were told: signatures, waits of refusals, and the ages of the queue."""

    accepted: list[str] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)
    ages: list[int] = field(default_factory=list)
    others: Counter[str] = field(default_factory=Counter)


def test_at_a_thousand_a_second_none_is_accepted_that_is_sent_too_late() -> None:
    settings = {
        "LOCALNET": "true",
        "LOCALNET_SLOT_MS": str(SLOT_MS),
        "LANDING_BEHIND_SLOTS": str(SLOTS),
        "WEB_WORKERS": "2",
    }
    with running_service(**settings) as service:
        localnet = localnet_of(service)
        rows(service, "UPDATE access_tier SET requests_per_second = NULL WHERE name = 'epic'")
        addresses = TipAddresses(service)
        blockhash = fresh(lambda: Hash.from_string(newest_blockhash(localnet)), seconds=1.0)
        told = Told()
        end = time.monotonic() + SECONDS
        senders = [
            threading.Thread(
                target=submit,
                args=(service, funded(localnet), addresses.next, blockhash, told, end, number),
            )
            for number in range(SENDERS)
        ]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        fates, settled = all_fates(service, told.accepted)
        late = [each for each in told.accepted if is_late(fates[each])]
        for each in late[:5]:
            fate = call(service, "/priority", "getTransactionFate", each)
            print([fate[name] for name in ("acceptedAt", "sentAt", "attempts")])
    waited = sorted(
        fate["queueMilliseconds"]
        for fate in fates.values()
        if fate["queueMilliseconds"] is not None
    )
    assert waited
    slots = [each / SLOT_MS for each in waited]
    print(
        f"\n{SECONDS:.0f} s at {PER_SECOND:.0f}/s: {len(told.accepted)} accepted"
        f" ({len(told.accepted) / SECONDS:.0f}/s), {len(told.waits)} refused with Retry-After"
        f" {dict(Counter(told.waits))}, others {dict(told.others)}; slots until sent: p50"
        f" {slots[len(slots) // 2]:.1f}, p99 {slots[len(slots) * 99 // 100]:.1f}, most"
        f" {slots[-1]:.1f}; largest age told {max(told.ages)} ms;"
        f" {len(fates) - len(waited)} were never sent; settled {settled:.0f} s after"
    )
    assert set(told.others) <= {"overloaded"}
    assert all(1 <= wait <= 30 for wait in told.waits)
    assert max(slots) <= SLOTS
    assert len(waited) == len(set(told.accepted))


def is_late(fate: dict[str, Any]) -> bool:
    waited = fate["queueMilliseconds"]
    return waited is None or waited > SLOTS * SLOT_MS


def submit(
    service: Service,
    payer: Keypair,
    tips: Any,
    blockhash: Any,
    told: Told,
    end: float,
    number: int,
) -> None:
    """Submits at its part of the rate, whatever it is told."""
    connection = http.client.HTTPConnection(service.host, service.port, timeout=60)
    due, count = time.monotonic(), 0
    while due < end:
        time.sleep(max(0.0, due - time.monotonic()))
        due = max(due + SENDERS / PER_SECOND, time.monotonic() - 1.0)
        count += 1
        wire = signed(payer, tips(), blockhash(), 1_000_000 + 1_000_000 * number + count)
        headers = {"Authorization": service.key, "Content-Type": "application/json"}
        config = {"encoding": "base64", "skipPreflight": True}
        params = [base64.b64encode(wire).decode(), config]
        body = {"jsonrpc": "2.0", "id": 1, "method": "sendTransaction", "params": params}
        connection.request("POST", "/priority", json.dumps(body), headers)
        response = connection.getresponse()
        answer = json.loads(response.read())
        if age := response.headers["X-Queue-Milliseconds"]:
            told.ages.append(int(age))
        if "result" in answer:
            told.accepted.append(answer["result"])
        elif answer["error"]["data"]["reason"] == "landing_behind":
            assert response.status == 503
            told.waits.append(int(response.headers["Retry-After"]))
        else:
            told.others[answer["error"]["data"]["reason"]] += 1


def signed(payer: Keypair, to: Pubkey, blockhash: Hash, lamports: int) -> bytes:
    pay = TransferParams(from_pubkey=payer.pubkey(), to_pubkey=to, lamports=lamports)
    message = MessageV0.try_compile(payer.pubkey(), [transfer(pay)], [], blockhash)
    return bytes(VersionedTransaction(message, [payer]))
