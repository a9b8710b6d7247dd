"""Layout: an instruction with accounts and data at fixed positions; variants: several by number."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from chain.parsed.cursor import Cursor, UnreadableError

Info = dict[str, Any]
# The `type` of a parsed instruction and its `info`, which one instruction has not.
Typed = tuple[str, Info | None]
Reader = Callable[[Cursor], Any]
Parser = Callable[[list[str], Cursor], Typed]


@dataclass(frozen=True, slots=True)
class Layout:
    """How to read one instruction: its `type`, the names of its accounts in order (all must be
    there, more may follow), its data fields in order (a None name is read and not shown), and,
    for tokens, the names of the authority that follows the accounts (single, multisig).
    `optional` accounts follow the others, and are not shown where they are missing, as `omitted`
    fields are not where they are None.
    """

    type: str
    accounts: tuple[str, ...]
    fields: tuple[tuple[str | None, Reader], ...] = ()
    authority: tuple[str, str] | None = None
    exact: bool = False  # the data must end after the fields
    optional: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()

    def __call__(self, accounts: list[str], cursor: Cursor) -> tuple[str, Info]:
        names = self.accounts
        if len(accounts) < len(names) + (self.authority is not None):
            raise UnreadableError
        info: Info = dict(zip(names, accounts, strict=False))
        if self.optional:
            info.update(zip(self.optional, accounts[len(names) :], strict=False))
        for name, read in self.fields:
            value = read(cursor)
            if name is not None:
                info[name] = value
        for name in self.omitted:
            if info[name] is None:
                del info[name]
        if self.exact:
            cursor.end()
        if self.authority is not None:
            put_authority(info, accounts, len(names), self.authority)
        return self.type, info


def variants(parsers: Mapping[int, Parser], tag: Callable[[Cursor], int] = Cursor.u32) -> Parser:
    """The instructions by the number that `tag` reads from their data; UnreadableError for other
    numbers.
    """
    parser_of = parsers.get

    def parse(accounts: list[str], cursor: Cursor) -> Typed:
        parser = parser_of(tag(cursor))
        if parser is None:
            raise UnreadableError
        return parser(accounts, cursor)

    return parse


def record(*fields: tuple[str | None, Reader]) -> Callable[[Cursor], Info]:
    """Reads the fields one after another, and gives them in the order of their names, as the node
    has them; a None name is read and not shown.
    """
    names = sorted(name for name, _ in fields if name is not None)

    def read(cursor: Cursor) -> Info:
        found = {name: read_field(cursor) for name, read_field in fields}
        return {name: found[name] for name in names}

    return read


def at_least(accounts: list[str], count: int) -> None:
    """UnreadableError if there are fewer accounts."""
    if len(accounts) < count:
        raise UnreadableError


def or_multisig(name: str) -> tuple[str, str]:
    """An authority's name when one key signs, and its name when it is a multisig account."""
    return name, "multisig" + name[0].upper() + name[1:]


def put_authority(info: Info, accounts: list[str], at: int, names: tuple[str, str]) -> None:
    """Adds the authority at index `at`; accounts after it are the signers of a multisig."""
    single, multisig = names
    if len(accounts) > at + 1:
        info[multisig] = accounts[at]
        info["signers"] = accounts[at + 1 :]
    elif len(accounts) > at:
        info[single] = accounts[at]
