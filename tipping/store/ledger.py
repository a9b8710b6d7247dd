"""Queries on the tip ledger."""

from collections.abc import Collection, Iterable, Mapping

from django.db.models import Sum
from solders.pubkey import Pubkey

from columns.raw_queries import fetch_all
from tipping.models import TipEntry, TipSweep

_BATCH = 1_000


def addresses_among(keys: Collection[bytes]) -> set[bytes]:
    """The keys that are tip addresses, issued or not: unissued ones are known to no sender."""
    rows = fetch_all("SELECT pubkey FROM tipping_tipaddress WHERE pubkey = ANY($1)", list(keys))
    return {pubkey for (pubkey,) in rows}


def sweeps_among(signatures: Collection[bytes]) -> set[bytes]:
    """The signatures that belong to our own sweeps."""
    found = TipSweep.objects.filter(signature__in=list(signatures))
    return {bytes(signature) for signature in found.values_list("signature", flat=True)}


def add(entries: Iterable[TipEntry]) -> None:
    """Adds the entries; existing ones are left unchanged."""
    TipEntry.objects.bulk_create(entries, batch_size=_BATCH, ignore_conflicts=True)


def attribute(keys: Mapping[bytes, int]) -> None:
    """Assigns entries of these signatures without a key to the key."""
    for signature, key_id in sorted(keys.items()):
        unassigned = TipEntry.objects.filter(signature=signature, key__isnull=True)
        unassigned.update(key_id=key_id)


def sums(pubkeys: Collection[bytes]) -> dict[Pubkey, int]:
    """The sum of each address's entries; addresses without entries are left out."""
    rows = TipEntry.objects.filter(pubkey__in=list(pubkeys)).order_by()
    return dict(rows.values_list("pubkey").annotate(Sum("lamports")))
