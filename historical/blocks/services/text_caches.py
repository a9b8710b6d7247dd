"""This process's caches of recently requested texts."""

from django.conf import settings

from historical.blocks.body_cache import BodyCache
from historical.sealed.packed_texts import OpenFrame

# Of whole blocks. A quarter of the memory is for stored frames (historical.sealed.store.frames).
recent_texts: BodyCache[bytes] = BodyCache(settings.LEDGER_CACHE_BYTES * 3 // 8)
# Opened frames. Opening one again takes half the time of filling new memory with it, so few are
# kept: those of which one transaction is asked for after the other.
recent_opened: BodyCache[bytes | OpenFrame] = BodyCache(settings.LEDGER_CACHE_BYTES // 8)
# Single transactions as they were answered.
recent_answers: BodyCache[bytes] = BodyCache(settings.LEDGER_CACHE_BYTES // 4)
