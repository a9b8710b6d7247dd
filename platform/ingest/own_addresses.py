"""Our own addresses from the settings."""

from django.conf import settings

from tipping.services.ledger import OwnAddresses


def own_addresses() -> OwnAddresses:
    """Static tip addresses, and the treasury."""
    static = frozenset(bytes(pubkey) for pubkey in settings.TIP_ADDRESSES)
    return OwnAddresses(static, bytes(settings.TREASURY_ADDRESS))
