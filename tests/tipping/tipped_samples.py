"""Batches, addresses, tips and sweeps in every state, for pages to show."""

import random
from datetime import datetime, timedelta
from typing import Any

from solders.pubkey import Pubkey
from solders.signature import Signature

from access.models import ApiKey
from tipping.models import (
    Edge,
    TipAddress,
    TipBatch,
    TipEntry,
    TipSweep,
    TipSweepPart,
    TtlClass,
)

STATIC = Pubkey(b"\7" * 32)


def fill_tipping(now: datetime, *, key: ApiKey, seed: int = 4) -> dict[str, Any]:
    """What to open: a batch, an address with tips, an entry, a sweep."""
    chance = random.Random(seed)
    for ttl, window, is_default in ((900, 300, False), (3_600, 600, True), (86_400, 3_600, False)):
        TtlClass.objects.get_or_create(
            ttl_seconds=ttl, defaults={"window_seconds": window, "is_default": is_default}
        )
    TtlClass.objects.filter(ttl_seconds__in=(900, 3_600)).update(batch_size=24)
    edge = Edge.objects.get_or_create(name="edge-1", defaults={"first_seen_at": now})[0]
    number = int(now.timestamp())
    ids: dict[str, Any] = {}
    for ttl_class in TtlClass.objects.filter(ttl_seconds__in=(900, 3_600)):
        for state, ago, note in (
            ("prepared", 0, ""),
            ("open", 1, ""),
            ("closed", 2 * ttl_class.ttl_seconds, ""),
            (
                "closed",
                3 * ttl_class.ttl_seconds,
                "1,781,760 lamports (0.00178176 SOL) on 2 addresses"
                " wait for a richer one that can pay",
            ),
        ):
            opened = None if state == "prepared" else now - timedelta(seconds=ago + 30)
            number += 1
            batch = TipBatch.objects.create(
                ttl_class=ttl_class,
                number=number,
                ttl_seconds=ttl_class.ttl_seconds,
                size=24,
                state=state,
                prepared_at=now - timedelta(days=1),
                opened_at=opened,
                window_ends_at=opened and opened + timedelta(seconds=ttl_class.window_seconds),
                expires_at=opened
                and opened + timedelta(seconds=ttl_class.window_seconds + ttl_class.ttl_seconds),
                closed_at=now - timedelta(minutes=1) if state == "closed" else None,
                swept_at=now if state == "closed" and not note else None,
                sweep_note=note,
            )
            addresses = _addresses(chance, batch, edge=edge, key=key, issued=0 if not opened else 9)
            if state != "prepared":
                _tips(chance, addresses[:9], now=now, key=key)
            if state == "closed":
                ids["sweep"] = _sweep(chance, addresses[:9], now=now, landed=not note)
                ids["batch"], ids["address"] = batch.pk, str(addresses[0].pubkey)
    ids["entry"] = TipEntry.objects.first().pk  # type: ignore[union-attr]
    return ids


def _addresses(
    chance: random.Random, batch: TipBatch, *, edge: Edge, key: ApiKey, issued: int
) -> list[TipAddress]:
    return TipAddress.objects.bulk_create(
        TipAddress(
            pubkey=Pubkey(chance.randbytes(32)),
            batch=batch,
            position=position,
            edge=edge if position < issued else None,
            issued_at=batch.opened_at if position < issued else None,
            key=key if position < issued and position % 3 else None,
        )
        for position in range(batch.size)
    )


def _tips(
    chance: random.Random, addresses: list[TipAddress], *, now: datetime, key: ApiKey
) -> None:
    for place, pubkey in enumerate([STATIC, *(address.pubkey for address in addresses)]):
        TipEntry.objects.create(
            signature=Signature(chance.randbytes(64)),
            pubkey=pubkey,
            kind="tip",
            lamports=chance.choice([1_000_000, 3_500_000]),
            slot=332_254_100 - place,
            is_static=place == 0,
            key=key if place % 2 else None,
            recorded_at=now - timedelta(hours=20 * (place % 3)),
        )


def _sweep(
    chance: random.Random, addresses: list[TipAddress], *, now: datetime, landed: bool
) -> int:
    sweep = TipSweep.objects.create(
        signature=Signature(chance.randbytes(64)),
        wire=b"\0" * 1_119,
        treasury=STATIC,
        state="landed" if landed else "failed",
        lamports=9_000_000,
        fee=45_000,
        planned_at=now - timedelta(minutes=2),
        settled_at=now,
        slot=332_254_900,
        reason="" if landed else "InsufficientFundsForRent",
    )
    for address in addresses:
        TipSweepPart.objects.create(sweep=sweep, address=address, lamports=1_000_000, is_open=False)
    if landed:
        TipEntry.objects.create(
            signature=sweep.signature,
            pubkey=addresses[0].pubkey,
            kind="sweep",
            lamports=-1_000_000,
            slot=332_254_900,
            recorded_at=now,
        )
    return sweep.pk
