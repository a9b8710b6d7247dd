"""The access app: customers, tiers, keys and their usage."""

from django.apps import AppConfig
from django.contrib.postgres.indexes import OpClass
from django.db.models import OrderBy
from django.db.models.functions import Collate
from django.db.models.indexes import IndexExpression


class AccessConfig(AppConfig):
    name = "access"
    verbose_name = "Access"

    def ready(self) -> None:
        from access import announcements
        from access.models import ApiKey, Customer, Tier

        announcements.connect(ApiKey, Customer, Tier)
        # Indexes of expressions with an operator class, without all that django.contrib.postgres
        # installs: it asks for types on each new connection.
        IndexExpression.register_wrappers(OrderBy, OpClass, Collate)
