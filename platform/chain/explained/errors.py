"""Errors of programs in words: data, so that a program is a table here."""

import re
from typing import Any, NamedTuple

from chain.explained.programs import (
    ASSOCIATED_TOKEN,
    MEMOS,
    PRECOMPILES,
    STAKE,
    SYSTEM,
    TOKEN,
    TOKEN_2022,
    VOTE,
)


class LogWords(NamedTuple):
    """A log line that says more than the error's code. `text` names the pattern's groups; those in
    `lamports` are shown in SOL.
    """

    program: str
    pattern: re.Pattern[str]
    text: str
    lamports: frozenset[str] = frozenset()


TOO_FEW_LAMPORTS = re.compile(
    r"^Transfer: insufficient lamports (?P<had>\d{1,20}), need (?P<need>\d{1,20})$"
)
LOG_LINES = (
    LogWords(
        SYSTEM,
        TOO_FEW_LAMPORTS,
        "Transfer of {need} SOL; the payer had {had}.",
        frozenset({"had", "need"}),
    ),
    LogWords(
        SYSTEM,
        re.compile(
            r"^(?:Create Account|Allocate): account Address \{ address: (?P<key>\w+),.*in use"
        ),
        "The account {key} exists already.",
    ),
)

# What a program made with Anchor logs of its own error.
ANCHOR_ERROR = re.compile(
    r"^Program log: AnchorError (?:caused by account: (?P<account>\w{1,128})\. |.*?)"
    r"Error Code: (?P<name>\w{1,128})\. Error Number: (?P<code>\d{1,10})\."
    r" Error Message: (?P<message>.{0,500}?)\.?$"
)

# Lines that say no more than the error itself does.
SAYS_NOTHING = re.compile(
    r"^Program (?:log: (?:\w*Instruction: |ray_log: |ERROR: |Checking |Merging )"
    r"|data: |return: )"
    r"|^Program (?:\w+ consumed |consumption: )"
    r"|^Program log: (?:(?:Error: )?\w*|Custom program error: \w+)$"
)

TOO_FEW_TOKENS = 1
NO_UNITS_LEFT = "exceeded CUs meter"
_TOKEN_CODES = {
    0: "The token account would not be rent-exempt: it needs more SOL.",
    TOO_FEW_TOKENS: "The token account has too few tokens for this.",
    2: "The mint is not a valid mint.",
    3: "The token account belongs to another mint.",
    4: "The authority that signed is not the owner of the token account.",
    5: "The mint's supply is fixed: no more can be minted.",
    6: "The account is in use already.",
    7: "The number of signers of a multisig is not valid.",
    8: "The number of required signers of a multisig is not valid.",
    9: "The account is not initialized.",
    10: "Native (wrapped SOL) token accounts do not support this.",
    11: "A token account can only be closed when its balance is zero.",
    12: "The token program does not know this instruction.",
    13: "The account's state does not allow this.",
    14: "The amount overflows.",
    15: "The account does not support this type of authority.",
    16: "The mint has no freeze authority: it cannot freeze accounts.",
    17: "The token account is frozen.",
    18: "The decimals given are not those of the mint.",
    19: "Only native (wrapped SOL) token accounts support this.",
}

