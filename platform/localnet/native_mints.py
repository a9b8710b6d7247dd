"""Native mints: SOL as a token of either token program, with which wrapping begins."""

from solders.account import Account
from solders.pubkey import Pubkey

from chain import addresses
from chain.units import LAMPORTS_PER_SOL

_DECIMALS = 9
# As a validator writes them into genesis.
_RENT_EPOCH = 1
# No mint authority, no supply, nine decimals, initialized, no freeze authority.
_DATA = bytes(36) + bytes(8) + bytes((_DECIMALS, 1)) + bytes(36)


def native_mints(*, token_2022: bool = True) -> dict[Pubkey, Account]:
    """Both, with the one SOL that each has at genesis; or Token's alone, as at the start of a chain
    on which a transaction is to make the other.
    """
    return {
        mint: Account(LAMPORTS_PER_SOL, _DATA, program, False, _RENT_EPOCH)
        for mint, program in (
            (addresses.WRAPPED_SOL, addresses.TOKEN),
            (addresses.WRAPPED_SOL_2022, addresses.TOKEN_2022),
        )
        if token_2022 or mint != addresses.WRAPPED_SOL_2022
    }
