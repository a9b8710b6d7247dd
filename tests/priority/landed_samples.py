"""Submissions in every state, bundles, tries and upstreams, for pages to show."""

import random
from datetime import datetime, timedelta
from typing import Any

from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.signature import Signature

from access.models import ApiKey
from priority.models import Attempt, Bundle, Submission
from priority.upstreams.models import Upstream

STATES: list[tuple[str, dict[str, Any]]] = [
    ("received", {}),
    ("sent", {"tries": 3}),
    ("landed", {"commitment": "processed", "slot": 332_254_856, "transaction_index": 1_204}),
    ("landed", {"commitment": "finalized", "slot": 332_254_855, "transaction_index": 7}),
    (
        "failed",
        {
            "commitment": "finalized",
            "slot": 332_254_860,
            "transaction_index": 91,
            "err": {"InstructionError": [2, {"Custom": 6001}]},
        },
    ),
    ("expired", {"reason": "not_landed: block height 311000150 is finalized", "tries": 31}),
    ("refused", {"reason": "refused_by_all: Transaction simulation failed: BlockhashNotFound"}),
]
_SETTLED = {"failed", "expired", "refused"}


def fill_landing(now: datetime, *, key: ApiKey, rounds: int = 3, seed: int = 4) -> dict[str, Any]:
    """What to open: a landed submission with its tries, a refused one, a bundle, an upstream."""
    chance = random.Random(seed)
    ids: dict[str, Any] = {}
    for number in range(rounds):
        for state, fields in STATES:
            accepted = now - timedelta(minutes=3 * number, seconds=chance.randrange(90))
            made = _submission(chance, accepted, key=key, state=state, **fields)
            ids.setdefault(state, made.pk)
            if state == "sent":
                made.settled_at = None
            if made.state != "received":
                _tries(made, chance)
            if state == "landed" and made.settled_at is not None:
                ids["landed"] = made.pk
                ids["signature"] = str(made.signature)
    ids["sweep"] = _submission(chance, now, key=None, state="sent", kind="sweep").pk
    for number, (state, reason) in enumerate(
        (("landed", ""), ("sent", ""), ("expired", "engine_refused: bundle tip is too low"))
    ):
        bundle = Bundle.objects.create(
            bundle_id=chance.randbytes(32).hex(),
            key=key,
            state=state,
            reason=reason,
            engine_ids={"engine": chance.randbytes(32).hex()} if state != "expired" else {},
            accepted_at=now - timedelta(minutes=number),
            slot=332_254_855 if state == "landed" else None,
            settled_at=now if state != "sent" else None,
        )
        slot = {"slot": 332_254_855} if state == "landed" else {}
        for index in range(3):
            _submission(
                chance,
                bundle.accepted_at,
                key=key,
                state=state,
                kind="bundle",
                bundle=bundle,
                bundle_index=index,
                **slot,
            )
        ids.setdefault("bundle", bundle.pk)
    for name, fields in (
        ("leaders", {"kind": "leaders"}),
        ("node", {"kind": "node", "weight": 40}),
        (
            "frankfurt",
            {
                "kind": "node",
                "url": "https://token-in-the-path.example.org/very-secret",
                "broken_until": now + timedelta(hours=2),
                "broken_reason": "HTTP status 429: too many requests",
            },
        ),
        ("engine", {"kind": "block_engine", "own_tip_lamports": 10_000}),
        ("old", {"kind": "node", "url": "http://10.0.0.9:8899", "is_enabled": False}),
    ):
        ids[name] = Upstream.objects.update_or_create(name=name, defaults=fields)[0].pk
    return ids


def _submission(
    chance: random.Random, accepted: datetime, *, key: ApiKey | None, state: str, **fields: Any
) -> Submission:
    final = state in _SETTLED or fields.get("commitment") == "finalized"
    defaults: dict[str, Any] = {
        "signature": Signature(chance.randbytes(64)),
        "kind": "transaction",
        "key": key,
        "tier": "basic",
        "edge": "edge-1",
        "request_id": chance.randbytes(8).hex(),
        "tip_address": Pubkey(chance.randbytes(32)),
        "tip_lamports": chance.choice([1_000_000, 1_250_000, 25_000_000]),
        "tip_instruction_index": 2,
        "blockhash": Hash(chance.randbytes(32)),
        "accepted_at": accepted,
        "accepted_slot": 332_254_854,
        "last_valid_block_height": 311_000_150,
        "state": state,
        "tries": 2,
        "sent_at": None
        if state in ("received", "refused")
        else accepted + timedelta(microseconds=2_400),
        "seen_at": accepted + timedelta(milliseconds=610) if fields.get("slot") else None,
        "settled_at": accepted + timedelta(seconds=14) if final else None,
    }
    return Submission.objects.create(**{**defaults, **fields})


def _tries(submission: Submission, chance: random.Random) -> None:
    leader = "HWfQ3cT8y7c5VJm3zFbrM2p4kq5nYt9sDqGg6uEw1bQa (203.0.113.7:8009)"
    answers = (
        ("leaders", leader, "sent", ""),
        ("node", "127.0.0.1:8899", "sent", str(submission.signature)),
        (
            "frankfurt",
            "token-in-the-path.example.org",
            "refused",
            "Transaction simulation failed: Blockhash not found (-32002)",
        ),
        ("engine", "127.0.0.1:8902", "failed", "no answer within 2 s"),
    )
    Attempt.objects.bulk_create(
        Attempt(
            submission=submission,
            upstream=upstream,
            target=target,
            number=number,
            started_at=submission.accepted_at
            + timedelta(milliseconds=2.4 + 400 * (number - 1) + place * 0.2),
            latency_us=chance.randrange(300, 40_000),
            outcome="refused" if submission.state == "refused" else outcome,
            answer=answer[:300],
        )
        for number in (1, 2)
        for place, (upstream, target, outcome, answer) in enumerate(answers)
    )
