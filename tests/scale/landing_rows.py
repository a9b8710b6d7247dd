"""Submissions, tries, bundles, tip addresses and the ledger of tips, as many as are asked for."""

from collections.abc import Sequence
from typing import Any

# Of a hundred submissions: the state, by the number of the row.
_STATE = (
    "(ARRAY['landed','landed','landed','landed','landed','landed','landed','failed','expired',"
    "'refused'])[1 + n %% 10]"
)
_DAYS = 30
_SUBMISSIONS = f"""
INSERT INTO priority_submission (signature, kind, key_id, tier, edge, request_id, bundle_id,
  bundle_index, "only", tip_address, tip_lamports, tip_instruction_index, blockhash, is_nonced,
  accepted_at, accepted_slot, last_valid_block_height, state, commitment, reason, slot,
  transaction_index, err, tries, sent_at, seen_at, settled_at)
SELECT sha512(n::text::bytea), CASE WHEN n %% 50 < 3 THEN 'bundle' ELSE 'transaction' END,
  (%(keys)s::bigint[])[1 + (n::bigint * 7919) %% %(keys_count)s],
  (ARRAY['free','basic','pro','ultra'])[1 + n %% 4],
  'edge-1', md5(n::text), CASE WHEN n %% 50 < 3 THEN b.first + n / 50 END,
  CASE WHEN n %% 50 < 3 THEN n %% 50 END, '{{}}',
  CASE WHEN n %% 3 = 0 THEN sha256(('static' || n %% 8)::bytea)
    ELSE sha256(('tip' || n %% %(addresses)s)::bytea) END,
  1000000 + (n * 37) %% 5000000, 0, sha256((n / 100)::text::bytea), false, at, 300000000 + n,
  300000150 + n, state, CASE WHEN state IN ('landed', 'failed') THEN 'finalized' ELSE '' END,
  CASE state WHEN 'expired' THEN 'blockhash_expired' WHEN 'refused'
    THEN 'upstream_refused: node: Transaction simulation failed: Blockhash not found (-32002)'
    ELSE '' END,
  CASE WHEN state IN ('landed', 'failed') THEN 300000000 + n + n %% 7 END,
  CASE WHEN state IN ('landed', 'failed') THEN n %% 1500 END,
  CASE WHEN state = 'failed' THEN '{{"InstructionError":[2,{{"Custom":6001}}]}}'::jsonb END,
  2, CASE WHEN state <> 'refused' THEN at + interval '3 milliseconds' END,
  CASE WHEN state IN ('landed', 'failed') THEN at + interval '1 second' END,
  at + interval '14 seconds'
FROM (SELECT n, {_STATE} AS state,
    now() - interval '{_DAYS} days' * (1 - (n + 1)::float8 / %(rows)s) AS at
  FROM generate_series(0, %(rows)s - 1) AS n) AS s
CROSS JOIN (SELECT min(id) AS first FROM priority_bundle) AS b
ORDER BY n
"""
_BUNDLES = f"""
INSERT INTO priority_bundle (bundle_id, key_id, state, reason, engine_ids, accepted_at, slot,
  settled_at)
SELECT encode(sha256(n::text::bytea), 'hex'), (%(keys)s::bigint[])[1 + n %% %(keys_count)s],
  CASE n %% 4 WHEN 0 THEN 'expired' ELSE 'landed' END, '', '{{"engine": "0"}}', at,
  CASE n %% 4 WHEN 0 THEN NULL ELSE 300000000 + 50 * n END, at + interval '14 seconds'
FROM (SELECT n, now() - interval '{_DAYS} days' * (1 - (n + 1)::float8 / %(bundles)s) AS at
  FROM generate_series(0, %(bundles)s - 1) AS n) AS s ORDER BY n
"""
_ATTEMPTS = """
INSERT INTO priority_attempt (submission_id, upstream, target, number, started_at, latency_us,
  outcome, answer)
SELECT s.id, u.name, 'a leader (203.0.113.7:8009)', 1, s.accepted_at + interval '3 milliseconds'
    + u.place * interval '200 microseconds', 300 + (s.id * 7919) % 40000,
  CASE WHEN s.state = 'refused' THEN 'refused' WHEN u.place = 1 AND s.id % 20 = 0 THEN 'failed'
    ELSE 'sent' END,
  CASE WHEN s.state = 'refused' THEN 'Transaction simulation failed: Blockhash not found (-32002)'
    WHEN u.place = 1 AND s.id % 20 = 0 THEN 'no answer within 2 s' ELSE '' END
FROM priority_submission s
CROSS JOIN (VALUES ('leaders', 0), ('node', 1)) AS u(name, place) ORDER BY s.id
"""
_BATCHES = """
INSERT INTO tipping_tipbatch (ttl_class_id, number, ttl_seconds, size, state, prepared_at,
  opened_at, window_ends_at, expires_at, closed_at, swept_at, sweep_note)
SELECT c.id, 1000000 + n * 100 + c.id, c.ttl_seconds, 64, 'closed', at, at,
  at + make_interval(secs => c.window_seconds),
  at + make_interval(secs => c.window_seconds + c.ttl_seconds),
  at + make_interval(secs => c.window_seconds), at + interval '40 hours', ''
FROM tipping_ttlclass c CROSS JOIN (SELECT n, now() - interval '45 days'
  + n * interval '5 minutes' AS at FROM generate_series(0, %(batches)s - 1) AS n) AS s ORDER BY n
"""
_ADDRESSES = """
INSERT INTO tipping_tipaddress (pubkey, batch_id, position, edge_id, issued_at, key_id)
SELECT sha256(('tip' || n)::bytea), b.ids[1 + n %% b.many], n / b.many, e.id,
  now() - interval '10 days', (%(keys)s::bigint[])[1 + n %% %(keys_count)s]
FROM (SELECT array_agg(id ORDER BY id) AS ids, count(*)::int AS many FROM tipping_tipbatch
  WHERE state = 'closed') AS b
CROSS JOIN (SELECT min(id) AS id FROM tipping_edge) AS e
CROSS JOIN generate_series(0, %(addresses)s - 1) AS n ORDER BY n
"""
_ENTRIES = """
INSERT INTO tipping_tipentry (signature, pubkey, kind, lamports, slot, is_static, key_id,
  recorded_at)
SELECT s.signature, s.tip_address, 'tip', s.tip_lamports, s.slot, a.pubkey IS NULL, s.key_id,
  s.seen_at
FROM priority_submission s LEFT JOIN tipping_tipaddress a ON a.pubkey = s.tip_address
WHERE s.state = 'landed' ORDER BY s.id
"""
_CHANGES = """
INSERT INTO priority_landingchange (start, noted_at)
SELECT DISTINCT date_bin('300 seconds', accepted_at, '2000-01-01+00'), now() - interval '1 hour'
FROM priority_submission
"""


