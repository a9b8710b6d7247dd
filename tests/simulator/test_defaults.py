"""What a new chain starts with."""

from solders.pubkey import Pubkey

from chain import addresses
from chain.units import U64_MAX
from simulator import defaults
from tests.simulator.world import ATA_PROGRAM

_STAKE = Pubkey.from_string("Stake11111111111111111111111111111111111111")


def test_every_program_is_there_with_its_code() -> None:
    programs = defaults.programs()
    for key in (addresses.TOKEN, addresses.TOKEN_2022, addresses.LOOKUP_TABLE, _STAKE):
        pointer = programs[key]
        assert pointer.executable
        code = programs[Pubkey.from_bytes(pointer.data[4:36])]
        assert code.data[:4] == (3).to_bytes(4, "little")
        assert int.from_bytes(code.data[4:12], "little") == 0
        assert code.data[45:49] == b"\x7fELF"
    assert programs[ATA_PROGRAM].owner == addresses.LOADER_2
    assert sum(account.owner == addresses.LOADER_1 for account in programs.values()) == 1


def test_builtins_and_sysvars_stand_where_the_runtime_looks() -> None:
    assert defaults.builtins().keys() == addresses.BUILTINS
    assert defaults.sysvars().keys() == addresses.SYSVARS
    assert all(each.owner == addresses.NATIVE_LOADER for each in defaults.builtins().values())
    sysvars = defaults.sysvars()
    assert {addresses.CLOCK, addresses.RENT, addresses.SLOT_HASHES} <= sysvars.keys()
    assert all(each.owner == addresses.SYSVAR_OWNER for each in sysvars.values())
    assert len(defaults.feature_accounts()) == 241


def test_what_stands_there_stands_for_good() -> None:
    lasting = {**defaults.programs(), **defaults.sysvars(), **defaults.feature_accounts()}
    for account in lasting.values():
        assert account.lamports >= defaults.rent_minimum(len(account.data))
        assert account.rent_epoch == U64_MAX
    assert len(defaults.genesis_accounts()) == len(lasting) + len(defaults.builtins())
