"""Programs and other accounts by name: data, so that a program is a line here."""

from chain import addresses

SYSTEM = str(addresses.SYSTEM)
TOKEN = str(addresses.TOKEN)
TOKEN_2022 = str(addresses.TOKEN_2022)
ASSOCIATED_TOKEN = str(addresses.ASSOCIATED_TOKEN)
STAKE = str(addresses.STAKE)
VOTE = str(addresses.VOTE)
COMPUTE_BUDGET = str(addresses.COMPUTE_BUDGET)
MEMOS = str(addresses.MEMO_1), str(addresses.MEMO_2), str(addresses.MEMO_3)
CONFIG = str(addresses.CONFIG)
UPGRADEABLE_LOADER = str(addresses.LOADER_3)
LOADER_V4 = str(addresses.LOADER_4)
ZK_PROOFS = str(addresses.ZK_PROOFS)
ED25519 = str(addresses.ED25519)
SECP256K1 = str(addresses.SECP256K1)
SECP256R1 = str(addresses.SECP256R1)
WRAPPED_SOL = str(addresses.WRAPPED_SOL)
# They write no line into the log.
PRECOMPILES = frozenset({ED25519, SECP256K1, SECP256R1})

NAMES = {
    SYSTEM: "System program",
    TOKEN: "Token program",
    TOKEN_2022: "Token-2022 program",
    ASSOCIATED_TOKEN: "Associated token account program",
    STAKE: "Stake program",
    VOTE: "Vote program",
    COMPUTE_BUDGET: "Compute budget program",
    **dict.fromkeys(MEMOS, "Memo program"),
    str(addresses.LOOKUP_TABLE): "Address lookup table program",
    str(addresses.LOADER_1): "BPF loader 1",
    str(addresses.LOADER_2): "BPF loader",
    UPGRADEABLE_LOADER: "Upgradeable BPF loader",
    LOADER_V4: "Loader v4",
    CONFIG: "Config program",
    ED25519: "Ed25519 precompile",
    SECP256K1: "Secp256k1 precompile",
    SECP256R1: "Secp256r1 precompile",
    ZK_PROOFS: "ZK ElGamal proof program",
    str(addresses.FEATURE): "Feature program",
    str(addresses.NATIVE_LOADER): "Native loader",
    str(addresses.METADATA): "Program metadata program",
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
    "EUqojwWA2rd19FZrzeBncJsm38Jm1hEhE3zsmX3bRc2o": "Serum DEX v2",
    "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin": "Serum DEX v3",
    "srmqPvymJeFKQ4zGQed1GFppgkRHL9kaELCbyksJtPX": "OpenBook v1",
    "JUP4Fb2cqiRUcaTHdrPC8h2gNsA2ETXiPDD33WcGuJB": "Jupiter v4",
    "PERPHjGBqRHArX4DySjwM6UJHiR3sWAatqfdBS2qQJu": "Jupiter Perpetuals",
    "KLend2g3cP87fffoy8q1mQqGKjrxjC8boSyAYavgmjD": "Kamino Lend",
    "MFv2hWf31Z9kbCa1snEPYctwafyhdvnV7FZnsebVacA": "marginfi",
    "dRiftyHA39MWEi3m9aunc5MzRF1JYuBsbn6VPcn33UH": "Drift",
    "ZETAxsqBRek56DhiGXrn75yj2NHU3aYUnxvHXpkf3aD": "Zeta",
    "FsJ3A3u2vn5cTVofAjvy6y5kwABJAqYWpe4975bi2epH": "Pyth oracle",
    "SW1TCH7qEPTdLsDHRgPuMQjbQxKdH2aBStViMFnt64f": "Switchboard v2",
    "SoLFiHG9TfgtdUXUjWAxi3LtvYuFyDLVhBWxdMZxyCe": "SolFi",
    "2wT8Yq49kHgDzXuPxZSaeLaH1qbmGXtEyPy64bL7aD3c": "Lifinity v2",
    "Eo7WjKq67rjJQSZxS6z3YkapzY3eMj6Xy8X5EQVn5UaB": "Meteora pools",
    "24Uqj9JCLxUeoC3hGfh5W3s9FM9uCHDS2SG3LYwBpyTi": "Meteora vault",
    "MERLuDFBMmsHnsBPZw2sDQZHvXFMwp8EdjudcU2HKky": "Mercurial stable swap",
    "SSwpkEEcbUqx4vtoEByFjSkhKdCT862DNVb52nZg1UZ": "Saber stable swap",
    "9W959DqEETiGZocYWCQPaJ6sBmUzgfxXfqGeTEdp3aQP": "Orca token swap v2",
    "BSwp6bEBihVLdqJRKGgzjcGLHkcTuzmSo1TQkHepzH8p": "BonkSwap",
    "6m2CDdhRgxpH4WjvdzxAYbGxwdGUz5MziiL5jek2kBma": "OKX DEX",
    "SPoo1Ku8WFXoNDMHPsrGSTSG1Y47rzgn41SLUNakuHy": "Stake pool program",
    "BGUMAp9Gq7iTEuizy4pqaxsTyUCBK68MDfK752saRPUY": "Metaplex Bubblegum",
    "cmtDvXumGCrqC1Age74AVPhSRVXJMd8PJS91L8KbNCK": "Account compression program",
    "noopb9bkMVfRPU8AsbpTUg8AQkHtKwMYZiFUjNRtMmV": "Noop program",
    "6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P": "Pump.fun",
    "pAMMBay6oceH9fJKBRHGP5D4bD4sWpmSwMn52FMfXEA": "Pump.fun AMM",
}

# Accounts of everybody that are no programs.
KNOWN_ACCOUNTS = {
    str(addresses.CLOCK): "Clock sysvar",
    str(addresses.EPOCH_REWARDS): "Epoch rewards sysvar",
    str(addresses.EPOCH_SCHEDULE): "Epoch schedule sysvar",
    str(addresses.FEES): "Fees sysvar",
    str(addresses.INSTRUCTIONS): "Instructions sysvar",
    str(addresses.LAST_RESTART_SLOT): "Last restart slot sysvar",
    str(addresses.RECENT_BLOCKHASHES): "Recent blockhashes sysvar",
    str(addresses.RENT): "Rent sysvar",
    str(addresses.SLOT_HASHES): "Slot hashes sysvar",
    str(addresses.SLOT_HISTORY): "Slot history sysvar",
    str(addresses.STAKE_HISTORY): "Stake history sysvar",
    str(addresses.STAKE_CONFIG): "Stake config",
    "1nc1nerator11111111111111111111111111111111": "Incinerator",
    WRAPPED_SOL: "Wrapped SOL mint",
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
