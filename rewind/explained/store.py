"""IDLs that staff uploaded."""

from collections.abc import Collection
from datetime import datetime

from solders.pubkey import Pubkey

from rewind.models import ProgramIdl


def uploaded_idls(programs: Collection[Pubkey], slot: int) -> list[ProgramIdl]:
    """Those that hold in the slot, one for each program that has one, without their texts."""
    found = ProgramIdl.objects.filter(program__in=programs, from_slot__lte=slot).defer("text")
    return list(found.order_by("program", "-from_slot").distinct("program"))


def text_of(pk: int) -> bytes | None:
    """None if it was deleted."""
    text = ProgramIdl.objects.filter(pk=pk).values_list("text", flat=True).first()
    return None if text is None else bytes(text)


def save_idl(
    program: Pubkey,
    from_slot: int,
    *,
    name: str,
    version: str,
    text: bytes,
    by: str,
    now: datetime,
) -> ProgramIdl:
    """Replaces the one that held from that slot on."""
    row, _ = ProgramIdl.objects.update_or_create(
        program=program,
        from_slot=from_slot,
        defaults={
            "name": name,
            "version": version,
            "text": text,
            "uploaded_by": by,
            "uploaded_at": now,
        },
    )
    return row
