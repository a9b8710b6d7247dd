"""manage.py import_snapshot PATH: import a baseline of accounts into the archive."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone
from solders.pubkey import Pubkey

from chain.units import Slot
from ingest.errors import OtherChain
from ingest.import_command import ProgressLine
from ingest.known_chains import add_genesis
from ingest.services.snapshots import import_accounts, import_snapshot
from rewind.baselines.services.baseline import RecordedBaseline
from rewind.errors import BadBaseline
from staff.formatting import counted
from upstream.archives.account_json import accounts_of
from upstream.archives.errors import BadSnapshot
from upstream.archives.snapshots import Snapshot

_REDRAW_SECONDS = 0.5


class Command(BaseCommand):
    help = (
        "Import accounts into the archive as of one slot: a validator's snapshot archive"
        " (.tar.zst or .tar), full or incremental over its full one, or account JSON (one file, or"
        " a folder of *.json) with --slot. Importing again changes nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, metavar="PATH")
        parser.add_argument("--slot", type=int, help="the slot of the accounts' states")
        parser.add_argument(
            "--owner",
            action="append",
            default=[],
            metavar="PUBKEY",
            help="only accounts of this program; may be given several times",
        )
        parser.add_argument(
            "--replace-stakes",
            action="store_true",
            help="take the epochs' stakes of this snapshot where those of another one differ",
        )
        add_genesis(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["path"]
        owners = frozenset(_pubkey(text) for text in options["owner"])
        try:
            if path.is_dir() or path.suffix == ".json":
                recorded = self._files(path, options, owners)
            else:
                recorded = self._archive(path, options, owners)
        except OtherChain as error:
            raise CommandError(f"{path}: {error}\n  nothing of it was imported") from error
        except (BadSnapshot, BadBaseline) as error:
            raise CommandError(f"{error}\n  nothing of it was imported") from error
        except OSError as error:
            reason = error.strerror or str(error)
            raise CommandError(f"{path}: {reason}\n  nothing of it was imported") from error
        present = f", {recorded.present:,} there already" if recorded.present else ""
        gone = f", {recorded.gone:,} closed ones left out" if recorded.gone else ""
        self.stdout.write(
            f"{path}: {counted(recorded.accounts, 'account')} imported{present}{gone}"
        )
        self.stdout.write(f"  {recorded.shown}")

    def _files(self, path: Path, options: Any, owners: frozenset[bytes]) -> RecordedBaseline:
        if options["slot"] is None:
            raise CommandError("account files do not name their slot: give it with --slot")
        chosen = (each for each in accounts_of(path) if not owners or each.owner in owners)
        return import_accounts(
            chosen,
            Slot(options["slot"]),
            source=path.name,
            genesis_hash=options["genesis"],
            now=timezone.now(),
        )

    def _archive(self, path: Path, options: Any, owners: frozenset[bytes]) -> RecordedBaseline:
        line = ProgressLine(_REDRAW_SECONDS)

        def draw(position: int, size: int) -> None:
            line.draw(f"{position / size if size else 1:4.0%} read")

        with Snapshot(path, progress=draw) as snapshot:
            try:
                return import_snapshot(
                    snapshot,
                    slot=options["slot"],
                    owners=owners,
                    genesis_hash=options["genesis"],
                    now=timezone.now(),
                    replace_stakes=options["replace_stakes"],
                )
            finally:
                line.clear()
                if snapshot.warning:
                    self.stderr.write(self.style.WARNING(f"{path}: {snapshot.warning}"))


def _pubkey(text: str) -> bytes:
    try:
        return bytes(Pubkey.from_string(text))
    except ValueError:
        raise CommandError(f"--owner {text}: no pubkey") from None
