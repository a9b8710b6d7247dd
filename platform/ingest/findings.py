"""The findings of orders: their texts, and what to do about them."""

from typing import NamedTuple


class FindingText(NamedTuple):
    """`is_missing`: the slot is not stored, or is refuted, so a gap of it can be opened.
    `is_settled`: for information, nothing is left to do.
    """

    text: str
    advice: str
    is_missing: bool = False
    is_settled: bool = False


_REINGEST = "Re-ingest the slot"
_GAP = "Open a gap: it is then filled automatically"

FINDINGS = {
    # The ledger alone
    "parent_missing": FindingText("the block is not stored, but its child is", _GAP, True),
    "between_links": FindingText("the block lies between another block and its parent", _REINGEST),
    "wrong_link": FindingText(
        "its previous blockhash differs from its parent's blockhash", _REINGEST
    ),
    "index_count": FindingText(
        "the index and the block have different numbers of transactions", _REINGEST
    ),
    "unreadable": FindingText("the stored transactions cannot be read", _REINGEST),
    "wrong_signature": FindingText(
        "a transaction is not what was signed: a signature does not verify",
        "Re-ingest the slot from another source",
    ),
    "downgraded_version": FindingText(
        "a signature does not verify: a version 1 transaction that a node handed on as version 0"
        " (4.2.0 to 4.2.2), or an altered one",
        "Re-ingest the slot from a node of another version",
    ),
    "duplicate_transaction": FindingText("the block has a transaction twice", _REINGEST),
    "wrong_index": FindingText(
        "a transaction is not at the position that the index has", _REINGEST
    ),
    "wrong_outcome": FindingText(
        "the index has another outcome of a transaction than its status meta", _REINGEST
    ),
    "address_index": FindingText("a transaction is not in the index of its fee payer", _REINGEST),
    "ledger_tally": FindingText(
        "the count of its thousand slots is wrong", "Re-ingest counts it again"
    ),
    # The archive, alone and compared with the ledger
    "other_block": FindingText("archive and ledger have different blocks", _REINGEST),
    "not_archived": FindingText(
        "the ledger has its block, the archive does not have the slot", _GAP, True
    ),
    "not_stored": FindingText("the archive has the slot, the ledger has no block", _GAP, True),
    "write_missing": FindingText(
        "a balance changed, but the archive has no write for it", "Re-ingest it from the stream"
    ),
    "wrong_balance": FindingText(
        "a write has another balance than the block", "Re-ingest it from the stream"
    ),
    "write_count": FindingText(
        "the number of writes differs from the count", "Re-ingest it from the stream"
    ),
    "archive_tally": FindingText(
        "the count of its thousand slots is wrong", "Re-ingest counts it again"
    ),
    # Refuted slots
    "refuted_account": FindingText(
        "the cluster voted for another state of the slot, and this account differs",
        "Open a gap where a stream still has the slot: the account's writes leave, and it is"
        " fetched again",
        is_missing=True,
    ),
    "refuted_left": FindingText(
        "the stream has the account otherwise: its writes left, and the slot is fetched again",
        "Nothing to do",
        is_settled=True,
    ),
    "refuted_by_nothing": FindingText(
        "the cluster voted for another state of the slot, and nothing shows which account differs",
        "Try another source, or a snapshot of the slot: manage.py locate_refuted",
    ),
    "not_compared": FindingText(
        "a part of the refuted slot could not be compared: an account that differs may hide there",
        "Try another source, or a snapshot of the slot: manage.py locate_refuted",
    ),
    # Compared with a source
    "node_differs": FindingText("the node's block differs", _REINGEST),
    "node_has_it": FindingText("the node has a block that is not stored", _GAP, True),
    "node_has_none": FindingText(
        "the node has no block in this slot",
        "Check with another node; if it agrees, use remove_blocks",
    ),
    "replaced": FindingText(
        "the stored block differed and was replaced", "Nothing to do", is_settled=True
    ),
    "corrected": FindingText(
        "account writes were missing or wrong, and were corrected", "Nothing to do", is_settled=True
    ),
    "last_writes_alone": FindingText(
        "the stream has only the last write of each account; every write is archived already",
        "Nothing to do; replay the transactions to verify them",
        is_settled=True,
    ),
    "refused": FindingText(
        "the fetched slot could not be stored", "See the reason; try another source"
    ),
    "source_lacks": FindingText(
        "the source does not have it", "Try another node; only a stream has account writes"
    ),
}

SETTLED = frozenset(what for what, text in FINDINGS.items() if text.is_settled)
