"""The transactions of bundles. A row is in one bundle; a bundle that has a transaction of another
one in it keeps its signatures.
"""

from collections.abc import Collection

from columns.queries import execute
from columns.raw_queries import fetch_all
from priority.models import Bundle, Submission

# Whether a transaction of the bundle `b` has no final fate.
IS_OPEN = (
    "(EXISTS (SELECT FROM priority_submission s WHERE s.bundle_id = b.id AND s.settled_at IS NULL)"
    " OR EXISTS (SELECT FROM priority_submission s WHERE s.signature = ANY(b.signatures)"
    " AND s.settled_at IS NULL))"
)


def rows_of(bundle: Bundle, *, with_attempts: bool = False) -> list[Submission]:
    """Its transactions in their order, with their bundles; of whichever customer and bundle their
    rows are.
    """
    rows = Submission.objects.select_related("bundle")
    if with_attempts:
        rows = rows.prefetch_related("attempts")
    if bundle.signatures is None:
        return list(rows.filter(bundle=bundle).order_by("bundle_index", "pk"))
    order = [bytes(each) for each in bundle.signatures]
    found = rows.filter(signature__in=order)
    return sorted(found, key=lambda row: order.index(bytes(row.signature)))


def with_transactions(signatures: Collection[bytes]) -> list[int]:
    """Primary keys of bundles that have one of these transactions, whose row is in another one."""
    rows = fetch_all(
        "SELECT id FROM priority_bundle WHERE signatures IS NOT NULL AND signatures && $1",
        list(signatures),
    )
    return [pk for (pk,) in rows]


def forget_empty(pks: Collection[int]) -> None:
    """Those of the bundles go of whose transactions no row is left."""
    execute(
        "DELETE FROM priority_bundle b WHERE id = ANY(%s) AND NOT EXISTS"
        " (SELECT FROM priority_submission s WHERE s.bundle_id = b.id) AND NOT EXISTS"
        " (SELECT FROM priority_submission s WHERE s.signature = ANY(b.signatures))",
        [list(pks)],
    )
