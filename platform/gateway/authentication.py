"""DRF's authentication class of every endpoint: the caller of its request, admitted."""

from typing import Any

from rest_framework.authentication import BaseAuthentication

from access.buckets import Taken
from access.callers import Caller
from gateway.admission import admit
from gateway.sent_keys import CHALLENGE
from webserver.requests import KNOWN


class ApiKeyAuthentication(BaseAuthentication):
    """`request.user` is the Caller: the key's holder, or the anonymous caller without a key;
    `request.auth` is what was taken from its limits.

    Endpoints have no permission and throttle classes of their own: a caller's rights and limits
    are part of its admission, since a key may change while its limits are counted.
    """

    def authenticate(self, request: Any) -> tuple[Caller, Taken | None]:
        """Raises KeyRefused, also where no key is required, and a Refusal."""
        entry = request.entry
        try:
            return admit(entry, now=request.now), entry.taken
        finally:
            if entry.key_id() is not None:
                request.META[KNOWN] = True

    def authenticate_header(self, request: Any) -> str:
        return CHALLENGE
