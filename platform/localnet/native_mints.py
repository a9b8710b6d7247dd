"""Native mints: SOL as a token of either token program, with which wrapping begins."""

from solders.account import Account
from solders.pubkey import Pubkey

from chain.units import LAMPORTS_PER_SOL
from simulator import addresses

TOKEN_MINT = Pubkey.from_string("So11111111111111111111111111111111111111112")
TOKEN_2022_MINT = Pubkey.from_string("9pan9bMn5HatX4EJdBwg9VgCa7Uz5HL8N1m5D3NdXejP")

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
            (TOKEN_MINT, addresses.TOKEN),
            (TOKEN_2022_MINT, addresses.TOKEN_2022),
        )
        if token_2022 or mint != TOKEN_2022_MINT
    }
