"""Residents: which code is loaded under which program in a VM."""

from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from solders.account import Account
from solders.pubkey import Pubkey
from solders.solders import LiteSVM

from simulator.addresses import LOADER_1, LOADER_2, LOADER_3, SYSTEM

_GONE = Account(0, b"", SYSTEM, False, 0)
_PROGRAM = (2).to_bytes(4, "little")
_PROGRAMDATA = (3).to_bytes(4, "little")
# Each keeps up to 10 MB alive.
_MOST_CODES = 16


class Resident(NamedTuple):
    """What a program was loaded from; `callable` is False for code of the very slot."""

    program: Account
    code: Account | None
    callable: bool


class Code(NamedTuple):
    """What is told of an account with a program's code: its bytes, and the slot it came in (None
    if it holds no code). The account itself is kept, so that its id stays its own.
    """

    account: Account
    size: int
    slot: int | None


class Residents:
    """Programs are dear to load (milliseconds), so they stay until their code is another."""

    loaders = frozenset({LOADER_1, LOADER_2, LOADER_3})

    def __init__(self, vm: LiteSVM) -> None:
        self._vm = vm
        self._residents: dict[Pubkey, Resident] = {}
        self._code_keys: set[Pubkey] = set()
        self._codes: OrderedDict[int, Code] = OrderedDict()
        # By program, even of those forgotten: the VM still has their code.
        self._sizes: dict[Pubkey, int] = {}

    def loaded_bytes(self) -> int:
        """The bytes of all code that is loaded."""
        return sum(self._sizes.values())

    def hold(
        self, key: Pubkey, account: Account, load: Callable[[Pubkey], Account | None], slot: int
    ) -> bool:
        """Sees to it that the program's code of this moment is loaded; False if the account is
        none (a buffer, or the code itself).
        """
        if account.owner != LOADER_3:
            return self._hold_elf(key, account)
        at = code_key(account)
        if at is None:
            return False
        code = load(at)
        # Code is visible from the slot after the one it was deployed in.
        wanted = Resident(
            account, code, code is not None and self.code(code).slot not in (None, slot)
        )
        if not self._is_held(key, wanted):
            self._load(key, at, wanted)
        return True

    def forget(self, key: Pubkey) -> None:
        """The key is about to hold something else."""
        self._residents.pop(key, None)

    def is_code(self, key: Pubkey) -> bool:
        """Whether a program was loaded from this account."""
        return key in self._code_keys

    def code(self, account: Account) -> Code:
        """What is told of an account with a program's code: reading it copies all of it, so this
        remembers.
        """
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

    def _is_held(self, key: Pubkey, wanted: Resident) -> bool:
        held = self._residents.get(key)
        if held is None or held.callable != wanted.callable:
            return False
        # Comparing bytes is for the case that the caller made the same accounts anew.
        return (held.program is wanted.program or held.program == wanted.program) and (
            held.code is wanted.code or held.code == wanted.code
        )

    def _hold_elf(self, key: Pubkey, account: Account) -> bool:
        wanted = Resident(account, None, True)
        if self._is_held(key, wanted):
            return True
        try:
            self._vm.set_account(key, _executable(account))
        except Exception:  # the wheel does not export its class
            return False
        self._residents[key] = wanted
        self._sizes[key] = len(account.data)
        return True

    def _load(self, key: Pubkey, at: Pubkey, wanted: Resident) -> None:
        vm = self._vm
        program = _executable(wanted.program)
        code = wanted.code if wanted.code is not None else _GONE
        try:
            vm.set_account(at, code if wanted.callable else _GONE)
            vm.set_account(key, program)
        except Exception:  # the wheel does not export its class
            # Code that does not verify: a program without code fails as the chain lets it fail.
            vm.set_account(at, _GONE)
            vm.set_account(key, program)
        if not wanted.callable:
            vm.set_account(at, code)
        self._code_keys.add(at)
        self._residents[key] = wanted
        self._sizes[key] = self.code_size(code)


def code_key(account: Account) -> Pubkey | None:
    """Where an upgradeable program's code lies; None if the account is no program."""
    data = account.data[:36]
    return Pubkey.from_bytes(data[4:]) if data[:4] == _PROGRAM and len(data) == 36 else None


def _executable(account: Account) -> Account:
    # The chain has ignored the flag since slot 350,352,004; this VM has not.
    if account.executable:
        return account
    return Account(account.lamports, account.data, account.owner, True, account.rent_epoch)


def not_executable(account: Account) -> Account:
    """The same account without the flag."""
    return Account(account.lamports, account.data, account.owner, False, account.rent_epoch)
