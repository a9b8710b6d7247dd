"""Commitment, encodings and forms of transactions as the wire names them."""

from enum import Enum
from typing import NamedTuple


class Commitment(Enum):
    PROCESSED = "processed"
    CONFIRMED = "confirmed"
    FINALIZED = "finalized"


class TransactionEncoding(Enum):
    """How a transaction is written in an answer; `json` is the default everywhere. `binary` is
    base58 as bare text, of old clients.
    """

    BINARY = "binary"
    BASE64 = "base64"
    BASE58 = "base58"
    JSON = "json"
    JSON_PARSED = "jsonParsed"


# Those that hold the transaction's own bytes.
BINARY_ENCODINGS = frozenset(
    {TransactionEncoding.BINARY, TransactionEncoding.BASE58, TransactionEncoding.BASE64}
)


class TransactionDetails(Enum):
    """How much of a block's transactions an answer holds."""

    FULL = "full"
    ACCOUNTS = "accounts"
    SIGNATURES = "signatures"
    NONE = "none"


class BlockForm(Enum):
    """Which age of the standard node an answer's optional fields are of."""

    CURRENT = "current"
    SOURCE = "source"


class BlockOptions(NamedTuple):
    """How a block is written; `max_version` is the newest version that the caller can read, None of
    one that names none.
    """

    encoding: TransactionEncoding = TransactionEncoding.JSON
    details: TransactionDetails = TransactionDetails.FULL
    rewards: bool = True
    max_version: int | None = None
    form: BlockForm = BlockForm.CURRENT
