"""The config app: the wiring's management commands, and who of the staff may do what."""

import atexit
import gc

from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate


class WiringConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        # An exiting interpreter collects three times: half a second of CPU for nothing.
        atexit.register(gc.freeze)
        # Not sooner: they need the models of Django's apps.
        from config import checks  # noqa: F401  (Django's system checks)
        from config.running.cluster import spread_empty
        from config.staff_pages.roles import keep_roles

        keep_roles()
        # Each app sends it: with the last one every table is there.
        last = [each for each in apps.get_app_configs() if each.models_module][-1]
        post_migrate.connect(spread_empty, sender=last, dispatch_uid="tables of a cluster")
        # What its page is about; Django's “Authentication and Authorization” fits in no heading.
        apps.get_app_config("auth").verbose_name = "Staff"
