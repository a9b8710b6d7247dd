"""Mixed transactions, round by round: what wallets and programs do to accounts."""

from collections.abc import Iterator, Sequence

from solders import system_program as system
from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from spl.memo.constants import MEMO_PROGRAM_ID
from spl.token.constants import TOKEN_2022_PROGRAM_ID, TOKEN_PROGRAM_ID

from tests.clients.failing_transactions import failures, fees_only
from tests.clients.minted import Minted
from tests.clients.planned import (
    MORE_THAN_THERE_IS,
    TOO_POOR,
    WALLET_RENT,
    Moment,
    Pen,
    Planned,
)
from tests.localnet.wallets import SOL, pay

_NONCE_RENT = 1_447_680


class Mixture:
    """Those of a round build on each other in their order, and on rounds that are confirmed."""

    def __init__(self, pen: Pen, tip_accounts: Sequence[Pubkey]) -> None:
        self._pen = pen
        self._tip_accounts = tip_accounts
        self._owner = pen.payers[0]
        # Theirs come on ways that keep no order with the others.
        self._searcher, self._neighbour = pen.key(), pen.key()
        self._nonces = [pen.key() for _ in range(8)]
        self._tokens: list[Minted] = []
        self._tables: list[tuple[Pubkey, list[Pubkey]]] = []

    @property
    def wallets(self) -> list[Pubkey]:
        """Who must have lamports before the first round."""
        return [each.pubkey() for each in (*self._pen.payers, self._searcher, self._neighbour)]

    @property
    def nonces(self) -> list[Pubkey]:
        """Nonce accounts whose values a round must know."""
        return [each.pubkey() for each in self._nonces]

    def opening(self, moment: Moment) -> list[Planned]:
        """What the rounds use: nonce accounts, mints, and a first lookup table."""
        self._pen.moment = moment
        planned = [self._nonce_account("nonce account", nonce) for nonce in self._nonces]
        for program in (TOKEN_PROGRAM_ID, TOKEN_2022_PROGRAM_ID):
            planned += self._mint(program)
        return [*planned, self._new_table()]

    def round(self, moment: Moment) -> list[Planned]:
        """Some hundred transactions for a node, in the order to send them."""
        self._pen.moment = moment
        parts = (
            self._transfers(),
            self._accounts(),
            self._closed_and_made_again(),
            self._minted(),
            self._token_accounts_closed(),
            self._by_tables(),
            self._by_nonces(),
            failures(self._pen),
            fees_only(self._pen, self._neighbour.pubkey()),
        )
        return [each for part in parts for each in part]

    def by_tpu(self) -> list[Planned]:
        """For a leader's port, which keeps no order."""
        pen, payer = self._pen, self._neighbour
        planned = [pen.planned("by TPU", [pen.payment(payer)], payer) for _ in range(4)]
        return [*planned, pen.failing("by TPU, failing", [pen.too_much(payer)], payer, 0, TOO_POOR)]

    def bundle(self) -> list[Planned]:
        """Three that land together: the second spends what the first brings, the third tips."""
        pen, payer, between = self._pen, self._searcher, self._pen.key()
        brings = [pay(payer, between.pubkey(), SOL)]
        spends = [pay(between, pen.key().pubkey(), SOL // 2)]
        return [
            pen.planned("bundle that brings", brings, payer),
            pen.planned("bundle that spends", spends, between),
            pen.planned("bundle that tips", [self._tip()], payer),
        ]

    def lost_bundle(self) -> list[Planned]:
        """The second fails, so neither lands."""
        pen, payer = self._pen, self._searcher
        return [
            pen.planned("lost bundle", [self._tip()], payer),
            pen.planned("lost bundle", [pen.too_much(payer)], payer),
        ]

    # --- wallets and other accounts ---------------------------------------------------------------

    def _transfers(self) -> Iterator[Planned]:
        pen = self._pen
        for _ in range(16):
            payer = pen.payer()
            yield pen.planned("transfer", [pen.payment(payer)], payer)
        for _ in range(5):
            payer = pen.payer()
            signer = AccountMeta(payer.pubkey(), is_signer=True, is_writable=True)
            memo = Instruction(MEMO_PROGRAM_ID, b"payment %d" % pen.some(), [signer])
            payments = [pen.payment(payer) for _ in range(pen.chance.randint(2, 6))]
            yield pen.planned("transfers with a memo", [*payments, memo], payer)
        first, second = pen.chance.sample(pen.payers, 2)
        amount = 1 + pen.some()
        yield pen.planned("two signers", [pay(second, first.pubkey(), amount)], first, second)
        yield pen.planned("to oneself", [pay(first, first.pubkey(), amount)], first)

    def _accounts(self) -> Iterator[Planned]:
        pen = self._pen
        for _ in range(6):
            payer, account = pen.payer(), pen.key()
            made = pen.new_account(payer, account, pen.chance.randrange(10_240))
            yield pen.planned("account", [made], payer, account)
        payer, account = pen.payer(), pen.key()
        made = pen.new_account(payer, account, 100_000 + pen.some())
        yield pen.planned("large account", [made], payer, account)

    def _closed_and_made_again(self) -> Iterator[Planned]:
        """An account that goes and comes back, perhaps in one slot; one that never is."""
        pen = self._pen
        payer, account = pen.payer(), pen.key()
        there = SOL + pen.some()
        yield pen.planned("account opened", [pay(payer, account.pubkey(), there)], payer)
        away = [pay(account, payer.pubkey(), there)]
        yield pen.planned("account closed", away, payer, account)
        again = [pen.new_account(payer, account, 64)]
        yield pen.planned("account made again", again, payer, account)
        passing = pen.key()
        through = [pay(payer, passing.pubkey(), SOL), pay(passing, pen.key().pubkey(), SOL)]
        yield pen.planned("passed through", through, payer, passing)

    # --- tokens -----------------------------------------------------------------------------------

    def _mint(self, program: Pubkey) -> Iterator[Planned]:
        """A mint with three holders."""
        pen, mint = self._pen, self._pen.key()
        holders = pen.chance.sample(pen.payers, 3)
        minted = Minted(program, mint.pubkey(), pen.payer(), holders)
        yield pen.planned("mint", minted.create(), minted.authority, mint)
        for holder in holders:
            owner = holder.pubkey()
            give = [minted.account(minted.authority, owner), minted.mint_to(owner, 10**12)]
            yield pen.planned("token account", give, minted.authority)
        self._tokens.append(minted)

    def _minted(self) -> Iterator[Planned]:
        pen = self._pen
        yield from self._mint(pen.chance.choice([TOKEN_PROGRAM_ID, TOKEN_2022_PROGRAM_ID]))
        for _ in range(9):
            minted = pen.chance.choice(self._tokens)
            source, target = pen.chance.sample(list(minted.holders), 2)
            moved = minted.transfer(source, target.pubkey(), 1 + pen.some())
            yield pen.planned("token transfer", [moved], source)
        minted = pen.chance.choice(self._tokens)
        source, target = pen.chance.sample(list(minted.holders), 2)
        moved = minted.transfer(source, target.pubkey(), MORE_THAN_THERE_IS + pen.some())
        yield pen.failing("too few tokens", [moved], source, 0, TOO_POOR)
        burned = minted.burn(source, 1 + pen.some())
        yield pen.planned("tokens burned", [burned], source)

    def _token_accounts_closed(self) -> Iterator[Planned]:
        pen = self._pen
        for _ in range(2):
            minted, owner, payer = pen.chance.choice(self._tokens), pen.key(), pen.payer()
            made = minted.account(payer, owner.pubkey())
            yield pen.planned("token account", [made], payer)
            closed = minted.close(owner, payer.pubkey())
            yield pen.planned("token account closed", [closed], payer, owner)
            again = minted.account_again(payer, owner.pubkey())
            yield pen.planned("token account made again", [again], payer)

    # --- lookup tables ----------------------------------------------------------------------------

    def _by_tables(self) -> Iterator[Planned]:
        """With addresses of earlier rounds: a table's newest serve from the next slot on."""
        pen = self._pen
        tables = [AddressLookupTableAccount(key, list(known)) for key, known in self._tables]
        for _ in range(6):
            payer, table = pen.payer(), pen.chance.choice(tables)
            payments = [
                pay(payer, address, WALLET_RENT + pen.some())
                for address in pen.chance.sample(table.addresses, pen.chance.randint(1, 4))
            ]
            yield pen.planned("by lookup table", payments, payer, tables=tables)
        key, addresses = self._tables[0]
        more = [pen.key().pubkey() for _ in range(3)]
        addresses += more
        yield pen.planned("lookup table extended", [self._extend(key, more)], self._owner)
        yield self._new_table()
        if len(self._tables) > 3:
            key, _ = self._tables.pop(1)
            away = system.DeactivateLookupTableParams(
                lookup_table_address=key, authority_address=self._owner.pubkey()
            )
            ended = system.deactivate_lookup_table(away)
            yield pen.planned("lookup table deactivated", [ended], self._owner)

    def _new_table(self) -> Planned:
        owner = self._owner.pubkey()
        create, key = system.create_lookup_table(
            system.CreateLookupTableParams(
                authority_address=owner, payer_address=owner, recent_slot=self._pen.moment.slot
            )
        )
        addresses = [self._pen.key().pubkey() for _ in range(5)]
        self._tables.append((key, addresses))
        made = [create, self._extend(key, addresses)]
        return self._pen.planned("lookup table", made, self._owner)

    def _extend(self, table: Pubkey, addresses: list[Pubkey]) -> Instruction:
        return system.extend_lookup_table(
            system.ExtendLookupTableParams(
                payer_address=self._owner.pubkey(),
                lookup_table_address=table,
                authority_address=self._owner.pubkey(),
                new_addresses=addresses,
            )
        )

    # --- nonces -----------------------------------------------------------------------------------

    def _by_nonces(self) -> Iterator[Planned]:
        """Each nonce once: its value stands still until a later slot."""
        pen, owner = self._pen, self._owner
        used = pen.chance.sample(self._nonces, 6)
        for nonce in used[:3]:
            both = [self._advance(nonce), pen.payment(owner)]
            value = pen.moment.nonces[nonce.pubkey()]
            yield pen.planned("by nonce", both, owner, blockhash=value)
        for nonce in used[3:5]:
            both = [self._advance(nonce), pen.too_much(owner)]
            value = pen.moment.nonces[nonce.pubkey()]
            err = {"InstructionError": [1, TOO_POOR]}
            yield pen.planned("by nonce, failing", both, owner, err=err, blockhash=value)
        nonce = used[5]
        closed = system.withdraw_nonce_account(
            system.WithdrawNonceAccountParams(
                nonce_pubkey=nonce.pubkey(),
                authorized_pubkey=owner.pubkey(),
                to_pubkey=pen.payer().pubkey(),
                lamports=_NONCE_RENT,
            )
        )
        yield pen.planned("nonce account closed", [closed], owner)
        yield self._nonce_account("nonce account made again", nonce)

    def _advance(self, nonce: Keypair) -> Instruction:
        return system.advance_nonce_account(
            system.AdvanceNonceAccountParams(
                nonce_pubkey=nonce.pubkey(), authorized_pubkey=self._owner.pubkey()
            )
        )

    def _nonce_account(self, kind: str, nonce: Keypair) -> Planned:
        owner = self._owner.pubkey()
        made = system.create_nonce_account(owner, nonce.pubkey(), owner, _NONCE_RENT)
        return self._pen.planned(kind, made, self._owner, nonce)

    def _tip(self) -> Instruction:
        tip_account = self._pen.chance.choice(self._tip_accounts)
        return pay(self._searcher, tip_account, 1_000 + self._pen.some())
