"""After the VM: what a node stores for a transaction, and what it tells of the run."""

from typing import Any

from solders.account import Account
from solders.pubkey import Pubkey
from solders.transaction_metadata import SimulatedTransactionInfo, TransactionMetadata

from chain.encodings import b58encode, b64encode
from chain.units import U64_MAX
from simulator.nonces import Nonce
from simulator.parts import Parts


def exempt(account: Account, minimum: int) -> Account:
    """The account as the node loads it for writing: above the rent minimum it pays none, ever."""
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
    """Every writable account, but for programs that are called and not passed on.

    No transaction can have changed those, so a node does not store them.
    """
    before = dict(zip(parts.keys, accounts, strict=True))
    spared = {parts.keys[index] for index in called - _passed(parts)}
    writes = {}
    for key, account in result.post_accounts():
        if key in spared:
            continue
        held = before[key]
        # A new account starts beyond rent, even if it is gone again.
        rent_epoch = account.rent_epoch if held is not None else U64_MAX
        executable = account.executable
        if held is not None and held.executable != executable and held.data == account.data:
            # The VM was given another flag than the account has.
            executable = held.executable
        if (rent_epoch, executable) != (account.rent_epoch, account.executable):
            account = Account(account.lamports, account.data, account.owner, executable, rent_epoch)
        writes[key] = account
    return writes


def writes_of_failure(
    parts: Parts, accounts: list[Account | None], fee: int, nonce: Nonce | None, minimum: int
) -> dict[Pubkey, Account]:
    """The fee payer less the fee, and the nonce that advances even so."""
    payer = accounts[0]
    assert payer is not None, "a payer was checked to be there"
    data = payer.data
    rent_epoch = payer.rent_epoch
    if nonce is not None:
        rent_epoch = exempt(payer, minimum).rent_epoch
        if nonce.place == 0:
            data = nonce.advanced
    lamports = payer.lamports - fee
    writes = {parts.keys[0]: Account(lamports, data, payer.owner, payer.executable, rent_epoch)}
    if nonce is not None and nonce.place != 0:
        held = accounts[nonce.place]
        assert held is not None, "a nonce was checked to be there"
        writes[parts.keys[nonce.place]] = Account(
            held.lamports, nonce.advanced, held.owner, held.executable, held.rent_epoch
        )
    return writes


def inner_instructions(meta: TransactionMetadata) -> list[dict[str, Any]]:
    """The instructions that programs called, by the top-level one they came from."""
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
    """What the last program returned, if it did."""
    returned = meta.return_data()
    data = returned.data
    if not data:
        return None
    return {"programId": str(returned.program_id), "data": [b64encode(data), "base64"]}


def _passed(parts: Parts) -> set[int]:
    return {index for instruction in parts.instructions for index in instruction.accounts}
