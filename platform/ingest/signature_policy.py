"""What the settings say of unsigned transactions."""

from django.conf import settings

from chain.signed import Signatures


def of_history() -> Signatures:
    """For blocks of files and of nodes."""
    return Signatures.KEEP if settings.LEDGER_KEEP_UNSIGNED else Signatures.REFUSE


def of_streams() -> Signatures:
    """For slots of a stream: it comes from a validator that has verified them."""
    return of_history() if settings.VERIFY_STREAM_SIGNATURES else Signatures.UNVERIFIED
