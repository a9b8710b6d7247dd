"""IDLs that staff uploaded."""

from collections.abc import Collection
from datetime import datetime

from solders.pubkey import Pubkey

from rewind.models import ProgramIdl


def uploaded_idls(programs: Collection[Pubkey], slot: int) -> list[ProgramIdl]:
    """Those that hold in the slot, one for each program that has one."""
    found = ProgramIdl.objects.filter(program__in=programs, from_slot__lte=slot)
    return list(found.order_by("program", "-from_slot").distinct("program"))


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
