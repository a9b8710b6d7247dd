"""python -m chain.verify_proof FILE: checks what getSlotProof gave, with Python and the packages
blake3, msgspec, numpy, solders and zstandard alone; no settings, database or network.
"""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import NamedTuple

from solders.hash import Hash

from chain.proof_check import FalseProof, Verdict, check, read_stakes
from chain.slot_proof import MalformedProof, read_proofs

PROVEN, FALSE, MALFORMED, TOO_FEW = 0, 1, 2, 3
HELP = (
    "Check proofs of slots (getSlotProof): one document, or a JSON list of consecutive ones, of"
    " which the last needs votes. Nothing is asked of a database or the network. Exits with 0"
    " where more than two thirds of the stake voted for it, 3 where all holds but fewer did, 1"
    " where something does not hold, 2 where the file is no proof."
)
FILE_HELP = "- for the standard input"
STAKES_HELP = (
    "stakes to count instead of the document's: a response of getVoteAccounts, or an object of"
    " lamports by vote account"
)


class Outcome(NamedTuple):
    """What was checked, line by line; the exit code, and why it is not 0."""

    lines: list[str]
    code: int
    why: str = ""


def verify(path: Path, stakes_path: Path | None = None) -> Outcome:
    """Checks the file, `-` for the standard input; with stakes of one's own those count."""
    try:
        stakes = None if stakes_path is None else read_stakes(_read(stakes_path))
        verdict = check(read_proofs(_read(path)), stakes)
    except OSError as error:
        return Outcome([], MALFORMED, f"{path}: {error.strerror or error}")
    except MalformedProof as fault:
        return Outcome([], MALFORMED, f"{path}: {fault}")
    except FalseProof as fault:
        return Outcome([], FALSE, f"{path}: it proves nothing: {fault}")
    lines = _lines(verdict)
    return Outcome(lines, PROVEN) if verdict.is_proven else Outcome(lines, TOO_FEW, _why(verdict))


def _read(path: Path) -> bytes:
    return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()


def _lines(verdict: Verdict) -> list[str]:
    votes, slots = verdict.votes, f"slot {verdict.last}"
    if verdict.slots > 1:
        slots = f"{verdict.slots} slots, {verdict.first} to {verdict.last}"
    lines = [
        f"{slots}: bank hash {Hash(verdict.bank_hash)}",
        "checked: the checksum of each lattice hash, and each bank's hash from its parts",
    ]
    if verdict.slots > 1:
        lines.append("checked: each bank has the hash of the one before it")
    if votes.accounts:
        lines.append(
            f"checked: {votes.accounts} votes for the bank of slot {verdict.voted_slot}, each"
            " signed, of an account of its own"
        )
        share = votes.share
        if share is not None:
            lines.append(
                f"stake: {votes.stake} of {votes.total} lamports voted for it, {share:.2%}"
            )
    lines += [f"believed: {each}" for each in verdict.believed]
    lines.append(
        "not shown here: that an archive has these accounts. All of them, summed up, make the"
        " lattice hash"
    )
    return lines


def _why(verdict: Verdict) -> str:
    votes = verdict.votes
    if not votes.accounts:
        return "all holds, and no vote is in it: nothing shows that the cluster had this bank"
    if votes.share is None:
        return f"all holds, and {votes.accounts} accounts voted; how much stake is not known"
    if not votes.is_supermajority:
        return f"all holds, and no more than two thirds of the stake voted: {votes.share:.2%}"
    return f"all holds; the votes cover the slots up to {verdict.voted_slot} alone"


def main() -> int:
    """The exit code."""
    parser = ArgumentParser(prog="python -m chain.verify_proof", description=HELP)
    parser.add_argument("path", type=Path, metavar="FILE", help=FILE_HELP)
    parser.add_argument("--stakes", type=Path, metavar="FILE", help=STAKES_HELP)
    given = parser.parse_args()
    outcome = verify(given.path, given.stakes)
    for line in outcome.lines:
        print(line)
    if outcome.why:
        print(outcome.why, file=sys.stderr)
    return outcome.code


if __name__ == "__main__":
    sys.exit(main())
