"""Customers, keys and their usage in numbers, written by SQL."""

from typing import Any

_MOMENTS = {
    "day": "(minute AT TIME ZONE 'UTC')::date",
    "hour": "date_trunc('hour', minute AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'",
}


def fill(cursor: Any, *, customers: int, keys: int, days: int = 10) -> None:
    """So many customers and keys (digests that nobody has a secret of), and usage: every tenth key
    called four methods in each hour of the days, hourly rows of one minute each.
    """
    cursor.execute(
        """
        INSERT INTO access_customer (name, email, notes, created_at, alert_mails)
        SELECT 'Customer ' || n, 'ops-' || n || '@customer.example', '', now() - n * interval '1 h',
               true
        FROM generate_series(1, %s) n
        """,
        [customers],
    )
    cursor.execute(
        """
        INSERT INTO access_apikey (customer_id, tier_id, name, environment, notes, shown_prefix,
            last_four, digest, scopes, networks, created_at, expires_at, suspended_at, revoked_at,
            last_used_at, methods, origins)
        SELECT c.id, (SELECT id FROM access_tier ORDER BY rank DESC LIMIT 1), 'bot ' || n,
               CASE n % 3 WHEN 0 THEN 'production' WHEN 1 THEN 'staging' ELSE '' END, '',
               'tmk_' || lpad(to_hex(n), 4, '0'), right(lpad(to_hex(n * 7919), 4, '0'), 4),
               sha256(('scale ' || n)::bytea), ARRAY['priority', 'bundle', 'rewind', 'historical'],
               ARRAY[]::varchar[], now() - n * interval '7 min',
               CASE WHEN n % 11 = 0 THEN now() + (n % 30) * interval '1 day' END,
               CASE WHEN n % 23 = 0 THEN now() END, CASE WHEN n % 29 = 0 THEN now() END,
               CASE WHEN n % 10 = 0 THEN now() - n * interval '1 s' END,
               ARRAY[]::varchar[], ARRAY[]::varchar[]
        FROM generate_series(1, %s) n
        JOIN (SELECT id, row_number() OVER (ORDER BY id DESC) AS place FROM access_customer) c
          ON c.place = 1 + n %% %s
        """.replace("n % ", "n %% "),
        [keys, customers],
    )
    cursor.execute(
        """
        INSERT INTO access_usageminute (key_id, method, status, minute, calls, microseconds)
        SELECT k.id, m.method, m.status, t.moment, 1 + k.id % 97, (1 + k.id % 97) * 900
        FROM (SELECT id FROM access_apikey WHERE id % 10 = 0) k
        CROSS JOIN (VALUES ('getAccountInfo', 'ok'), ('getBlock', 'ok'),
                           ('sendTransaction', 'ok'), ('sendTransaction', 'tip_missing'))
                   AS m (method, status)
        CROSS JOIN generate_series(date_trunc('hour', now() - %s * interval '1 day'),
                                   date_trunc('hour', now()), '1 h') AS t (moment)
        ON CONFLICT DO NOTHING
        """.replace("id % ", "id %% "),
        [days],
    )
    ok = "coalesce(sum(calls) FILTER (WHERE status = 'ok'), 0)"
    both = "sum(calls), sum(microseconds)"
    for table, columns, group in (
        ("usageday (key_id, method, status, day", "calls, microseconds", both),
        ("usagehour (method, status, hour", "calls, microseconds", both),
        ("keyhour (key_id, hour", "calls, ok, counted", f"sum(calls), {ok}, sum(calls)"),
        ("keyday (key_id, day", "calls, ok, counted", f"sum(calls), {ok}, sum(calls)"),
    ):
        names = table.partition("(")[2].split(", ")
        taken = [_MOMENTS.get(name, name) for name in names]
        cursor.execute(
            f"INSERT INTO access_{table}, {columns}) SELECT {', '.join(taken)}, {group}"
            f" FROM access_usageminute GROUP BY {', '.join(taken)} ON CONFLICT DO NOTHING"
        )
