"""Storage: the chain in localnet's folder, from which a restart continues."""

import fcntl
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import zstandard
from solders.account import Account
from solders.pubkey import Pubkey

from chain.accounts import AccountWrite
from chain.blocks import SlotRecord, TransactionRecord
from chain.units import Slot
from localnet.bank import BankState
from localnet.block_index import IndexedTransaction
from localnet.feed import EntryMade

# Blocks kept behind the newest one.
KEPT_BLOCKS = 20_000
_PRUNE_EVERY = 200
_FILE = "ledger.sqlite3"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS accounts (
    pubkey BLOB PRIMARY KEY, lamports BLOB NOT NULL, owner BLOB NOT NULL, data BLOB NOT NULL,
    executable INTEGER NOT NULL, rent_epoch BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS blocks (
    slot INTEGER PRIMARY KEY, block_time INTEGER, body BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS transactions (
    slot INTEGER NOT NULL, position INTEGER NOT NULL, signature BLOB NOT NULL, err BLOB, memo TEXT,
    PRIMARY KEY (slot, position)
) WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS transaction_of_signature ON transactions (signature);
CREATE TABLE IF NOT EXISTS addresses (
    address BLOB NOT NULL, slot INTEGER NOT NULL, position INTEGER NOT NULL,
    PRIMARY KEY (address, slot, position)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS address_of_slot ON addresses (slot);
"""
_UPSERT = """
INSERT INTO accounts VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (pubkey) DO UPDATE SET
    lamports = excluded.lamports, owner = excluded.owner, data = excluded.data,
    executable = excluded.executable, rent_epoch = excluded.rent_epoch
"""


class FolderTaken(Exception):
    """Another localnet runs on this folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"another localnet runs on {folder}")


class Storage:
    """The finalized chain in one SQLite file. A block, its accounts and the bank's state are one
    database transaction: a process that is killed leaves all of them or none.
    """

    def __init__(self, folder: Path, *, reset: bool = False) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise FolderTaken(folder) from None
        if reset:
            for name in (_FILE, f"{_FILE}-wal", f"{_FILE}-shm"):
                (folder / name).unlink(missing_ok=True)
        self._database = sqlite3.connect(folder / _FILE, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        # Enough for a process that dies; only a machine that loses its power may lose a second.
        self._database.execute("PRAGMA synchronous = NORMAL")
        self._database.executescript(_SCHEMA)
        self._until_prune = 0

    def close(self) -> None:
        self._database.close()
        os.close(self._lock)

    # --- facts ------------------------------------------------------------------------------------

    def fact(self, name: str) -> bytes | None:
        """A single value that was kept under this name."""
        found = self._database.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if found is None else bytes(found[0])

    def keep_fact(self, name: str, value: bytes) -> None:
        self._database.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def number(self, name: str) -> int:
        """A kept number, 0 where there is none."""
        return int.from_bytes(self.fact(name) or b"", "little")

    def keep_number(self, name: str, value: int) -> None:
        self.keep_fact(name, value.to_bytes(8, "little"))

    def state(self) -> BankState | None:
        """The newest finalized bank, None in an empty folder."""
        packed = self.fact("bank")
        return None if packed is None else msgspec.msgpack.decode(packed, type=BankState)

    # --- accounts ---------------------------------------------------------------------------------

    def accounts(self) -> Iterator[tuple[Pubkey, Account]]:
        """Every finalized account."""
        for pubkey, lamports, owner, data, executable, rent_epoch in self._database.execute(
            "SELECT * FROM accounts"
        ):
            yield (
                Pubkey(pubkey),
                Account(_u64(lamports), data, Pubkey(owner), bool(executable), _u64(rent_epoch)),
            )

    # --- blocks -----------------------------------------------------------------------------------

    def keep(
        self,
        state: BankState,
        record: SlotRecord,
        written: Mapping[Pubkey, Account],
        transactions: Iterable[IndexedTransaction],
        entries: Sequence[EntryMade] = (),
    ) -> None:
        """Keeps a finalized block with all that it changed."""
        run = self._database
        run.execute("BEGIN IMMEDIATE")
        try:
            run.executemany(_UPSERT, [_row(*each) for each in written.items() if each[1].lamports])
            gone = [(bytes(key),) for key, account in written.items() if not account.lamports]
            run.executemany("DELETE FROM accounts WHERE pubkey = ?", gone)
            run.execute(
                "INSERT INTO blocks VALUES (?, ?, ?)",
                (record.slot, record.block_time, _packed(record, entries)),
            )
            placed = list(enumerate(transactions))
            run.executemany(
                "INSERT INTO transactions VALUES (?, ?, ?, ?, ?)",
                [
                    (record.slot, place, each.signature, each.err, each.memo)
                    for place, each in placed
                ],
            )
            run.executemany(
                "INSERT OR IGNORE INTO addresses VALUES (?, ?, ?)",
                [(key, record.slot, place) for place, each in placed for key in each.addresses],
            )
            self.keep_fact("bank", msgspec.msgpack.encode(state))
            self._until_prune -= 1
            if self._until_prune < 0:
                self._until_prune = _PRUNE_EVERY
                self._prune()
            run.execute("COMMIT")
        except BaseException:
            if run.in_transaction:  # SQLite has rolled it back itself if the disk is full
                run.execute("ROLLBACK")
            raise

    def _prune(self) -> None:
        oldest = self._database.execute(
            "SELECT slot FROM blocks ORDER BY slot DESC LIMIT 1 OFFSET ?", (KEPT_BLOCKS,)
        ).fetchone()
        if oldest is not None:
            for table in ("blocks", "transactions", "addresses"):
                self._database.execute(f"DELETE FROM {table} WHERE slot <= ?", oldest)

    def block(self, slot: Slot) -> SlotRecord | None:
        """A finalized block with its account writes, None where there is none."""
        found = self._database.execute("SELECT body FROM blocks WHERE slot = ?", (slot,)).fetchone()
        return None if found is None else _record(_unpacked(found[0]))

    def newest_blocks(self, count: int) -> Iterator[tuple[SlotRecord, list[EntryMade]]]:
        """The newest blocks with their entries, oldest first; a block from before entries were
        kept has none.
        """
        rows = self._database.execute(
            "SELECT body FROM (SELECT slot, body FROM blocks ORDER BY slot DESC LIMIT ?)"
            " ORDER BY slot",
            (count,),
        )
        for (packed,) in rows:
            body = _unpacked(packed)
            yield _record(body), body.entries

    def block_time(self, slot: Slot) -> int | None:
        found = self._database.execute(
            "SELECT block_time FROM blocks WHERE slot = ?", (slot,)
        ).fetchone()
        return None if found is None else found[0]

    def slots(self, start: int, end: int, limit: int) -> list[Slot]:
        """The slots from start to end that have a block, at most so many."""
        rows = self._database.execute(
            "SELECT slot FROM blocks WHERE slot BETWEEN ? AND ? ORDER BY slot LIMIT ?",
            (start, end, limit),
        )
        return [Slot(slot) for (slot,) in rows]

    def last_slots(self, count: int) -> list[Slot]:
        """The newest slots that have a block, newest first."""
        rows = self._database.execute(
            "SELECT slot FROM blocks ORDER BY slot DESC LIMIT ?", (count,)
        )
        return [Slot(slot) for (slot,) in rows]

    def first_slot(self) -> Slot | None:
        """The lowest slot that is still kept."""
        found = self._database.execute("SELECT min(slot) FROM blocks").fetchone()[0]
        return None if found is None else Slot(found)

    def transaction_count(self, start: int, end: int) -> int:
        """How many transactions stand in the blocks from start to end."""
        count: int = self._database.execute(
            "SELECT count(*) FROM transactions WHERE slot BETWEEN ? AND ?", (start, end)
        ).fetchone()[0]
        return count

    def transactions_with(self, address: bytes, start: int, end: int) -> int:
        """How many of them load the address."""
        count: int = self._database.execute(
            "SELECT count(*) FROM addresses WHERE address = ? AND slot BETWEEN ? AND ?",
            (address, start, end),
        ).fetchone()[0]
        return count

    # --- transactions -----------------------------------------------------------------------------

    def place_of(self, signature: bytes) -> tuple[Slot, int, Any] | None:
        """A transaction's slot, index and error."""
        found = self._database.execute(
            "SELECT slot, position, err FROM transactions WHERE signature = ?", (signature,)
        ).fetchone()
        if found is None:
            return None
        slot, position, err = found
        return Slot(slot), position, None if err is None else msgspec.json.decode(err)

    def signatures_since(self, slot: int) -> Iterator[tuple[bytes, Slot, int, Any]]:
        """Signature, slot, index and error of the transactions from a slot on."""
        for signature, found, position, err in self._database.execute(
            "SELECT signature, slot, position, err FROM transactions WHERE slot >= ?", (slot,)
        ):
            decoded = None if err is None else msgspec.json.decode(err)
            yield bytes(signature), Slot(found), position, decoded

    def transactions_of(
        self, address: bytes, *, before: tuple[int, int], until: tuple[int, int], limit: int
    ) -> list[tuple[bytes, Slot, int, Any, str | None, int | None]]:
        """Transactions that load the address between two places, newest first: signature, slot,
        index, error, memo and block time.
        """
        rows = self._database.execute(
            """
            SELECT t.signature, t.slot, t.position, t.err, t.memo, b.block_time
            FROM addresses a JOIN transactions t USING (slot, position) JOIN blocks b USING (slot)
            WHERE a.address = ? AND (a.slot, a.position) < (?, ?) AND (a.slot, a.position) > (?, ?)
            ORDER BY a.slot DESC, a.position DESC LIMIT ?
            """,
            (address, *before, *until, limit),
        )
        return [
            (bytes(signature), slot, position, err and msgspec.json.decode(err), memo, time)
            for signature, slot, position, err, memo, time in rows
        ]


def _u64(data: bytes) -> int:
    # SQLite's integers are signed, and rent_epoch is mostly u64::MAX.
    return int.from_bytes(data, "little")


def _row(key: Pubkey, account: Account) -> tuple[bytes, bytes, bytes, bytes, bool, bytes]:
    return (
        bytes(key),
        account.lamports.to_bytes(8, "little"),
        bytes(account.owner),
        bytes(account.data),
        account.executable,
        account.rent_epoch.to_bytes(8, "little"),
    )


class _Transaction(msgspec.Struct):
    """A TransactionRecord as it is stored."""

    wire: bytes
    meta: dict[str, Any] | None


class _Body(msgspec.Struct, array_like=True):
    """A SlotRecord as it is stored; its form is always today's."""

    slot: int
    parent_slot: int
    blockhash: str
    previous_blockhash: str
    block_time: int | None
    block_height: int | None
    transactions: list[_Transaction]
    rewards: list[dict[str, Any]] | None
    account_writes: list[AccountWrite] | None
    entries: list[EntryMade] = msgspec.field(default_factory=list)


_RECORD_FIELDS = [name for name in _Body.__struct_fields__ if name != "entries"]


def _packed(record: SlotRecord, entries: Sequence[EntryMade]) -> bytes:
    kept: dict[str, Any] = {name: getattr(record, name) for name in _RECORD_FIELDS}
    kept["transactions"] = [_Transaction(each.wire, each.meta) for each in record.transactions]
    body = _Body(**kept, entries=list(entries))
    return bytes(zstandard.ZstdCompressor(level=1).compress(msgspec.msgpack.encode(body)))


def _unpacked(packed: bytes) -> _Body:
    return msgspec.msgpack.decode(zstandard.ZstdDecompressor().decompress(packed), type=_Body)


def _record(body: _Body) -> SlotRecord:
    fields = {name: getattr(body, name) for name in _RECORD_FIELDS}
    fields["transactions"] = [TransactionRecord(each.wire, each.meta) for each in body.transactions]
    return SlotRecord(**fields)
