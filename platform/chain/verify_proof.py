"""python -m chain.verify_proof FILE: checks what getSlotProof gave, with Python and the packages
blake3, msgspec, numpy, solders and zstandard alone; no settings, database or network.
"""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import NamedTuple

from solders.hash import Hash

from chain.electorates import read_electorates
from chain.false_proofs import FalseProof, OtherEpoch
from chain.proof_check import Basis, Verdict, check
from chain.slot_proof import MalformedProof, read_proofs

PROVEN, FALSE, MALFORMED, TOO_FEW, OWN_WORD = 0, 1, 2, 3, 4
HELP = (
    "Check proofs of slots (getSlotProof): one document, or a JSON list of consecutive ones, of"
    " which the last needs votes. Nothing is asked of a database or the network. Exits with 0 only"
    " if more than two thirds of the stake voted for it by stakes and voters that you give with"
    " --stakes; with 4 if it holds by the document's own word; 3: all holds but fewer voted; 1:"
    " something does not hold; 2: a file cannot be used."
)
FILE_HELP = "- for the standard input"
STAKES_HELP = (
    "stakes and voters to count instead of the document's, as snapshot_stakes writes them; a"
    " response of getVoteAccounts, or an object of lamports by vote account, has no voters"
)


class Outcome(NamedTuple):
    """What was checked, line by line; the exit code, and why it is not 0."""

    lines: list[str]
    code: int
    why: str = ""


def verify(path: Path, stakes_path: Path | None = None) -> Outcome:
    """Checks the file, `-` for the standard input; with stakes of one's own those count."""
    at = path
    try:
        proofs = read_proofs(_read(path))
        at = stakes_path or path
        given = [] if stakes_path is None else read_electorates(_read(stakes_path))
        verdict = check(proofs, given)
    except OSError as error:
        return Outcome([], MALFORMED, f"{at}: {error.strerror or error}")
    except (MalformedProof, OtherEpoch) as fault:
        return Outcome([], MALFORMED, f"{at}: {fault}")
    except FalseProof as fault:
        return Outcome([], FALSE, f"{path}: it proves nothing: {fault}")
    lines = _lines(verdict)
    if verdict.is_proven:
        return Outcome(lines, PROVEN)
    if verdict.is_voted:
        return Outcome(lines, OWN_WORD, _own_word(verdict))
    return Outcome(lines, TOO_FEW, _why(verdict))


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
    if votes.uncounted:
        lines.append(
            f"not counted: {_counted(votes.uncounted)}, of accounts without stake or not signed by"
            " their voter, by the stakes given"
        )
    if votes.accounts:
        lines.append(
            f"checked: {_counted(votes.accounts)} for the bank of slot {verdict.voted_slot}, each"
            " signed, of an account of its own"
        )
        share = votes.share
        if share is not None:
            lines.append(
                f"stake: {votes.stake} of {votes.total} lamports voted for it, {share:.2%}"
            )
    lines += [f"trusted: {each}" for each in verdict.believed]
    lines.append(
        "not shown here: whether the votes' transactions landed and succeeded: their signatures"
        " count"
    )
    lines.append(
        "not shown here: that an archive has these accounts. All of them, summed up, make the"
        " lattice hash"
    )
    return lines


def _counted(votes: int) -> str:
    return "1 vote" if votes == 1 else f"{votes} votes"


def _own_word(verdict: Verdict) -> str:
    if verdict.basis is Basis.STAKES:
        return (
            "all holds, by the document's own word: the stakes given name no voters, so its"
            " maker chose who may sign"
        )
    return (
        "all holds, by the document's own word: it names the stakes and voters itself; give those"
        " that you trust with --stakes"
    )


def _why(verdict: Verdict) -> str:
    votes = verdict.votes
    if verdict.missing is not None and not votes.is_supermajority:
        return f"all holds, and too few voted for these slots{_missing(verdict)}"
    if not votes.accounts and votes.uncounted:
        return "all holds, and none of the votes counts by the stakes and voters given"
    if not votes.accounts:
        return "all holds, and no vote is in it: nothing shows that the cluster had this bank"
    if votes.share is None:
        return f"all holds, and {votes.accounts} accounts voted; how much stake is not known"
    if not votes.is_supermajority:
        return f"all holds, and no more than two thirds of the stake voted: {votes.share:.2%}"
    return (
        f"all holds; the votes cover the slots up to {verdict.voted_slot} alone{_missing(verdict)}"
    )


def _missing(verdict: Verdict) -> str:
    if verdict.missing is None:
        return ""
    return (
        f": votes for slot {verdict.missing} settle them, and the documents of the slots above"
        f' {verdict.last} up to it are missing; getSlotProof with {{"chain": true}} has them'
    )


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
