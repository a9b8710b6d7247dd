"""A small chain for tests: accounts, a slot and an engine, without blocks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from solders.account import Account
from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message, MessageV0, MessageV1, TransactionConfig
from solders.pubkey import Pubkey
from solders.system_program import TransferParams
from solders.system_program import transfer as transfer_instruction
from solders.transaction import VersionedTransaction

from chain import addresses
from chain.units import U64_MAX, Slot
from simulator import defaults
from simulator.engine import Engine
from simulator.moment import Moment
from simulator.outcome import Outcome

SOL = 1_000_000_000
PREVIOUS = Hash(bytes([9]) * 32)
RECENT = Hash(bytes([8]) * 32)
ENOUGH = TransactionConfig(
    compute_unit_limit=1_400_000, loaded_accounts_data_size_limit=64 * 1024 * 1024
)
ATA_PROGRAM = Pubkey.from_string("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL")
_GENESIS = defaults.genesis_accounts()
del _GENESIS[addresses.CLOCK]  # so that it follows the slot


def keypair(number: int) -> Keypair:
    return Keypair.from_seed(number.to_bytes(32, "big"))


def address(number: int) -> Pubkey:
    return Pubkey(number.to_bytes(32, "big"))


ALICE, BOB, CAROL = keypair(1), keypair(2), keypair(3)


def plain(lamports: int, data: bytes = b"", owner: Pubkey = addresses.SYSTEM) -> Account:
    return Account(lamports, data, owner, False, U64_MAX)


def rich() -> dict[Pubkey, Account]:
    return {
        **_GENESIS,
        **{each.pubkey(): plain(10 * SOL) for each in (ALICE, BOB, CAROL)},
    }


@dataclass
class World:
    """`run` executes and applies what a node would store; `look` only executes."""

    accounts: dict[Pubkey, Account] = field(default_factory=rich)
    engine: Engine = field(default_factory=Engine)
    slot: int = 1_000
    previous_blockhash: Hash = PREVIOUS
    blockhashes: set[Hash] | None = field(default_factory=lambda: {RECENT})

    @property
    def moment(self) -> Moment:
        return Moment(Slot(self.slot), self.previous_blockhash, self.blockhashes)

    def look(self, transaction: VersionedTransaction, *, verify: bool = True) -> Outcome:
        return self.engine.execute(
            transaction, load=self.accounts.get, moment=self.moment, verify=verify
        )

    def run(self, transaction: VersionedTransaction, *, verify: bool = True) -> Outcome:
        outcome = self.look(transaction, verify=verify)
        self.apply(outcome)
        return outcome

    def apply(self, outcome: Outcome) -> None:
        for key, account in outcome.writes.items():
            if account.lamports:
                self.accounts[key] = account
            else:
                self.accounts.pop(key, None)

    def balance(self, key: Pubkey) -> int:
        account = self.accounts.get(key)
        return account.lamports if account is not None else 0

    def deploy(self, program: Pubkey, code: bytes, *, slot: int = 0) -> Pubkey:
        """Puts an upgradeable program there, as deployed in the slot; the key of its code."""
        code_key = Pubkey.find_program_address([bytes(program)], addresses.LOADER_3)[0]
        header = (3).to_bytes(4, "little") + slot.to_bytes(8, "little") + b"\x01"
        data = header + bytes(ALICE.pubkey()) + code
        self.accounts[code_key] = plain(SOL, data, addresses.LOADER_3)
        pointer = (2).to_bytes(4, "little") + bytes(code_key)
        self.accounts[program] = Account(SOL, pointer, addresses.LOADER_3, True, U64_MAX)
        return code_key

    def next_slot(self) -> None:
        self.slot += 1
        self.previous_blockhash = Hash(self.slot.to_bytes(32, "big"))


def legacy(
    instructions: Sequence[Instruction],
    signers: Sequence[Keypair] = (ALICE,),
    blockhash: Hash = RECENT,
) -> VersionedTransaction:
    message = Message.new_with_blockhash(instructions, signers[0].pubkey(), blockhash)
    return VersionedTransaction(message, signers)


def v0(
    instructions: Sequence[Instruction],
    signers: Sequence[Keypair] = (ALICE,),
    tables: Sequence[AddressLookupTableAccount] = (),
    blockhash: Hash = RECENT,
) -> VersionedTransaction:
    message = MessageV0.try_compile(signers[0].pubkey(), instructions, tables, blockhash)
    return VersionedTransaction(message, signers)


def v1(
    instructions: Sequence[Instruction],
    signers: Sequence[Keypair] = (ALICE,),
    config: TransactionConfig = ENOUGH,
    blockhash: Hash = RECENT,
) -> VersionedTransaction:
    """A version 1 transaction, by default with units and a size that suffice."""
    message = MessageV1.try_compile(signers[0].pubkey(), instructions, blockhash, config)
    return VersionedTransaction(message, signers)


def transfer(source: Pubkey, target: Pubkey, lamports: int) -> Instruction:
    return transfer_instruction(
        TransferParams(from_pubkey=source, to_pubkey=target, lamports=lamports)
    )


def pay(target: Pubkey, lamports: int, payer: Keypair = ALICE) -> VersionedTransaction:
    """A version 0 transaction of one transfer."""
    return v0([transfer(payer.pubkey(), target, lamports)], [payer])


def call(program: Pubkey, data: bytes = b"", accounts: Iterable[AccountMeta] = ()) -> Instruction:
    return Instruction(program, data, list(accounts))


def writable(key: Pubkey) -> AccountMeta:
    return AccountMeta(key, is_signer=False, is_writable=True)


def readable(key: Pubkey) -> AccountMeta:
    return AccountMeta(key, is_signer=False, is_writable=False)


def signing(key: Pubkey, *, writable: bool = False) -> AccountMeta:
    return AccountMeta(key, is_signer=True, is_writable=writable)


def mint_account(decimals: int, program: Pubkey = addresses.TOKEN, supply: int = 0) -> Account:
    authority = (1).to_bytes(4, "little") + bytes(ALICE.pubkey())
    data = authority + supply.to_bytes(8, "little") + bytes([decimals, 1]) + bytes(36)
    return plain(SOL, data, program)


def token_account(
    mint: Pubkey, owner: Pubkey, amount: int, program: Pubkey = addresses.TOKEN
) -> Account:
    data = bytes(mint) + bytes(owner) + amount.to_bytes(8, "little") + bytes(36) + b"\x01"
    return plain(SOL, data.ljust(165, b"\0"), program)


def token_address(owner: Pubkey, mint: Pubkey, program: Pubkey = addresses.TOKEN) -> Pubkey:
    seeds = [bytes(owner), bytes(program), bytes(mint)]
    return Pubkey.find_program_address(seeds, ATA_PROGRAM)[0]


def token_transfer(
    source: Pubkey,
    mint: Pubkey,
    target: Pubkey,
    owner: Pubkey,
    amount: int,
    decimals: int,
    program: Pubkey = addresses.TOKEN,
) -> Instruction:
    """TransferChecked."""
    data = b"\x0c" + amount.to_bytes(8, "little") + bytes([decimals])
    keys = [writable(source), readable(mint), writable(target), signing(owner)]
    return call(program, data, keys)


def create_token_account(
    payer: Pubkey, owner: Pubkey, mint: Pubkey, program: Pubkey = addresses.TOKEN
) -> Instruction:
    """An associated token account, by its program."""
    keys = [
        signing(payer, writable=True),
        writable(token_address(owner, mint, program)),
        readable(owner),
        readable(mint),
        readable(addresses.SYSTEM),
        readable(program),
    ]
    return call(ATA_PROGRAM, b"", keys)


def limits(
    *, units: int | None = None, price: int = 0, loaded: int | None = None
) -> list[Instruction]:
    """Compute Budget instructions."""
    answer = []
    if units is not None:
        answer.append(call(addresses.COMPUTE_BUDGET, b"\x02" + units.to_bytes(4, "little")))
    if price:
        answer.append(call(addresses.COMPUTE_BUDGET, b"\x03" + price.to_bytes(8, "little")))
    if loaded is not None:
        answer.append(call(addresses.COMPUTE_BUDGET, b"\x04" + loaded.to_bytes(4, "little")))
    return answer
