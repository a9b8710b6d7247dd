"""Links by which a person chooses a password: signed, good for some days and for one use."""

import enum
from datetime import timedelta

from django.contrib.auth.models import User
from django.core import signing
from django.utils.crypto import constant_time_compare, salted_hmac

from portal import store
from portal.errors import LinkSpent

_SALT = "portal.links"


class Purpose(enum.Enum):
    """What a link is for; the value is how long it is good."""

    INVITATION = timedelta(days=7)
    FORGOTTEN = timedelta(hours=3)


def token_for(user: User, purpose: Purpose) -> str:
    """What the link carries. It is spent once the person's password changes, or they sign in."""
    return signing.dumps([user.pk, _state_of(user)], salt=f"{_SALT}.{purpose.name}")


def user_of(token: str, purpose: Purpose) -> User:
    """Whom the link is for. Raises LinkSpent."""
    try:
        pk, state = signing.loads(token, salt=f"{_SALT}.{purpose.name}", max_age=purpose.value)
    except (signing.BadSignature, ValueError, TypeError):
        raise LinkSpent("This link is not good any more: it was used, or it is too old") from None
    user = store.active_member_user(pk)
    if user is None or not constant_time_compare(state, _state_of(user)):
        raise LinkSpent("This link is not good any more: it was used, or it is too old")
    return user


def _state_of(user: User) -> str:
    content = f"{user.pk}:{user.password}:{user.last_login}"
    return salted_hmac(_SALT, content, algorithm="sha256").hexdigest()[:32]
