"""Something of everything that the admin shows, with names as long as they may be."""

import random
from datetime import datetime, timedelta
from typing import Any


def fill(now: datetime) -> dict[str, Any]:
    """Customers, keys in every state, usage of weeks, blocks and imports; a few ids to open."""
    from access.callers import SCOPES
    from access.models import Customer, Tier
    from access.services import keys

    names = ("basic", "ultra", "elite")
    tiers = [
        Tier.objects.get_or_create(
            name=name, defaults={"rank": 10 * rank, "requests_per_second": 10.0 * rank or 5.0}
        )[0]
        for rank, name in enumerate(("anonymous", *names))
    ]
    customers = [
        Customer.objects.create(name=name, email="ops@example.com")
        for name in ("Ada Lovelace", "Northern Lights Validators and Archive Services", "x" * 100)
    ]
    issued = []
    for number in range(14):
        new = keys.issue_key(
            customers[number % 3],
            tier=tiers[1 + number % 3],
            name=("indexer", "wallet back end", "n" * 100)[number % 3],
            environment=("production", "")[number % 2],
            scopes=("historical", "rewind") if number % 4 else SCOPES,
            networks=["203.0.113.0/24", "2001:db8:1234:5678::/64"] if number % 3 == 1 else [],
            expires_at=now + timedelta(days=number) if number in (3, 5, 6, 9) else None,
        )
        issued.append(new.key.pk)
    keys.suspend_key(issued[1], now=now - timedelta(hours=5))
    keys.revoke_key(issued[2], now=now - timedelta(days=40))
    keys.rotate_key(issued[4], overlap=timedelta(days=2), now=now)
    keys.rotate_key(issued[7], overlap=timedelta(0), now=now)
    _usage(issued, now)
    slots = _blocks(now)
    return {
        "key": issued[0],
        "suspended": issued[1],
        "revoked": issued[2],
        "rotated": issued[4],
        "customer": customers[1].pk,
        "tier": tiers[1].pk,
        "slot": slots[1],
        "import": _imports(now),
    }


def _usage(keys: list[int], now: datetime) -> None:
    from access.models import ApiKey
    from access.usage_sums import add_usage

    chance = random.Random(1)
    minute = now.replace(second=0, microsecond=0)
    rows = []
    for key_id in [*keys[:5], None]:
        for hour in range(24 * 20):
            for method, status, most in (
                ("getTransaction", "ok", 900),
                ("getBlock", "ok", 300),
                ("getSignaturesForAddress", "min_context_slot_not_reached", 9),
                ("getSlot", "rate_limited", 60),
            ):
                calls = int(chance.random() ** 2 * most)
                if calls:
                    at = minute - timedelta(hours=hour, minutes=hour % 7)
                    spent = calls * chance.randrange(400, 90_000)
                    rows.append((key_id, method, status, at, calls, spent))
    add_usage(rows)
    ApiKey.objects.filter(pk__in=keys[:5]).update(
        last_used_at=now - timedelta(minutes=3),
        last_used_address="2001:db8:1234:5678:9abc:def0:1:2",
    )


def _blocks(now: datetime) -> list[int]:
    from solders.hash import Hash

    from historical.models import Block

    chance = random.Random(2)
    slots = [332_254_855 + 2 * number for number in range(60)]
    Block.objects.bulk_create(
        Block(
            slot=slot,
            parent_slot=slot - 2,
            blockhash=Hash(chance.randbytes(32)),
            previous_blockhash=Hash(chance.randbytes(32)),
            block_time=int(now.timestamp()) - 800 + 2 * number,
            block_height=310_000_000 + number,
            transaction_count=1400 + number,
            failed_count=number * 9,
            newest_version=0,
            form=0,
            frames=[100_000],
            body=chance.randbytes(100_000),
            recorded_at=now,
        )
        for number, slot in enumerate(slots)
    )
    return slots


def _imports(now: datetime) -> int:
    from historical.models import Import

    Import.objects.create(
        file="epoch-0769-mainnet-beta.car.zst", started_at=now - timedelta(minutes=2)
    )
    Import.objects.create(
        file="mainnet-332254855-332254974.dbin.zst",
        format="dbin, zstd",
        state="done",
        started_at=now - timedelta(hours=1),
        finished_at=now - timedelta(minutes=58),
        blocks_recorded=60,
        transactions_recorded=84_123,
        first_slot=332_254_855,
        last_slot=332_254_973,
        warnings="slot 332254861: no rewards told\nslot 332254870: no rewards told",
    )
    broken: int = Import.objects.create(
        file="a-file-with-a-name-that-is-as-long-as-someone-made-it-2025-11-20-part-0001.json.gz",
        state="failed",
        started_at=now - timedelta(days=1),
        finished_at=now - timedelta(days=1),
        failure="transaction 17, byte 20,481: expected a signature of 64 bytes, found 63; "
        + "7" * 120,
    ).pk
    return broken
