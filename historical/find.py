"""Blocks, for the admin's search."""

from collections.abc import Iterator

from django.urls import reverse
from solders.hash import Hash

from historical.models import Block
from historical.transactions.store.transactions import place_of
from staff.find import Hit, Kind, add
from staff.parsing import pubkey_in, signature_in, slot_in


def _hit(slot: int, note: str) -> Hit:
    return Hit(f"Block {slot}", reverse("admin:historical_block_change", args=[slot]), note)


def _blocks(text: str) -> Iterator[Hit]:
    slot = slot_in(text)
    if slot is not None:
        for found in Block.objects.filter(slot=slot).values_list("slot", flat=True):
            yield _hit(found, "by its slot")
    same_bytes = pubkey_in(text)
    if same_bytes is not None:
        blockhash = Hash(bytes(same_bytes))
        for found in Block.objects.filter(blockhash=blockhash).values_list("slot", flat=True):
            yield _hit(found, "by its blockhash")
    signature = signature_in(text)
    place = None if signature is None else place_of(bytes(signature))
    if place is not None:
        yield _hit(place[0], f"has the transaction, at index {place[1]}")


add(Kind("Blocks", "a slot, blockhash or signature", _blocks, "historical.view_block"))
