"""Links to set a password: signed, with an expiry, for one use."""

import enum
from datetime import timedelta

from django.contrib.auth.models import User
from django.core import signing
from django.utils.crypto import constant_time_compare, salted_hmac

from portal import store
from portal.errors import LinkSpent
from staff import sessions

_SALT = "portal.links"


class Purpose(enum.Enum):
    """What a link is for; the value is how long it is valid."""

    INVITATION = timedelta(days=7)
    FORGOTTEN = timedelta(hours=3)


def lasting(purpose: Purpose) -> str:
    """For how long a link is valid, in words."""
    days = purpose.value.days
    return f"{days} days" if days else f"{purpose.value.seconds // 3600} hours"


def token_for(user: User, purpose: Purpose) -> str:
    """The token of the link. It is void once the password or address changes, the user signs in,
    or every session of the user is ended.
    """
    return signing.dumps([user.pk, _state_of(user)], salt=f"{_SALT}.{purpose.name}")


def user_of(token: str, purpose: Purpose, *, lock: bool = False) -> User:
    """The user of the link; with `lock` no other request can use a link of the user until the
    transaction ends. Raises LinkSpent.
    """
    try:
        pk, state = signing.loads(token, salt=f"{_SALT}.{purpose.name}", max_age=purpose.value)
    except (signing.BadSignature, ValueError, TypeError):
        raise LinkSpent("This link is no longer valid: it was used or has expired") from None
    user = store.active_member_user(pk, lock=lock)
    if user is None or not constant_time_compare(state, _state_of(user)):
        raise LinkSpent("This link is no longer valid: it was used or has expired")
    return user


def _state_of(user: User) -> str:
    ended = sessions.standing(user).signed_out_before
    content = f"{user.pk}:{user.username}:{user.password}:{user.last_login}:{ended}"
    return salted_hmac(_SALT, content, algorithm="sha256").hexdigest()[:32]
