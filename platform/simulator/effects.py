"""After the VM: the accounts that a node stores for a transaction, and parts of its metadata."""

from typing import Any

from solders.account import Account
from solders.pubkey import Pubkey
from solders.transaction_metadata import SimulatedTransactionInfo, TransactionMetadata

from chain.encodings import b58encode, b64encode
from chain.units import U64_MAX
from simulator.nonces import Nonce
from simulator.parts import Parts


def exempt(account: Account, minimum: int) -> Account:
    """The account as the node loads it for writing: rent-exempt above the rent minimum."""
    if account.rent_epoch == U64_MAX or account.lamports < minimum:
        return account
    return Account(account.lamports, account.data, account.owner, account.executable, U64_MAX)


def with_lamports(account: Account, lamports: int) -> Account:
    return Account(lamports, account.data, account.owner, account.executable, account.rent_epoch)


def writes_of_success(
    parts: Parts,
    result: SimulatedTransactionInfo,
    accounts: list[Account | None],
    called: set[int],
) -> dict[Pubkey, Account]:
    """Every writable account, except programs that are called and not passed as accounts.

    The transaction cannot have changed those, so a node does not store them.
    """
    before = dict(zip(parts.keys, accounts, strict=True))
    spared = {parts.keys[index] for index in called - _passed(parts)}
    writes = {}
    for key, account in result.post_accounts():
        if key in spared:
            continue
        held = before[key]
        # A new account starts rent-exempt, even if it is closed again.
        rent_epoch = account.rent_epoch if held is not None else U64_MAX
        executable = account.executable
        if held is not None and held.executable != executable and held.data == account.data:
            # The VM was given a flag that differs from the account's.
            executable = held.executable
        if (rent_epoch, executable) != (account.rent_epoch, account.executable):
            account = Account(account.lamports, account.data, account.owner, executable, rent_epoch)
        writes[key] = account
    return writes


def writes_of_failure(
    parts: Parts, accounts: list[Account | None], fee: int, nonce: Nonce | None, minimum: int
) -> dict[Pubkey, Account]:
    """The fee payer minus the fee, and the nonce, which advances nevertheless."""
    payer = accounts[0]
    assert payer is not None, "a payer was checked to be there"
    data = payer.data
    rent_epoch = payer.rent_epoch
    if nonce is not None:
        rent_epoch = exempt(payer, minimum).rent_epoch
        if nonce.position == 0:
            data = nonce.advanced
    lamports = payer.lamports - fee
    writes = {parts.keys[0]: Account(lamports, data, payer.owner, payer.executable, rent_epoch)}
    if nonce is not None and nonce.position != 0:
        held = accounts[nonce.position]
        assert held is not None, "a nonce was checked to be there"
        writes[parts.keys[nonce.position]] = Account(
            held.lamports, nonce.advanced, held.owner, held.executable, held.rent_epoch
        )
    return writes


def inner_instructions(meta: TransactionMetadata) -> list[dict[str, Any]]:
    """The instructions that programs called, by top-level instruction."""
    groups = []
    for index, inner in enumerate(meta.inner_instructions()):
        if not inner:
            continue
        instructions = []
        for each in inner:
            compiled = each.instruction()
            instructions.append(
                {
                    "programIdIndex": compiled.program_id_index,
                    "accounts": list(compiled.accounts),
                    "data": b58encode(compiled.data),
                    "stackHeight": each.stack_height(),
                }
            )
        groups.append({"index": index, "instructions": instructions})
    return groups


def return_data(meta: TransactionMetadata) -> dict[str, Any] | None:
    """The return data of the last program that set any."""
    returned = meta.return_data()
    data = returned.data
    if not data:
        return None
    return {"programId": str(returned.program_id), "data": [b64encode(data), "base64"]}


def _passed(parts: Parts) -> set[int]:
    return {index for instruction in parts.instructions for index in instruction.accounts}
