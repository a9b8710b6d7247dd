"""Who may send a file that is larger than a body may be, before it is read."""

from collections.abc import Mapping
from typing import Any

from portal import store
from staff.sessions import user_of


def member_sending(environ: Mapping[str, Any]) -> bytes | None:
    """An owner of a customer; None for anyone else."""
    user = user_of(environ)
    member = store.member_of(user.pk) if user.is_authenticated and not user.is_staff else None
    return b"user-%d" % user.pk if member is not None and member.is_owner else None


def staff_sending(permission: str, environ: Mapping[str, Any]) -> bytes | None:
    """Staff who have the permission; None for anyone else."""
    user = user_of(environ)
    may = user.is_authenticated and user.is_staff and user.has_perm(permission)
    return b"user-%d" % user.pk if may else None
