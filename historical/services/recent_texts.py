"""This process's caches of texts that were asked for lately."""

from django.conf import settings

from historical.body_cache import BodyCache

recent_texts = BodyCache(settings.LEDGER_CACHE_BYTES * 3 // 4)
# Single transactions as they were answered.
recent_answers = BodyCache(settings.LEDGER_CACHE_BYTES // 4)