# Of Token-2022's extensions.
_EXTENSION_CODES = {
    20: "The extension does not go with those that the account has.",
    21: "The extension is for the other kind of account: mint or token account.",
    22: "The account has this extension already.",
    23: "The token account has a confidential balance: it cannot be closed.",
    24: "The token account is not approved for confidential transfers.",
    25: "The token account does not accept confidential deposits or transfers.",
    26: "The ElGamal public keys differ.",
    27: "The confidential balances differ.",
    28: "The mint has a supply: burn all tokens before closing it.",
    29: "No account has the authority for this.",
    30: "The transfer fee is above 10,000 basis points.",
    31: "The mint must be named: use transferChecked or transferCheckedWithFee.",
    32: "The fee given is not the one that the mint takes.",
    33: "The fee parameters of the proof are not the mint's.",
    34: "The owner of this token account cannot be changed.",
    35: "The token account has withheld fees: harvest them to the mint before closing it.",
    36: "The recipient requires a memo in the instruction before the transfer.",
    37: "Tokens of this mint cannot be transferred.",
    38: "Tokens of this mint can be minted only to accounts whose owner cannot be changed.",
    39: "The token account has too many pending confidential deposits and transfers.",
    40: "The confidential deposit is above the highest amount.",
    41: "A program cannot turn the CPI guard on or off.",
    42: "The CPI guard blocks transfers by programs without a delegate.",
    43: "The CPI guard blocks burns by programs without a delegate.",
    44: "The CPI guard blocks programs from closing the account to anyone but its owner.",
    45: "The CPI guard blocks programs from approving a delegate.",
    46: "The CPI guard blocks programs from changing an authority.",
    47: "The owner cannot be changed while the CPI guard is on.",
    48: "The account does not have this extension.",
    49: "The token account accepts only confidential transfers.",
    50: "The token account has withheld confidential fees: it cannot be closed.",
    51: "These extensions cannot be combined.",
    52: "The extension's data cannot change their length.",
    53: "The confidential balance could not be decrypted.",
    54: "The proof could not be generated.",
    55: "The proof is not where the instruction says.",
    56: "Harvesting withheld fees to the mint is turned off.",
    57: "The instruction does not support split proofs.",
    58: "An account with a proof is missing.",
    59: "A ciphertext is malformed.",
    60: "A calculation with ciphertexts failed.",
    61: "The Pedersen commitments differ.",
    62: "The range proof has another length than expected.",
    63: "The amount has another number of bits than expected.",
    64: "The fee could not be calculated.",
    65: "Confidential deposits and withdrawals are not allowed for this mint.",
    66: "The multiplier of the mint's amounts is not valid.",
    67: "The mint is paused: transfers, minting and burning are stopped.",
    68: "The pending balance is not zero.",
}

_PRECOMPILE_CODES = {
    0: "A public key is not valid.",
    1: "A recovery id is not valid.",
    2: "A signature does not verify.",
    3: "A part is not where the instruction's data say.",
    4: "The instruction's data are too short.",
}

# Program → code of a custom error → what it means.
CUSTOM = {
    SYSTEM: {
        0: "An account with this address exists already.",
        1: "The account that pays has too few lamports.",
        2: "The account cannot be assigned to this program.",
        3: "The account cannot have this much data.",
        4: "The seed is too long.",
        5: "The address is not the one derived from the seed.",
        6: "The sysvar of recent blockhashes is empty.",
        7: "The blockhash of the nonce has not expired yet: the nonce cannot be advanced.",
        8: "The blockhash of the nonce is not the one that is stored.",
    },
    TOKEN: _TOKEN_CODES,
    TOKEN_2022: _TOKEN_CODES | _EXTENSION_CODES,
    **dict.fromkeys(PRECOMPILES, _PRECOMPILE_CODES),
    ASSOCIATED_TOKEN: {0: "The owner of the associated token account is not the expected one."},
    STAKE: {
        0: "There is no credit to redeem.",
        1: "The lockup of the stake has not expired.",
        2: "The stake was deactivated already.",
        3: "The stake can be redelegated once an epoch only.",
        4: "The stake is too small for this.",
        5: "A stake that is activating or deactivating cannot be merged.",
        6: "The stakes cannot be merged: their authorities, lockups or states differ.",
        7: "The lockup's custodian is not among the accounts.",
        8: "The lockup's custodian did not sign.",
        9: "The reference vote account has not voted often enough.",
        10: "The stake is not delegated to this vote account.",
        11: "The vote account has not been delinquent for long enough.",
        12: "The delegation is below the least amount.",
        13: "A stake that is inactive, activating or deactivating cannot be redelegated.",
        14: "The stake is delegated to this vote account already.",
        15: "A redelegated stake must be fully active before it is deactivated.",
        16: "Stakes cannot be changed while the epoch's rewards are paid.",
    },
    VOTE: {
        0: "The vote is too old.",
        1: "The slots of the vote are not the chain's.",
        2: "The hash of the vote is not the slot's.",
        3: "The vote has no slots.",
        4: "The vote's timestamp is too old.",
        5: "The authorized voter was changed in this epoch already.",
        6: "The vote drops an earlier vote that is still locked out.",
        7: "The vote keeps an earlier vote that a later one replaces.",
        8: "The slots of the vote are not in order.",
        9: "The confirmations of the vote are not in order.",
        10: "The vote has a slot without confirmations.",
        11: "The vote has a slot with too many confirmations.",
        12: "The vote's root is older than the last one.",
        13: "The vote has fewer confirmations for a slot than before.",
        14: "The vote has a slot below its root.",
        15: "The vote has too many slots.",
        16: "All slots of the vote are too old.",
        17: "The vote's root is on another fork.",
        18: "The vote account voted too recently to be closed.",
        19: "The commission cannot be raised in this part of the epoch.",
    },
}

