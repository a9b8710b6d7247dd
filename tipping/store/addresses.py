"""Queries that claim and issue tip addresses, and look up their expiry."""

from collections.abc import Collection
from datetime import UTC, datetime
from typing import NamedTuple

from columns.raw_queries import fetch_all
from tipping.models import Edge


class EdgeClass(NamedTuple):
    """A TTL class and its open batch as an edge sees them, times in Unix seconds. `batch_id` 0: no
    batch of the class's current TTL is open.
    """

    ttl_class_id: int
    ttl_seconds: int
    is_default: bool
    batch_id: int
    window_ends_at: int
    expires_at: int
    has_more: bool  # this edge has an address left to issue
    has_next: bool  # a batch is prepared
    size: int


# $1: the edge.
_EDGE_CLASSES = """
SELECT c.id, c.ttl_seconds::bigint, c.is_default,
  CASE WHEN b.ttl_seconds = c.ttl_seconds THEN b.id ELSE 0 END,
  COALESCE(FLOOR(EXTRACT(EPOCH FROM b.window_ends_at)), 0)::bigint,
  COALESCE(FLOOR(EXTRACT(EPOCH FROM b.expires_at)), 0)::bigint,
  EXISTS (SELECT FROM tipping_tipaddress a WHERE a.batch_id = b.id AND a.issued_at IS NULL
    AND (a.edge_id = $1 OR a.edge_id IS NULL)),
  EXISTS (SELECT FROM tipping_tipbatch n WHERE n.ttl_class_id = c.id AND n.state = 'prepared'
    AND n.ttl_seconds = c.ttl_seconds),
  COALESCE(b.size, 0)::bigint
FROM tipping_ttlclass c LEFT JOIN tipping_tipbatch b ON b.ttl_class_id = c.id AND b.state = 'open'
ORDER BY c.ttl_seconds
"""

# $1: batch, $2: edge, $3: how many, $4: now in microseconds, $5: the key or 0. Locked rows are
# skipped; the batch is checked in the same statement, so that nothing is issued from a closed one.
_ISSUE = """
WITH chosen AS MATERIALIZED (
  SELECT a.pubkey FROM tipping_tipaddress a
  WHERE a.batch_id = $1 AND a.edge_id = $2 AND a.issued_at IS NULL
    AND EXISTS (SELECT FROM tipping_tipbatch b WHERE b.id = $1 AND b.state = 'open'
      AND b.window_ends_at > to_timestamp($4 / 1e6))
  ORDER BY a.position LIMIT $3 FOR UPDATE SKIP LOCKED)
UPDATE tipping_tipaddress a SET issued_at = to_timestamp($4 / 1e6), key_id = NULLIF($5, 0)
FROM chosen WHERE a.pubkey = chosen.pubkey RETURNING a.pubkey
"""

# $1: batch, $2: edge, $3: how many.
_CLAIM = """
WITH chosen AS MATERIALIZED (
  SELECT a.pubkey FROM tipping_tipaddress a
  WHERE a.batch_id = $1 AND a.edge_id IS NULL AND a.issued_at IS NULL
    AND EXISTS (SELECT FROM tipping_tipbatch b WHERE b.id = $1 AND b.state = 'open')
  ORDER BY a.position LIMIT $3 FOR UPDATE SKIP LOCKED)
UPDATE tipping_tipaddress a SET edge_id = $2
FROM chosen WHERE a.pubkey = chosen.pubkey RETURNING a.position
"""

_EXPIRIES = """
SELECT a.pubkey, FLOOR(EXTRACT(EPOCH FROM b.expires_at))::bigint FROM tipping_tipaddress a
JOIN tipping_tipbatch b ON b.id = a.batch_id
WHERE a.pubkey = ANY($1) AND a.issued_at IS NOT NULL
"""


def edge_classes(edge_id: int) -> list[EdgeClass]:
    """Every class, shortest first, as the edge sees it."""
    return [EdgeClass(*row) for row in fetch_all(_EDGE_CLASSES, edge_id)]


def issue(batch_id: int, *, edge_id: int, count: int, key_id: int, now: datetime) -> list[bytes]:
    """Issues unissued addresses of the edge's slice to the key (0: no key). Returns fewer, or none,
    if the slice has no more or the batch's window is over.
    """
    micros = int(now.timestamp() * 1e6)
    return [row[0] for row in fetch_all(_ISSUE, batch_id, edge_id, count, micros, key_id)]


def claim(batch_id: int, *, edge_id: int, count: int) -> int:
    """Claims addresses that no edge has for the edge's slice. Returns how many."""
    return len(fetch_all(_CLAIM, batch_id, edge_id, count))


def expiries(pubkeys: Collection[bytes]) -> dict[bytes, datetime]:
    """The expiry of each address that was ever issued."""
    if not pubkeys:
        return {}
    rows = fetch_all(_EXPIRIES, list(pubkeys))
    return {pubkey: datetime.fromtimestamp(expires, UTC) for pubkey, expires in rows}


def edge_id_of(name: str, *, now: datetime) -> int:
    """The edge's id; a new edge is created."""
    edge, _ = Edge.objects.get_or_create(name=name, defaults={"first_seen_at": now})
    return edge.pk
