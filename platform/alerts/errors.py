"""Errors of alerts; each text is shown to the user."""

from access.errors import OrderRefused


class BadAddress(OrderRefused):
    """A URL that cannot, or may not, be posted to."""


class UnknownKind(OrderRefused):
    """A kind of event that does not exist, or is not available to this webhook's owner."""


class NameMissing(OrderRefused):
    """A webhook without a name, or with too long a name."""


class TooManyWebhooks(OrderRefused):
    """The customer already has the maximum of webhooks."""


class WebhookIsOff(OrderRefused):
    """The webhook is disabled: enable it first."""


class SecretUnreadable(OrderRefused):
    """The stored secret was encrypted under another SECRET_KEY: rotate the webhook's secret."""
