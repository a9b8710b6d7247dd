"""CPU of reads of the past and of simulations, in this process and in PostgreSQL, each beside bare
psycopg with look-ups of the same accounts. The engine's processes do not count.
"""

import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path
from typing import Any

import psycopg

from benchmarks import bundles, replay, rewind_reads
from benchmarks.service import database
from chain.encodings import b58encode, b64encode

_CHANGES = int(os.environ.get("PAST_CHANGES", "1000000"))
_CALLS, _ROUNDS = int(os.environ.get("PAST_CALLS", "300")), 9
_TOGETHER = 5
_STATE = "c.slot, c.lamports, c.rent_epoch, c.executable, o.pubkey, c.data"
_BARE_TOGETHER = (
    f"SELECT {_STATE} FROM unnest(%s::bytea[]) AS k (pubkey), LATERAL (SELECT * FROM"
    " rewind_accountchange WHERE pubkey = k.pubkey AND slot <= %s"
    " ORDER BY slot DESC, position DESC LIMIT 1) AS c JOIN rewind_owner o ON o.id = c.owner_id"
)

Step = Callable[[], object]


def main() -> None:
    with database(), tempfile.TemporaryDirectory() as folder:
        records = replay.chain_of_transfers(Path(folder))
        replay.record(records)
        with rewind_reads.bare_connection() as bare:
            _simulations(records, bare)
            rewind_reads.fill(_CHANGES)
            _reads(bare)


def _simulations(records: list[Any], bare: psycopg.Connection[Any]) -> None:
    from solders.hash import Hash

    from simulator.client import engine_processes

    place = {"slot": replay.BLOCKS, "replaceRecentBlockhash": True}
    bundled, alone = _asker("priority"), _asker("rewind")
    made = bundles.bundles_on(Hash.from_string(records[-1].blockhash))
    bodies = cycle(
        [
            _body(
                "simulateBundle",
                {"encodedTransactions": [b64encode(bytes(each)) for each in bundle], **place},
            )
            for bundle in made
        ]
    )
    named = list({bytes(key) for each in made[0] for key in each.message.account_keys})
    _measure(
        f"simulateBundle of {bundles.SIZE} at a past slot",
        lambda: bundled(next(bodies)),
        lambda: bare.execute(_BARE_TOGETHER, (named, replay.BLOCKS)).fetchall(),
        bare,
    )
    transactions = [each for block in records[2:] for each in block.transactions]
    places = cycle(
        [
            _body(
                "simulateHistoricalTransaction",
                b64encode(each.wire),
                {"anchor": {"signature": b58encode(bytes(each.signature))}},
            )
            for each in transactions
        ]
    )
    _measure(
        "simulateHistoricalTransaction at its own place",
        lambda: alone(next(places)),
        lambda: bare.execute(_BARE_TOGETHER, (named[:5], replay.BLOCKS)).fetchall(),
        bare,
    )
    engine_processes().close()


def _reads(bare: psycopg.Connection[Any]) -> None:
    chance = random.Random(11)
    ask = _asker("rewind")
    looked_up = rewind_reads.hot_accounts(chance)[:1000]
    single = cycle(
        [
            _body("getAccountInfo", b58encode(pubkey), {"slot": slot, "encoding": "base64"})
            for pubkey, slot in looked_up
        ]
    )
    alone = cycle(looked_up)
    _measure(
        "getAccountInfo at a past slot",
        lambda: ask(next(single)),
        lambda: bare.execute(rewind_reads.BARE, next(alone)).fetchone(),
        bare,
    )
    groups = [
        (list(dict.fromkeys(chance.choice(looked_up)[0] for _ in range(_TOGETHER))), slot)
        for _, slot in looked_up
    ]
    several = cycle(
        [
            _body(
                "getMultipleAccounts",
                [b58encode(each) for each in keys],
                {"slot": slot, "encoding": "base64"},
            )
            for keys, slot in groups
        ]
    )
    together = cycle(groups)
    _measure(
        f"getMultipleAccounts of {_TOGETHER}",
        lambda: ask(next(several)),
        lambda: bare.execute(_BARE_TOGETHER, next(together)).fetchall(),
        bare,
    )
    changes = cycle(
        [
            _body("getAccountChanges", b58encode(key), {"fromSlot": slot - 1000, "toSlot": slot})
            for key, slot in looked_up
        ]
    )
    pages = cycle(looked_up)
    _measure(
        "getAccountChanges of 1,000 slots",
        lambda: ask(next(changes)),
        lambda: bare.execute(
            f"SELECT {_STATE}, c.position FROM rewind_accountchange c JOIN rewind_owner o"
            " ON o.id = c.owner_id WHERE c.pubkey = %s AND c.slot BETWEEN %s AND %s"
            " ORDER BY c.slot DESC, c.position DESC LIMIT 101",
            ((found := next(pages))[0], found[1] - 1000, found[1]),
        ).fetchall(),
        bare,
    )


