"""Programs by name, and their errors in words: data, so that a program is a table here."""

import re
from typing import NamedTuple

SYSTEM = "11111111111111111111111111111111"
TOKEN = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
TOKEN_2022 = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"
ASSOCIATED_TOKEN = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"
STAKE = "Stake11111111111111111111111111111111111111"
VOTE = "Vote111111111111111111111111111111111111111"
COMPUTE_BUDGET = "ComputeBudget111111111111111111111111111111"
MEMOS = (
    "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo",
    "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr",
    "Memo4c2pN8afCj432Lb7RMVKi9PbQnnW7ewFFaV3oAH",
)
# They write no line into the log.
PRECOMPILES = frozenset(
    {
        "Ed25519SigVerify111111111111111111111111111",
        "KeccakSecp256k11111111111111111111111111111",
        "Secp256r1SigVerify1111111111111111111111111",
    }
)

NAMES = {
    SYSTEM: "System program",
    TOKEN: "Token program",
    TOKEN_2022: "Token-2022 program",
    ASSOCIATED_TOKEN: "Associated token account program",
    STAKE: "Stake program",
    VOTE: "Vote program",
    COMPUTE_BUDGET: "Compute budget program",
    **dict.fromkeys(MEMOS, "Memo program"),
    "AddressLookupTab1e1111111111111111111111111": "Address lookup table program",
    "BPFLoader2111111111111111111111111111111111": "BPF loader",
    "BPFLoaderUpgradeab1e11111111111111111111111": "Upgradeable BPF loader",
    "Config1111111111111111111111111111111111111": "Config program",
    "Ed25519SigVerify111111111111111111111111111": "Ed25519 precompile",
    "KeccakSecp256k11111111111111111111111111111": "Secp256k1 precompile",
    "Secp256r1SigVerify1111111111111111111111111": "Secp256r1 precompile",
    "ZkE1Gama1Proof11111111111111111111111111111": "ZK ElGamal proof program",
    "ProgM6JCCvbYkfKqJYHePx4xxSUSqJp7rh8Lyv7nk7S": "Program metadata program",
    "metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s": "Metaplex token metadata",
    "T1pyyaTNZsKv2WcRAB8oVnk93mLJw2XzjtVYqCsaHqt": "Jito tip payment",
    "JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4": "Jupiter v6",
    "DCA265Vj8a9CEuX1eb1LWRnDT7uK6q1xMipnNyatn23M": "Jupiter DCA",
    "675kPX9MHTjS2zt1qfr1NYHuzeLXfQM9H24wFSUt1Mp8": "Raydium AMM v4",
    "CAMMCzo5YL8w4VFF8KVHrK22GGUsp5VTaW7grrKgrWqK": "Raydium CLMM",
    "CPMMoo8L3F4NbTegBCKVNunggL7H1ZpdTHKxQB5qKP1C": "Raydium CPMM",
    "LanMV9sAd7wArD4vJFi2qDdfnVhFxYSUg6eADduJ3uj": "Raydium LaunchLab",
    "whirLbMiicVdio4qvUfM5KAg6Ct8VwpYzGff3uctyCc": "Orca Whirlpools",
    "LBUZKhRxPF3XUpBCjp4YzTKgLccjZhTSDM9YuVaPwxo": "Meteora DLMM",
    "PhoeNiXZ8ByJGLkxNfZRnkUfjvmuYqLR89jjFHGqdXY": "Phoenix",
    "6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P": "Pump.fun",
    "pAMMBay6oceH9fJKBRHGP5D4bD4sWpmSwMn52FMfXEA": "Pump.fun AMM",
}

# Accounts of everybody that are no programs.
KNOWN_ACCOUNTS = {
    "SysvarC1ock11111111111111111111111111111111": "Clock sysvar",
    "SysvarEpochRewards1111111111111111111111111": "Epoch rewards sysvar",
    "SysvarEpochSchedu1e111111111111111111111111": "Epoch schedule sysvar",
    "SysvarFees111111111111111111111111111111111": "Fees sysvar",
    "Sysvar1nstructions1111111111111111111111111": "Instructions sysvar",
    "SysvarLastRestartS1ot1111111111111111111111": "Last restart slot sysvar",
    "SysvarRecentB1ockHashes11111111111111111111": "Recent blockhashes sysvar",
    "SysvarRent111111111111111111111111111111111": "Rent sysvar",
    "SysvarS1otHashes111111111111111111111111111": "Slot hashes sysvar",
    "SysvarS1otHistory11111111111111111111111111": "Slot history sysvar",
    "SysvarStakeHistory1111111111111111111111111": "Stake history sysvar",
    "StakeConfig11111111111111111111111111111111": "Stake config",
    "1nc1nerator11111111111111111111111111111111": "Incinerator",
    "So11111111111111111111111111111111111111112": "Wrapped SOL mint",
    "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v": "USDC mint",
    "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB": "USDT mint",
}

JITO_TIP_ACCOUNTS = frozenset(
    {
        "3AVi9Tg9Uo68tJfuvoKvqKNWKkC5wPdSSdeBnizKZ6jT",
        "96gYZGLnJYVFmbjzopPSU6QiEV5fGqZNyN9nmNhvrZU5",
        "ADaUMid9yfUytqMBgopwjb2DTLSokTSzL1zt6iGPaS49",
        "ADuUkR4vqLUMWXxW9gh6D6L8pMSawimctcNZ5pGwDcEt",
        "Cw8CFyM9FkoMi7K7Crf6HNQqf4uEMzpKw6QNghXLvLkY",
        "DfXygSm4jCyNCybVYYK6DwvWqjKee8pbDmJGcLWNDXjh",
        "DttWaMuVvTiduZRnguLF7jNxTgiMBZ1hyAumKUiL2KRL",
        "HFqU5x63VTqvQss8hp11i4wVV8bD44PvwucfZ2bU7gRe",
    }
)

WRAPPED_SOL = "So11111111111111111111111111111111111111112"


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
    TOKEN_2022: _TOKEN_CODES,
    ASSOCIATED_TOKEN: {0: "The owner of the associated token account is not the expected one."},
    STAKE: {
        0: "There is no credit to redeem.",
        1: "The lockup of the stake has not expired.",
        2: "The stake was deactivated already.",
        3: "The stake can be redelegated once an epoch only.",
        4: "The stake is too small for this.",
        5: "The stakes cannot be merged: they differ.",
        12: "The delegation is below the least amount.",
    },
    VOTE: {
        0: "The vote is too old.",
        1: "The slots of the vote are not the chain's.",
        2: "The hash of the vote is not the slot's.",
        3: "The vote has no slots.",
        4: "The vote's timestamp is too old.",
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
    "ComputationalBudgetExceeded": "It used all compute units that it asked for: ask for more.",
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
