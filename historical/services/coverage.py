"""What the ledger serves: the blocks that it stores, and the remote history below them."""

from django.conf import settings

from chain.units import Slot
from historical.results import Context, Coverage, LedgerCoverage, RemoteHistory, StorageBand
from historical.services import bounds, storage
from historical.services.remote_history import RemoteReads, is_configured
from historical.store import blocks as store


def first_available_block(reads: RemoteReads) -> Slot:
    """The lowest slot that is served, of the ledger or of the remote history; raises LedgerEmpty
    where there is none, and what RemoteReads.read does.
    """
    stored = store.bounds()
    if not is_configured() or (stored is not None and stored[0] <= _first_remote_slot()):
        return bounds.first_available_block()
    found = reads.read(lambda history: history.first_slot())
    if found is None or (stored is not None and stored[0] <= found):
        return bounds.first_available_block()
    reads.mark()
    return Slot(found)


def coverage() -> LedgerCoverage:
    """The stored range, and what the settings say of the remote history; reads nothing of it."""
    stored = store.bounds()
    first, last = (None, None) if stored is None else stored
    remote = None
    if is_configured() and (first is None or first > _first_remote_slot()):
        remote = RemoteHistory(
            first_slot=_first_remote_slot(),
            last_slot=None if first is None else first - 1,
            source="old-faithful",
            network=settings.OLD_FAITHFUL_NETWORK,
            signature_epochs=sorted(settings.OLD_FAITHFUL_SIGNATURE_EPOCHS),
        )
    context = Context(slot=last or 0, api_version=settings.LEDGER_API_VERSION)
    bands = [] if stored is None else storage.bands(*stored)
    return LedgerCoverage(
        context=context,
        value=Coverage(
            first_slot=first,
            last_slot=last,
            storage=[StorageBand.of(*each) for each in bands],
            remote=remote,
        ),
    )


def _first_remote_slot() -> Slot:
    return Slot(storage.first_remote_slot())
