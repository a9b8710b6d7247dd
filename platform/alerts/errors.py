"""Errors of alerts; each text is shown to the user."""

from access.errors import ActionRefused


class BadAddress(ActionRefused):
    """A URL that cannot, or may not, be posted to."""


class UnknownKind(ActionRefused):
    """A kind of event that does not exist, or is not available to this webhook's owner."""


class NameMissing(ActionRefused):
    """A webhook or a rule without a name, or with too long a name."""


class TooManyWebhooks(ActionRefused):
    """The customer already has the maximum of webhooks."""


class WebhookIsOff(ActionRefused):
    """The webhook is disabled: enable it first."""


class SecretUnreadable(ActionRefused):
    """The stored secret was encrypted under another SECRET_KEY: rotate the webhook's secret."""


class WebhookInUse(ActionRefused):
    """Rules post to the webhook: change or delete them first."""


class ConditionInvalid(ActionRefused):
    """A rule's condition that does not go with its trigger, or that cannot be met."""


class TooManyRules(ActionRefused):
    """The customer already has the maximum of rules (EVENT_RULES)."""


class NoRecipient(ActionRefused):
    """A rule that neither posts to a webhook of its customer nor mails."""


class RuleIsOff(ActionRefused):
    """The rule is off: enable it first."""


class ReplayTooLarge(ActionRefused):
    """More deliveries than one replay queues: choose a shorter time."""
