"""Issuing addresses: to one caller each, once, and known for ever."""

from collections.abc import Collection
from datetime import UTC, datetime
from typing import NamedTuple

from columns.raw_queries import fetch_all
from tipping.models import Edge


class Rung(NamedTuple):
    """A class of the ladder and its open batch, in Unix seconds; `batch_id` 0: none is open, or
    only one that was made before the class got another TTL.
    """

    ttl_class_id: int
    ttl_seconds: int
    is_default: bool
    batch_id: int
    window_ends_at: int
    expires_at: int
    has_more: bool  # an address is left that this edge may issue
    has_next: bool  # a batch waits to be opened
    size: int


# $1: the edge.
_LADDER = """
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

# $1: batch, $2: edge, $3: how many, $4: now in microseconds, $5: the key or 0. A row that another
# issue holds is passed over; the batch is looked at in the same statement, so that nothing is
# issued from one that was closed before.
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

_STANDINGS = """
SELECT a.pubkey, FLOOR(EXTRACT(EPOCH FROM b.expires_at))::bigint FROM tipping_tipaddress a
JOIN tipping_tipbatch b ON b.id = a.batch_id
WHERE a.pubkey = ANY($1) AND a.issued_at IS NOT NULL
"""


def ladder(edge_id: int) -> list[Rung]:
    """Every class, shortest first, as that edge sees it."""
    return [Rung(*row) for row in fetch_all(_LADDER, edge_id)]


def issue(batch_id: int, *, edge_id: int, count: int, key_id: int, now: datetime) -> list[bytes]:
    """Addresses of the edge's slice that nobody had, committed to their new holder (0: without a
    key); fewer, or none, when the slice has no more or the batch's window is over.
    """
    micros = int(now.timestamp() * 1e6)
    return [row[0] for row in fetch_all(_ISSUE, batch_id, edge_id, count, micros, key_id)]


def claim(batch_id: int, *, edge_id: int, count: int) -> int:
    """Takes addresses that no edge has into the edge's slice: how many were taken."""
    return len(fetch_all(_CLAIM, batch_id, edge_id, count))


def standings(pubkeys: Collection[bytes]) -> dict[bytes, datetime]:
    """When the addresses expire, of those that were ever issued."""
    if not pubkeys:
        return {}
    rows = fetch_all(_STANDINGS, list(pubkeys))
    return {pubkey: datetime.fromtimestamp(expires, UTC) for pubkey, expires in rows}


def edge_id_of(name: str, *, now: datetime) -> int:
    """The edge's number; an edge that is new is written down."""
    edge, _ = Edge.objects.get_or_create(name=name, defaults={"first_seen_at": now})
    return edge.pk
