"""Errors of alerts; each text is shown to the user."""

from access.errors import ActionRefused


class BadAddress(ActionRefused):
    """A URL that cannot, or may not, be posted to."""


class UnknownKind(ActionRefused):
    """A kind of event that does not exist, or is not available to this webhook's owner."""


class NameMissing(ActionRefused):
    """A webhook without a name, or with too long a name."""


class TooManyWebhooks(ActionRefused):
    """The customer already has the maximum of webhooks."""


class WebhookIsOff(ActionRefused):
    """The webhook is disabled: enable it first."""


class SecretUnreadable(ActionRefused):
    """The stored secret was encrypted under another SECRET_KEY: rotate the webhook's secret."""