def fill(cursor: Any, submissions: int, keys: Sequence[int]) -> None:
    """So many submissions of these keys, spread over 30 days, with two tries each; a bundle for
    each fifty of them; a tip address for each four, and what landed in the ledger. They wait to be
    counted: `priority.reports.services.counting.count`.
    """
    values = {
        "rows": submissions,
        "keys": list(keys),
        "keys_count": len(keys),
        "bundles": max(1, -(-submissions // 50)),
        "addresses": max(16, submissions // 4),
        "batches": max(1, min(submissions // 200, 3_000)),
    }
    cursor.execute("SET statement_timeout TO 0")
    cursor.execute(
        "INSERT INTO tipping_edge (name, first_seen_at) VALUES ('edge-1', now())"
        " ON CONFLICT DO NOTHING"
    )
    cursor.execute(_BATCHES, values)
    cursor.execute(_ADDRESSES, values)
    cursor.execute(_BUNDLES, values)
    cursor.execute(_SUBMISSIONS, values)
    cursor.execute(_ATTEMPTS)
    cursor.execute(_ENTRIES)
    cursor.execute(_CHANGES)
    cursor.execute(
        "ANALYZE priority_submission, priority_attempt, priority_bundle, tipping_tipaddress,"
        " tipping_tipbatch, tipping_tipentry, priority_landingchange"
    )
    cursor.execute("RESET statement_timeout")
