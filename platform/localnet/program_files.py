"""Program files: programs that are given to localnet as ELF files."""

from pathlib import Path

import msgspec
from solders.account import Account
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from chain.addresses import LOADER_3
from chain.rent import rent_exempt
from chain.units import U64_MAX
from simulator.code_check import load_fault

_PROGRAM = (2).to_bytes(4, "little")
_PROGRAMDATA = (3).to_bytes(4, "little")
# Of slot 0, and without an authority, whose place stays free.
_DEPLOYED = bytes(8) + bytes(33)


class BadProgram(ValueError):
    """Not a program, or no address for one; the text names it and says why."""


def program_accounts(address: str, path: Path) -> dict[Pubkey, Account]:
    """The accounts of an immutable program, deployed in slot 0 by the upgradeable loader. The
    address is base58 or the file of a keypair. BadProgram, OSError.
    """
    program, code = _address(address), path.read_bytes()
    fault = load_fault(code)
    if fault is not None:
        raise BadProgram(f"{path}: {fault}")
    programdata = programdata_of(program)
    return {
        programdata: _owned(_PROGRAMDATA + _DEPLOYED + code, executable=False),
        program: _owned(_PROGRAM + bytes(programdata), executable=True),
    }


def programdata_of(program: Pubkey) -> Pubkey:
    """Where the upgradeable loader keeps a program's code."""
    return Pubkey.find_program_address([bytes(program)], LOADER_3)[0]


def is_upgradeable(account: Account) -> bool:
    """Whether the account is a program whose code is in another account."""
    return account.owner == LOADER_3 and account.data[:4] == _PROGRAM


def _address(text: str) -> Pubkey:
    try:
        return Pubkey.from_string(text)
    except ValueError:
        pass
    try:
        key = msgspec.json.decode(Path(text).read_bytes(), type=list[int])
        return Keypair.from_bytes(bytes(key)).pubkey()
    except (OSError, ValueError, msgspec.MsgspecError):
        raise BadProgram(f"{text}: neither an address nor the file of a keypair") from None


def _owned(data: bytes, *, executable: bool) -> Account:
    return Account(rent_exempt(len(data)), data, LOADER_3, executable, U64_MAX)
