"""Mixed load on a localnet: transfers, failed transactions, token operations, closed accounts."""

from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.transaction import Transaction
from spl.token import instructions as token
from spl.token.constants import TOKEN_PROGRAM_ID
from spl.token.models import BurnParams, CloseAccountParams, MintToParams

from tests.localnet.test_tokens import new_mint
from tests.localnet.wallets import SOL, done, pay, wallet
from tests.localnet_process import Localnet
from tests.soak.load import Load

_SMALL = SOL // 100


class MixedLoad(Load):
    """Half of the transactions are those of Load. Accounts that were opened are closed again, both
    of the token program and of the system program; what is closed too early fails on chain.
    """

    def __init__(self, localnet: Localnet, *, pause_seconds: float) -> None:
        super().__init__(localnet, pause_seconds=pause_seconds)
        self._minter = wallet(localnet, 1_000 * SOL)
        self._mint = new_mint(localnet, self._minter, TOKEN_PROGRAM_ID)
        self._hers = token.get_associated_token_address(self._minter.pubkey(), self._mint)
        done(localnet, [self._opening(self._minter.pubkey())], self._minter)
        self._token_owners: list[Keypair] = []
        self._purses: list[Keypair] = []

    def _transaction(self, blockhash: str) -> Transaction:
        chance = self._chance
        kind = chance.choice(["mint", "burn", "open", "close", "fund", "empty"])
        if chance.random() < 0.5:
            return super()._transaction(blockhash)
        minter = self._minter
        if kind == "open":
            self._token_owners.append(owner := Keypair())
            return self._signed([self._opening(owner.pubkey())], blockhash)
        if kind == "close" and self._token_owners:
            owner = self._token_owners.pop(0)
            account = token.get_associated_token_address(owner.pubkey(), self._mint)
            return self._signed([self._closing(account, owner.pubkey())], blockhash, owner)
        if kind == "fund":
            self._purses.append(purse := Keypair())
            return self._signed([pay(minter, purse.pubkey(), _SMALL)], blockhash)
        if kind == "empty" and self._purses:
            purse = self._purses.pop(0)
            return self._signed([pay(purse, minter.pubkey(), _SMALL)], blockhash, purse)
        amount = chance.randrange(1, 1_000)
        return self._signed([self._moving(burned=kind == "burn", amount=amount)], blockhash)

    def _opening(self, owner: Pubkey) -> Instruction:
        return token.create_associated_token_account(self._minter.pubkey(), owner, self._mint)

    def _closing(self, account: Pubkey, owner: Pubkey) -> Instruction:
        return token.close_account(
            CloseAccountParams(
                program_id=TOKEN_PROGRAM_ID, account=account, dest=self.others[0], owner=owner
            )
        )

    def _moving(self, *, burned: bool, amount: int) -> Instruction:
        """Burning more than there is fails."""
        if burned:
            return token.burn(
                BurnParams(
                    program_id=TOKEN_PROGRAM_ID,
                    account=self._hers,
                    mint=self._mint,
                    owner=self._minter.pubkey(),
                    amount=amount,
                )
            )
        return token.mint_to(
            MintToParams(
                program_id=TOKEN_PROGRAM_ID,
                mint=self._mint,
                dest=self._hers,
                mint_authority=self._minter.pubkey(),
                amount=amount,
            )
        )

    def _signed(
        self, instructions: list[Instruction], blockhash: str, *others: Keypair
    ) -> Transaction:
        recent = Hash.from_string(blockhash)
        message = Message.new_with_blockhash(instructions, self._minter.pubkey(), recent)
        return Transaction([self._minter, *others], message, recent)
