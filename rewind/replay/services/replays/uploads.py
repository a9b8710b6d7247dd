"""Builds of programs that are uploaded for replays."""

from datetime import datetime
from hashlib import sha256

from django.db import IntegrityError, transaction

from rewind.replay.models import ReplayBuild
from rewind.replay.services.builds import require_build
from rewind.replay.store import replays as store
from rewind.replay.store.builds import code_of
from staff.errors import ActionRefused

_LONGEST_NAME = 100
MOST_BUILDS = 50


def upload(
    code: bytes, *, name: str, customer_id: int | None, by: str, most_bytes: int, now: datetime
) -> ReplayBuild:
    """The customer's build, the same one again for the same file. Raises BadBuild for what is no
    program, and ActionRefused where the customer's builds have no room for it.
    """
    require_build(code)
    digest = sha256(code).digest()
    mine = store.builds_of(customer_id)
    known = mine.filter(digest=digest).first()
    if known is not None:
        return known
    if mine.count() >= MOST_BUILDS or store.stored_bytes(customer_id) + len(code) > most_bytes:
        raise ActionRefused(
            f"There is no room for another build: at most {MOST_BUILDS} with"
            f" {most_bytes >> 20} MB together are kept. A build goes a day after its upload unless"
            " a replay uses it, and with the last replay that does."
        )
    printable = "".join(each for each in name if each.isprintable()).strip()
    try:
        with transaction.atomic():
            return store.create_build(
                customer_id=customer_id,
                digest=digest,
                size=len(code),
                name=printable[:_LONGEST_NAME] or "program.so",
                code=code,
                uploaded_by=by,
                uploaded_at=now,
            )
    except IntegrityError:  # uploaded twice at once
        return mine.get(digest=digest)


def code_for(customer_id: int | None, *, shelf_id: int | None, upload_id: int | None) -> bytes:
    """The ELF file of a build of the shelf, or of the customer's own. Raises ActionRefused."""
    if upload_id is not None:
        code = store.uploaded_code(customer_id, upload_id)
    else:
        code = None if shelf_id is None else _shelved(shelf_id)
    if code is None:
        raise ActionRefused("The build is not there any more: choose or upload another one.")
    return code


def _shelved(number: int) -> bytes | None:
    return code_of(number) if store.is_on_shelf(number) else None