# Named errors of any program.
NAMED = {
    "MissingRequiredSignature": "An account that must sign did not.",
    "InsufficientFunds": "An account has too little for this.",
    "IncorrectProgramId": "An account belongs to another program than expected.",
    "InvalidAccountOwner": "An account belongs to another program than expected.",
    "AccountAlreadyInitialized": "The account is initialized already.",
    "UninitializedAccount": "The account is not initialized.",
    "NotEnoughAccountKeys": "The instruction names too few accounts.",
    "MissingAccount": "An account that the instruction needs is missing.",
    "InvalidInstructionData": "The program could not read the instruction's data.",
    "InvalidAccountData": "An account's data are not what the program expects.",
    "InvalidArgument": "The program refused an argument.",
    "ComputationalBudgetExceeded": "It used all its compute units: set a higher limit.",
    "ProgramFailedToComplete": "The program stopped before its end, for instance by a panic or for"
    " want of compute units.",
    "ReadonlyLamportChange": "The balance of an account changed that is read-only here.",
    "ReadonlyDataModified": "The data of an account changed that is read-only here.",
    "ExternalAccountLamportSpend": "A program spent from an account that it does not own.",
    "PrivilegeEscalation": "A program called another with a signer or a writable account that it"
    " does not have itself.",
    "UnsupportedProgramId": "The program does not exist, or cannot be run.",
    "AccountNotRentExempt": "An account would have too few lamports to be rent-exempt.",
    "ArithmeticOverflow": "A calculation of the program overflowed.",
    "IncorrectAuthority": "The authority that signed is not the account's.",
    "Immutable": "The account cannot be changed.",
}

# Program and named error, where the program means something of its own by it.
NAMED_BY = {
    (ASSOCIATED_TOKEN, "IllegalOwner"): "The associated token account exists already:"
    " createIdempotent accepts that.",
    **dict.fromkeys(
        ((memo, "InvalidInstructionData") for memo in MEMOS), "The memo is not valid UTF-8."
    ),
}

# What programs return where an account is not what it should be, such as one that does not exist.
_ABOUT_ACCOUNTS = frozenset(
    {"InvalidAccountData", "UninitializedAccount", "InvalidAccountOwner", "IncorrectProgramId"}
)
_TOKEN_CODES_ABOUT_ACCOUNTS = frozenset({2, 9})


def is_about_accounts(err: Any, program_id: str) -> bool:
    """Whether an error of an instruction says that an account is not what it should be."""
    problem = err["InstructionError"][1]
    if program_id in (SYSTEM, ASSOCIATED_TOKEN):
        return False  # they make accounts
    if isinstance(problem, dict):
        is_token = program_id in (TOKEN, TOKEN_2022)
        return is_token and problem.get("Custom") in _TOKEN_CODES_ABOUT_ACCOUNTS
    return problem in _ABOUT_ACCOUNTS


# Errors of the whole transaction.
WHOLE = {
    "InsufficientFundsForFee": "The fee payer has too few lamports for the fee.",
    "AccountNotFound": "The fee payer has no lamports: the account does not exist.",
    "InvalidAccountForFee": "The fee payer may not pay fees: it is not a plain wallet or nonce.",
    "BlockhashNotFound": "Its blockhash is not known: it expired, or is of another chain.",
    "AlreadyProcessed": "The same transaction was processed before.",
    "ProgramAccountNotFound": "A program that it calls does not exist.",
    "InvalidProgramForExecution": "An account that it calls is not a program.",
    "MaxLoadedAccountsDataSizeExceeded": "Its accounts hold more data than it may load.",
    "InsufficientFundsForRent": "An account would be left with too few lamports to be rent-exempt.",
}
