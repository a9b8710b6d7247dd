"""Every page of the admin with a million submissions, ten million slots and ten thousand keys."""

import os
import statistics
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import timedelta

from benchmarks.service import database, served

SUBMISSIONS = int(os.environ.get("BENCH_SUBMISSIONS", "1_000_000"))
SLOTS = int(os.environ.get("BENCH_SLOTS", "10_000_000"))
KEYS = int(os.environ.get("BENCH_KEYS", "10_000"))
_ROUNDS = 5
_MOST_MS, _MOST_BYTES = 500, 300_000
# A page that asks the database for nothing but who looks: what the theme itself costs.
_FLOOR = "/admin/password_change/"

# What people choose on the pages that have most behind them.
_NARROWED = (
    "/admin/?span=7d",
    "/admin/access/usageminute/?span=90d",
    "/admin/access/usageminute/?span=month&method=sendTransaction",
    "/admin/access/apikey/?q=bot+77",
    "/admin/access/apikey/?state=expiring",
    "/admin/access/customer/?q=Customer+77",
    "/admin/historical/block/?q=301000000",
    "/admin/priority/submission/?state=refused",
    "/admin/priority/submission/landing/?span=30d",
    "/admin/priority/submission/landing/?span=30d&tier=basic",
    "/admin/rewind/gap/?state=open",
    "/admin/rewind/slottally/slots/?first=301000000",
)


def main() -> None:
    with database():
        _fill()
        cookie, pages = _cookie(), _pages()
        with served("config.wsgi:application", threads=4, workers=2) as (_, port):
            base = f"http://localhost:{port}"
            floor = (_measure(base + _FLOOR, cookie) or (0.0, 0))[0]
            print(f"the admin's own frame ({_FLOOR}): {floor:.0f} ms", flush=True)
            measured = []
            for path in pages:
                found = _measure(base + path, cookie)
                if found is not None:
                    measured.append((*found, path))
            measured.sort(reverse=True)
            for took, size, path in measured:
                print(f"{took:7.0f} ms  {took / floor:5.1f} x  {size / 1e3:5.0f} kB  {path}")
            slow = sum(took > _MOST_MS for took, _, _ in measured)
            large = sum(size > _MOST_BYTES for _, size, _ in measured)
            largest = max(size for _, size, _ in measured)
            print(
                f"{len(measured)} pages, the slowest {measured[0][0]:.0f} ms, {slow} above"
                f" {_MOST_MS} ms; the largest {largest / 1e3:.0f} kB, {large} above"
                f" {_MOST_BYTES // 1_000} kB"
            )


def _fill() -> None:
    from django.db import connection, transaction
    from django.utils import timezone

    from priority.reports.services import counting
    from tests.scale import access_rows, chain_rows, landing_rows

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        fills: dict[str, Callable[[], None]] = {
            "keys": lambda: access_rows.fill(cursor, customers=KEYS // 5, keys=KEYS),
            "slots": lambda: chain_rows.fill(cursor, SLOTS),
            "submissions": lambda: landing_rows.fill(cursor, SUBMISSIONS, _key_ids()),
        }
        for name, fill in fills.items():
            began = time.perf_counter()
            fill()
            print(f"filled {name} in {time.perf_counter() - began:.0f} s", flush=True)
    began, now = time.perf_counter(), timezone.now()
    # The steps that go on changing are counted at each call: few are left when only they are.
    while counting.count(kept=timedelta(days=60), now=now, calm=timedelta(0), seconds=60.0) > 10:
        print(f"counted landings for {time.perf_counter() - began:.0f} s", flush=True)
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        cursor.execute("VACUUM ANALYZE")


def _key_ids() -> list[int]:
    from access.models import ApiKey

    return list(ApiKey.objects.values_list("pk", flat=True))


def _pages() -> list[str]:
    from tests.pages import admin_pages

    return sorted({*admin_pages().values(), *_NARROWED})


def _cookie() -> str:
    """The session of an administrator."""
    from django.conf import settings
    from django.contrib.auth import get_user_model
    from django.test import Client

    client = Client()
    client.force_login(get_user_model().objects.create_superuser("bench"))
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"


def _measure(url: str, cookie: str) -> tuple[float, int] | None:
    """The median of some rounds in ms, after one to warm up, and the bytes that a browser gets;
    None for what is no page to be read.
    """
    request = urllib.request.Request(url, headers={"Cookie": cookie, "Accept-Encoding": "gzip"})
    times, size = [], 0
    for _ in range(_ROUNDS + 1):
        began = time.perf_counter()
        try:
            with urllib.request.urlopen(request) as answer:
                size = len(answer.read())
        except urllib.error.HTTPError as refusal:
            if refusal.code in (302, 403, 405):  # leads elsewhere, or takes orders alone
                return None
            raise SystemExit(f"{url}: {refusal.code}") from None
        times.append((time.perf_counter() - began) * 1e3)
    return statistics.median(times[1:]), size


if __name__ == "__main__":
    main()
