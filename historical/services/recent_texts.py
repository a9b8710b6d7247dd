"""This process's cache of texts that were asked for lately."""

from django.conf import settings

from historical.body_cache import BodyCache

recent_texts = BodyCache(settings.LEDGER_CACHE_BYTES)
