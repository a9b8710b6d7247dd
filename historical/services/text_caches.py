"""This process's caches of recently requested texts."""

from django.conf import settings

from historical.body_cache import BodyCache

# Of whole blocks. A quarter of the memory is for stored frames (historical.store.frames).
recent_texts = BodyCache(settings.LEDGER_CACHE_BYTES * 3 // 8)
# Opened frames. Opening one again takes half the time of filling new memory with it, so few are
# kept: those of which one transaction is asked for after the other.
recent_opened = BodyCache(settings.LEDGER_CACHE_BYTES // 8)
# Single transactions as they were answered.
recent_answers = BodyCache(settings.LEDGER_CACHE_BYTES // 4)
