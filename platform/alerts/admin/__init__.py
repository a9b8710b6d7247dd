"""The admin's pages on events, webhooks and deliveries."""

from alerts.admin import deliveries, events, rules, webhooks  # noqa: F401  (each registers its own)
