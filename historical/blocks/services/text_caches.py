"""This process's caches of recently requested texts.

A recorded block never changes, so a text is right for as long as that recording is stored, which
its key names: the blockhash would not do, since a block that is recorded again, from another
source, may have another text.
"""

from django.conf import settings

from columns.caches import ByteCache
from historical.sealed.packed_texts import OpenFrame

# Of whole blocks. A quarter of the memory is for stored frames (historical.sealed.store.frames).
recent_texts: ByteCache[bytes] = ByteCache(settings.LEDGER_CACHE_BYTES * 3 // 8)
# Opened frames. Opening one again takes half the time of filling new memory with it, so few are
# kept: those whose transactions are asked for one after the other.
recent_opened: ByteCache[bytes | OpenFrame] = ByteCache(settings.LEDGER_CACHE_BYTES // 8)
# Single transactions as they were answered.
recent_answers: ByteCache[bytes] = ByteCache(settings.LEDGER_CACHE_BYTES // 4)
