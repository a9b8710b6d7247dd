"""manage.py verify_proof FILE: checks what getSlotProof gave, without database or network."""

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from solders.hash import Hash

from chain.proof_check import FalseProof, Verdict, check, read_stakes
from chain.slot_proof import MalformedProof, read_proofs

FALSE, MALFORMED, TOO_FEW = 1, 2, 3


class Command(BaseCommand):
    help = (
        "Check proofs of slots (getSlotProof): one document, or a JSON list of consecutive ones, of"
        " which the last needs votes. Nothing is asked of a database or the network. Exits with 0"
        " where more than two thirds of the stake voted for it, 3 where all holds but fewer did, 1"
        " where something does not hold, 2 where the file is no proof."
    )
    requires_system_checks: list[str] = []  # it needs no database

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, metavar="FILE", help="- for the standard input")
        parser.add_argument(
            "--stakes",
            type=Path,
            metavar="FILE",
            help="stakes to count instead of the document's: a response of getVoteAccounts, or an"
            " object of lamports by vote account",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        path: Path = options["path"]
        try:
            stakes = None if options["stakes"] is None else read_stakes(_read(options["stakes"]))
            verdict = check(read_proofs(_read(path)), stakes)
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror or error}", returncode=MALFORMED) from None
        except MalformedProof as fault:
            raise CommandError(f"{path}: {fault}", returncode=MALFORMED) from None
        except FalseProof as fault:
            raise CommandError(f"{path}: it proves nothing: {fault}", returncode=FALSE) from None
        for line in _lines(verdict):
            self.stdout.write(line)
        if not verdict.is_proven:
            raise CommandError(_why_not(verdict), returncode=TOO_FEW)


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


def _why_not(verdict: Verdict) -> str:
    votes = verdict.votes
    if not votes.accounts:
        return "all holds, and no vote is in it: nothing shows that the cluster had this bank"
    if votes.share is None:
        return f"all holds, and {votes.accounts} accounts voted; how much stake is not known"
    if not votes.is_supermajority:
        return f"all holds, and no more than two thirds of the stake voted: {votes.share:.2%}"
    return f"all holds; the votes cover the slots up to {verdict.voted_slot} alone"
