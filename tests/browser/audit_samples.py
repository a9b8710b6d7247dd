"""A month of replay audits, divergences, and simulation jobs in every state."""

import random
import uuid
from datetime import datetime, timedelta
from typing import Any

REASONS = {
    "filtered_account": 81_234,
    "state_not_recorded": 512,
    "slot_in_archive_gap": 40,
    "engine_fault": 1,
}


def fill(now: datetime) -> dict[str, Any]:
    """A month of audits, divergences and jobs in every state; what to open."""
    from solders.pubkey import Pubkey
    from solders.signature import Signature

    from access.models import Tier
    from access.services.keys import issue_key
    from access.store import customer_by_name
    from rewind.jobs.models import SimulationJob
    from rewind.models import ArchiveState
    from rewind.replay.models import Divergence
    from rewind.replay.store import audits as store
    from rewind.replay.store.audits import Count

    chance = random.Random(4)
    programs = [Pubkey(bytes(32)), *(Pubkey(chance.randbytes(32)) for _ in range(9))]
    for ago in range(30):
        day = (now - timedelta(days=ago)).date()
        replayed = chance.randrange(300_000, 400_000)
        wrong = chance.randrange(40) if ago in (0, 11, 12) else 0
        missed = chance.randrange(5_000)
        store.add_to_day(
            day,
            Count(replayed, wrong, missed),
            reasons=REASONS if ago == 1 else {"filtered_account": missed},
            passed_over=1_200 if ago == 12 else 0,
        )
        store.add_to_programs(
            day,
            {
                bytes(program): Count(replayed // (2 + place), wrong // (1 + place), missed // 9)
                for place, program in enumerate(programs)
            },
        )
    ArchiveState.objects.update_or_create(pk=1, defaults={"audited_slot": 332_254_973})
    log = "Program TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA consumed {} of 200000 units"
    entries = [
        Divergence.objects.create(
            slot=332_254_855 + number,
            position=number * 97,
            signature=Signature(chance.randbytes(64)),
            programs=programs[number % 4 : number % 4 + 2],
            fields=["computeUnitsConsumed", "logs", "accounts"][: 1 + number % 3],
            differences=[
                {"field": "computeUnitsConsumed", "expected": 4_645, "found": 4_647},
                {
                    "field": "logs",
                    "expected": [log.format(4_645), "Program log: " + "x" * 300],
                    "found": [log.format(4_647), "Program log: " + "y" * 300],
                },
                {
                    "field": "accounts",
                    "expected": {"pubkey": str(programs[3]), "lamports": 2_039_280, "space": 165},
                    "found": {"pubkey": str(programs[3]), "lamports": 0},
                },
            ],
            found_at=now - timedelta(hours=number),
            tried_at=now - timedelta(minutes=number),
            resolved_at=now if number % 5 == 4 else None,
            reason="engine_older_rules" if number == 2 else "",
        ).pk
        for number in range(14)
    ]
    basic = Tier.objects.get_or_create(name="basic", defaults={"rank": 10})[0]
    named = customer_by_name("Northern Lights Validators and Archive Services")
    keys = [issue_key(named, tier=basic, name=name).key.pk for name in ("back test", "n" * 100)]
    request: dict[str, Any] = {
        "signatures": ["5" * 88] * 40,
        "texts": None,
        "encoding": "base64",
        "positions": None,
        "range": [332_254_855, 2_500, 2],
        "config": {},
    }
    states = (
        ("running", 41_233),
        ("queued", 0),
        ("done", 100_000),
        ("cancelled", 7),
        ("failed", 9),
    )
    jobs = [
        SimulationJob.objects.create(
            id=uuid.UUID(int=chance.getrandbits(128), version=4),
            key_id=keys[number % 2] if number < 4 else 999_999,
            tier="basic",
            client_reference="night run of the arbitrage model" if number == 0 else None,
            state=state,
            request=request,
            total=100_000,
            done=done,
            failed=done // 50,
            stored_bytes=done * 2_100,
            submitted_at=now - timedelta(minutes=50 - number),
            started_at=now - timedelta(minutes=40) if done else None,
            finished_at=None if state in ("running", "queued") else now,
            expires_at=None if state in ("running", "queued") else now + timedelta(hours=72),
            failure="its results take more than 2147483648 bytes" if state == "failed" else "",
            turn=2 * number + 1,
            due_at=now + timedelta(days=1),
        ).pk
        for number, (state, done) in enumerate(states)
    ]
    return {"divergence": entries[2], "resolved": entries[4], "running": jobs[0], "failed": jobs[4]}
