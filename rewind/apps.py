"""The archive as a Django app."""

from django.apps import AppConfig


class RewindConfig(AppConfig):
    name = "rewind"
    verbose_name = "Archive"

    def ready(self) -> None:
        from django.conf import settings

        from rewind.sealed.store import cold_store

        cold_store.configure(
            cold_store.Terms(
                settings.ARCHIVE_STORE,
                settings.ARCHIVE_STORE_OPTIONS,
                settings.ARCHIVE_STORE_TIMEOUT_SECONDS,
                settings.ARCHIVE_STORE_CACHE_BYTES,
            )
        )