def _asker(area: str) -> Callable[[bytes], bytes]:
    """Answers a body as the endpoint does, without HTTP, key and limits."""
    import priority.urls
    import rewind.urls
    from access.models import Tier
    from access.services import keys
    from access.store import customer_by_name
    from gateway import hosts
    from gateway.calls import Call
    from jsonrpc import dispatch
    from priority.method_table import methods as of_priority
    from rewind.method_table import methods as of_rewind

    assert priority.urls.urlpatterns and rewind.urls.urlpatterns
    table = of_rewind if area == "rewind" else of_priority
    tier, _ = Tier.objects.get_or_create(name="bench", defaults={"rank": 50})
    issued = keys.issue_key(customer_by_name("bench"), tier=tier, name="bench")
    caller = keys.identify(issued.secret, now=datetime.now(UTC))
    host = hosts.host_of("epic.rpc.localhost")
    assert host is not None

    def ask(body: bytes) -> bytes:
        call = Call(caller, host, datetime.now(UTC), "x", "127.0.0.1")
        calls = dispatch.read(body, max_batch=1)
        return b"".join(dispatch.answer(calls, table, call, lambda *_: None))

    return ask


def _body(method: str, *params: Any) -> bytes:
    called = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return json.dumps(called).encode()


def _measure(
    name: str, ours: Callable[[], bytes], theirs: Step, bare: psycopg.Connection[Any]
) -> None:
    """In turns: medians of the rounds, and the least."""
    from columns.raw_queries import raw_connection

    answered = ours()
    assert b'"error":{' not in answered, answered[:2000]
    sides = [(ours, raw_connection().info.backend_pid), (theirs, bare.info.backend_pid)]
    rounds = []
    for step, _ in sides:
        _cpu(step, os.getpid())
    for _ in range(_ROUNDS):
        rounds.append([each for step, server in sides for each in _cpu(step, server)])
    columns = list(zip(*rounds, strict=True))
    middle, least = ([f"{each * 1e6:.0f}" for each in map(of, columns)] for of in _OF)
    load = os.getloadavg()[0]
    print(
        f"{name}: own {middle[0]}, PostgreSQL {middle[1]} µs (least {least[0]}, {least[1]});"
        f" bare psycopg own {middle[2]}, PostgreSQL {middle[3]} ({least[2]}, {least[3]});"
        f" load {load:.1f}",
        flush=True,
    )


_OF: Sequence[Callable[[Sequence[float]], float]] = (statistics.median, min)


def _cpu(step: Step, server: int) -> tuple[float, float]:
    """Seconds of this thread and of the server's process for a call."""
    before = _of_server(server)
    begun = time.thread_time()
    for _ in range(_CALLS):
        step()
    return (time.thread_time() - begun) / _CALLS, (_of_server(server) - before) / _CALLS


def _of_server(process: int) -> float:
    """The CPU of a process of Linux in seconds."""
    return int(Path(f"/proc/{process}/schedstat").read_text().split()[0]) / 1e9


if __name__ == "__main__":
    main()
