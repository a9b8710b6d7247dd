"""What alerts refuses; each text says why, for whoever gave the order."""

from access.errors import OrderRefused


class BadAddress(OrderRefused):
    """A URL that nothing can, or may, be posted to."""


class UnknownKind(OrderRefused):
    """A kind of event that does not exist, or that concerns somebody else."""


class NameMissing(OrderRefused):
    """A webhook needs a name to be told from others."""


class TooManyWebhooks(OrderRefused):
    """The customer has as many webhooks as a customer may have."""


class WebhookIsOff(OrderRefused):
    """Nothing is posted to a webhook that is off: enable it first."""


class SecretUnreadable(OrderRefused):
    """The stored secret was sealed under another SECRET_KEY: rotate the webhook's secret."""
