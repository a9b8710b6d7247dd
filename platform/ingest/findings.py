"""What an order may find, what that means, and what to do about it."""

from typing import NamedTuple


class Words(NamedTuple):
    """`lacking`: the slot is not here, so that a gap of it can be opened. `settled`: told, and
    nothing is left to do.
    """

    text: str
    advice: str
    lacking: bool = False
    settled: bool = False


_REINGEST = "Re-ingest the slot"
_GAP = "Open a gap: it is then filled by itself"

FINDINGS = {
    # The ledger in itself
    "parent_missing": Words("block is not stored, though the next one follows it", _GAP, True),
    "between_links": Words("block lies between another block and its parent", _REINGEST),
    "wrong_link": Words("its previous blockhash is not its parent's blockhash", _REINGEST),
    "index_count": Words("the index has another number of transactions than the block", _REINGEST),
    "unreadable": Words("the stored transactions cannot be read", _REINGEST),
    "wrong_signature": Words("a transaction does not stand where the index says", _REINGEST),
    "address_index": Words("a transaction is not found by its fee payer", _REINGEST),
    "ledger_tally": Words("the count of its thousand slots is wrong", "Re-ingest counts it anew"),
    # The archive in itself, and against the ledger
    "other_block": Words("archive and ledger hold different blocks", _REINGEST),
    "not_archived": Words("the ledger has its block, the archive has nothing", _GAP, True),
    "not_stored": Words("the archive has it, the ledger has no block", _GAP, True),
    "write_missing": Words(
        "a balance changed, and the archive has no write of it", "Re-ingest it from the stream"
    ),
    "wrong_balance": Words(
        "a write has another balance than the block tells", "Re-ingest it from the stream"
    ),
    "write_count": Words(
        "it has another number of writes than were counted", "Re-ingest it from the stream"
    ),
    "archive_tally": Words("the count of its thousand slots is wrong", "Re-ingest counts it anew"),
    # Against a source
    "node_differs": Words("the node's block says otherwise", _REINGEST),
    "node_has_it": Words("the node has a block that is not here", _GAP, True),
    "node_has_none": Words(
        "the node lists no block here", "Ask another node; if it agrees, use remove_blocks"
    ),
    "replaced": Words(
        "the stored block said otherwise and was stored anew", "Nothing is left", settled=True
    ),
    "corrected": Words(
        "account writes were lacking or wrong, and are mended", "Nothing is left", settled=True
    ),
    "last_writes_alone": Words(
        "the stream gives each account's last write alone; every write is archived already",
        "Nothing is left; replay the transactions to verify them",
        settled=True,
    ),
    "refused": Words("what came could not be stored", "Read the reason; ask another source"),
    "source_lacks": Words(
        "the source does not have it", "Ask another node; account writes come from a stream alone"
    ),
}

SETTLED = frozenset(what for what, words in FINDINGS.items() if words.settled)
