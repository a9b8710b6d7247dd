"""Where an archive keeps an epoch's files, and CIDs as its names write them."""

import base64
import binascii

from chain.units import SLOTS_PER_EPOCH
from upstream.archives.car_nodes import CID_SIZE, CID_START

SLOT_TO_CID = "slot-to-cid"
CID_TO_OFFSET_AND_SIZE = "cid-to-offset-and-size"
SIGNATURE_TO_CID = "sig-to-cid"
SIGNATURE_EXISTS = "sig-exists"


def epoch_of(slot: int) -> int:
    """The epoch whose files have the slot: files count epochs of 432,000 slots on every network."""
    return slot // SLOTS_PER_EPOCH


def car_path(epoch: int) -> str:
    """The epoch's blocks."""
    return f"{epoch}/epoch-{epoch}.car"


def cid_path(epoch: int) -> str:
    """The small file that names the root of the epoch's CAR."""
    return f"{epoch}/epoch-{epoch}.cid"


def index_path(epoch: int, root: bytes, network: str, kind: str) -> str:
    """One of the epoch's indexes."""
    return f"{epoch}/epoch-{epoch}-{cid_text(root)}-{network}-{kind}.index"


def cid_text(cid: bytes) -> str:
    """`bafy…`: base32 in lower case behind its letter."""
    return "b" + base64.b32encode(cid).decode().lower().rstrip("=")


def cid_bytes(text: str) -> bytes | None:
    """The CID of a node that the text is; None where it is none."""
    padded = text[1:].upper() + "=" * (-len(text[1:]) % 8)
    try:
        cid = base64.b32decode(padded)
    except (binascii.Error, ValueError):
        return None
    good = text[:1] == "b" and len(cid) == CID_SIZE and cid.startswith(CID_START)
    return cid if good else None
