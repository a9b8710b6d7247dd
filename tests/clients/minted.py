"""A mint and what its holders do with it, by either token program."""

from collections.abc import Sequence
from dataclasses import dataclass

from solders import system_program as system
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from spl.token import instructions as token
from spl.token import models

_MINT_SIZE, _MINT_RENT, _DECIMALS = 82, 1_461_600, 6


@dataclass(frozen=True, slots=True)
class Minted:
    """A mint of one of the token programs; each method gives the instruction for it."""

    program: Pubkey
    mint: Pubkey
    authority: Keypair
    holders: Sequence[Keypair]

    def create(self) -> list[Instruction]:
        """The mint's account, which must sign, and the mint."""
        return [
            system.create_account(
                system.CreateAccountParams(
                    from_pubkey=self.authority.pubkey(),
                    to_pubkey=self.mint,
                    lamports=_MINT_RENT,
                    space=_MINT_SIZE,
                    owner=self.program,
                )
            ),
            token.initialize_mint(
                models.InitializeMintParams(
                    decimals=_DECIMALS,
                    program_id=self.program,
                    mint=self.mint,
                    mint_authority=self.authority.pubkey(),
                )
            ),
        ]

    def account(self, payer: Keypair, owner: Pubkey) -> Instruction:
        """The owner's account, which must not be there."""
        return token.create_associated_token_account(payer.pubkey(), owner, self.mint, self.program)

    def account_again(self, payer: Keypair, owner: Pubkey) -> Instruction:
        """The owner's account, which may be there."""
        return token.create_idempotent_associated_token_account(
            payer.pubkey(), owner, self.mint, self.program
        )

    def mint_to(self, owner: Pubkey, amount: int) -> Instruction:
        return token.mint_to(
            models.MintToParams(
                program_id=self.program,
                mint=self.mint,
                dest=self._of(owner),
                mint_authority=self.authority.pubkey(),
                amount=amount,
            )
        )

    def transfer(self, source: Keypair, to: Pubkey, amount: int) -> Instruction:
        return token.transfer_checked(
            models.TransferCheckedParams(
                program_id=self.program,
                source=self._of(source.pubkey()),
                mint=self.mint,
                dest=self._of(to),
                owner=source.pubkey(),
                amount=amount,
                decimals=_DECIMALS,
            )
        )

    def burn(self, holder: Keypair, amount: int) -> Instruction:
        return token.burn(
            models.BurnParams(
                program_id=self.program,
                account=self._of(holder.pubkey()),
                mint=self.mint,
                owner=holder.pubkey(),
                amount=amount,
            )
        )

    def close(self, owner: Keypair, to: Pubkey) -> Instruction:
        """An empty account goes; its lamports come to `to`."""
        return token.close_account(
            models.CloseAccountParams(
                program_id=self.program,
                account=self._of(owner.pubkey()),
                dest=to,
                owner=owner.pubkey(),
            )
        )

    def _of(self, owner: Pubkey) -> Pubkey:
        return token.get_associated_token_address(owner, self.mint, self.program)
