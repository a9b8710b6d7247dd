"""LoadedPrograms: the programs that are loaded in a VM, with their code."""

from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from solders.account import Account
from solders.pubkey import Pubkey
from solders.solders import LiteSVM

from chain.addresses import LOADER_1, LOADER_2, LOADER_3, SYSTEM

_GONE = Account(0, b"", SYSTEM, False, 0)
_PROGRAM = (2).to_bytes(4, "little")
_PROGRAMDATA = (3).to_bytes(4, "little")
# Each keeps up to 10 MB alive.
_MOST_CODES = 16


class LoadedProgram(NamedTuple):
    """The accounts a program was loaded from; `callable` is False for code of the current slot."""

    program: Account
    code: Account | None
    callable: bool


class Code(NamedTuple):
    """An account with a program's code: its size, and its deployment slot (None if it has no code).
    The reference keeps the account's id from being reused.
    """

    account: Account
    size: int
    slot: int | None


class LoadedPrograms:
    """Programs take milliseconds to load, so they stay loaded until their code changes."""

    loaders = frozenset({LOADER_1, LOADER_2, LOADER_3})

    def __init__(self, vm: LiteSVM) -> None:
        self._vm = vm
        self._loaded: dict[Pubkey, LoadedProgram] = {}
        self._code_keys: set[Pubkey] = set()
        self._codes: OrderedDict[int, Code] = OrderedDict()
        # By program, including forgotten ones: the VM still has their code.
        self._sizes: dict[Pubkey, int] = {}

    def loaded_bytes(self) -> int:
        """The size of all loaded code."""
        return sum(self._sizes.values())

    def ensure_loaded(
        self, key: Pubkey, account: Account, load: Callable[[Pubkey], Account | None], slot: int
    ) -> bool:
        """Loads the program's current code if necessary; False if the account is not a program (a
        buffer, or program data).
        """
        if account.owner != LOADER_3:
            return self._ensure_elf(key, account)
        at = code_key(account)
        if at is None:
            return False
        code = load(at)
        # Code is visible from the slot after the one it was deployed in.
        wanted = LoadedProgram(
            account, code, code is not None and self.code(code).slot not in (None, slot)
        )
        if not self._is_loaded(key, wanted):
            self._load(key, at, wanted)
        return True

    def forget(self, key: Pubkey) -> None:
        """Drops the program: the key is about to hold another account."""
        self._loaded.pop(key, None)

    def is_code(self, key: Pubkey) -> bool:
        """Whether a program was loaded from this account."""
        return key in self._code_keys

    def code(self, account: Account) -> Code:
        """The cached size and slot of an account with a program's code: reading copies the data."""
        known = self._codes.get(id(account))
        if known is None:
            data = account.data
            slot = int.from_bytes(data[4:12], "little") if data[:4] == _PROGRAMDATA else None
            known = self._codes[id(account)] = Code(account, len(data), slot)
            if len(self._codes) > _MOST_CODES:
                self._codes.popitem(last=False)
        return known

    def code_size(self, account: Account) -> int:
        """The bytes of an account with a program's code."""
        return self.code(account).size

    def _is_loaded(self, key: Pubkey, wanted: LoadedProgram) -> bool:
        held = self._loaded.get(key)
        if held is None or held.callable != wanted.callable:
            return False
        # Bytes are compared in case the caller made equal accounts again.
        return (held.program is wanted.program or held.program == wanted.program) and (
            held.code is wanted.code or held.code == wanted.code
        )

    def _ensure_elf(self, key: Pubkey, account: Account) -> bool:
        wanted = LoadedProgram(account, None, True)
        if self._is_loaded(key, wanted):
            return True
        try:
            self._vm.set_account(key, _executable(account))
        except Exception:  # the wheel does not export its class
            return False
        self._loaded[key] = wanted
        self._sizes[key] = len(account.data)
        return True

    def _load(self, key: Pubkey, at: Pubkey, wanted: LoadedProgram) -> None:
        vm = self._vm
        program = _executable(wanted.program)
        code = wanted.code if wanted.code is not None else _GONE
        try:
            vm.set_account(at, code if wanted.callable else _GONE)
            vm.set_account(key, program)
        except Exception:  # the wheel does not export its class
            # Code that does not verify: a program without code fails as on the chain.
            vm.set_account(at, _GONE)
            vm.set_account(key, program)
        if not wanted.callable:
            vm.set_account(at, code)
        self._code_keys.add(at)
        self._loaded[key] = wanted
        self._sizes[key] = self.code_size(code)


def code_key(account: Account) -> Pubkey | None:
    """The program data key of an upgradeable program; None if the account is not a program."""
    data = account.data[:36]
    return Pubkey.from_bytes(data[4:]) if data[:4] == _PROGRAM and len(data) == 36 else None


def _executable(account: Account) -> Account:
    # The chain has ignored the flag since slot 350,352,004; this VM does not.
    if account.executable:
        return account
    return Account(account.lamports, account.data, account.owner, True, account.rent_epoch)


def not_executable(account: Account) -> Account:
    """The same account without the flag."""
    return Account(account.lamports, account.data, account.owner, False, account.rent_epoch)
