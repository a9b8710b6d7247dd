"""The proof of a slot of a recorded Agave 4.4.0: from its snapshot's bank and its blocks' votes."""

import json
from pathlib import Path
from typing import Any

import zstandard
from solders.hash import Hash
from solders.pubkey import Pubkey

from chain.bank_votes import votes_in
from chain.encodings import b58encode, b64encode
from chain.lattice import LatticeHash
from chain.transactions import encode_wire
from upstream.archives.block_files import open_block_file
from upstream.archives.snapshots import Snapshot

FOLDER = "agave-4.4.0"
SLOT = 600


def snapshot_path(fixtures: Path, slot: int = SLOT) -> Path:
    (path,) = (fixtures / FOLDER).glob(f"snapshot-{slot}-*.tar.zst")
    return path


def recorded_proof(fixtures: Path, folder: Path) -> dict[str, Any]:
    """The document of SLOT; what it says of stakes and voters is the snapshot's."""
    with Snapshot(snapshot_path(fixtures)) as snapshot:
        next(iter(snapshot))
        manifest = snapshot.manifest
    assert manifest is not None and manifest.lattice is not None
    bank = manifest.bank
    (stakes,) = (each for each in manifest.epoch_stakes if each.epoch == 4)
    return {
        "slot": SLOT,
        "bankHash": str(Hash(bank.hash)),
        "parentSlot": bank.parent_slot,
        "parentBankHash": str(Hash(bank.parent_hash)),
        "signatureCount": bank.signature_count,
        "blockhash": str(Hash(manifest.blockhash)),
        "accountsLatticeHash": b64encode(manifest.lattice),
        "accountsLatticeChecksum": str(Hash(LatticeHash(manifest.lattice).checksum)),
        "epoch": stakes.epoch,
        "totalStake": stakes.total,
        "votes": _votes(fixtures, folder, bank.hash, stakes.stakes, stakes.voters),
    }


def _votes(
    fixtures: Path,
    folder: Path,
    bank_hash: bytes,
    stakes: dict[bytes, int],
    voters: dict[bytes, bytes],
) -> list[dict[str, Any]]:
    packed = (fixtures / FOLDER / "blocks.json.zst").read_bytes()
    blocks = json.loads(zstandard.ZstdDecompressor().decompress(packed))
    above = folder / "blocks.json"
    above.write_text(json.dumps({str(slot): blocks[str(slot)] for slot in range(601, 606)}))
    found: dict[bytes, dict[str, Any]] = {}
    with open_block_file(above) as records:
        for record in records:
            for each in record.transactions:
                for vote in votes_in(each.decoded):
                    if (vote.slot, vote.bank_hash) == (SLOT, bank_hash):
                        account = vote.vote_account
                        found[account] = {
                            "votePubkey": str(Pubkey(account)),
                            "authorizedVoter": str(Pubkey(voters[account])),
                            "signature": b58encode(each.signature),
                            "slot": record.slot,
                            "stake": stakes[account],
                            "transaction": b64encode(encode_wire(each.decoded)),
                        }
    return list(found.values())
