//! Answers made instructions and accounts with Agave's own jsonParsed decoder.
//!
//! Reads cases from standard input, one JSON object a line, and writes one line for each: what
//! the decoder shows, `null` where it leaves the bytes unparsed, `"panic"` where it panics.
//! `docs/decisions/json-parsed.md` says how to record again.

use {
    serde::Deserialize,
    serde_json::{Value, json},
    solana_account::Account,
    solana_account_decoder::{
        UiAccountData, UiAccountEncoding, encode_ui_account,
        parse_account_data::{AccountAdditionalDataV3, SplTokenAdditionalDataV2},
        parse_token::get_token_account_mint,
    },
    solana_message::{AccountKeys, compiled_instruction::CompiledInstruction},
    solana_pubkey::Pubkey,
    solana_transaction_status::parse_instruction::parse,
    spl_token_2022_interface::{
        extension::{
            BaseStateWithExtensions, StateWithExtensions,
            interest_bearing_mint::InterestBearingConfig, scaled_ui_amount::ScaledUiAmountConfig,
        },
        state::Mint,
    },
    std::{
        io::{BufRead, BufWriter, Write, stdin, stdout},
        panic::{catch_unwind, set_hook},
        str::FromStr,
    },
};

#[derive(Deserialize)]
#[serde(untagged)]
enum Case {
    Instruction {
        program: String,
        accounts: Vec<String>,
        data: String,
    },
    /// `mint` is the data of the account that a token account names as its mint, if there is
    /// one; `now` the cluster's time.
    Account {
        pubkey: String,
        owner: String,
        data: String,
        mint: Option<String>,
        now: i64,
    },
}

fn main() {
    set_hook(Box::new(|_| {}));
    let mut out = BufWriter::new(stdout().lock());
    for line in stdin().lock().lines() {
        let case: Case = serde_json::from_str(&line.expect("a line")).expect("a case");
        let answer = catch_unwind(|| answer(&case)).unwrap_or_else(|_| json!("panic"));
        writeln!(out, "{answer}").expect("standard output");
    }
}

fn answer(case: &Case) -> Value {
    match case {
        Case::Instruction {
            program,
            accounts,
            data,
        } => instruction(&key(program), accounts, bytes(data)),
        Case::Account {
            pubkey,
            owner,
            data,
            mint,
            now,
        } => account(&key(pubkey), &key(owner), bytes(data), mint, *now),
    }
}

fn instruction(program: &Pubkey, accounts: &[String], data: Vec<u8>) -> Value {
    let keys: Vec<Pubkey> = accounts.iter().map(|each| key(each)).collect();
    let instruction = CompiledInstruction {
        program_id_index: 0,
        accounts: (0..keys.len() as u8).collect(),
        data,
    };
    match parse(program, &instruction, &AccountKeys::new(&keys, None), None) {
        Ok(shown) => json!({"program": shown.program, "parsed": shown.parsed}),
        Err(_) => Value::Null,
    }
}

fn account(
    pubkey: &Pubkey,
    owner: &Pubkey,
    data: Vec<u8>,
    mint: &Option<String>,
    now: i64,
) -> Value {
    // As solana-rpc's get_parsed_token_account has it.
    let additional = get_token_account_mint(&data)
        .and_then(|_| mint.as_ref())
        .and_then(|mint| of_mint(&bytes(mint), now))
        .map(|data| AccountAdditionalDataV3 {
            spl_token_additional_data: Some(data),
        });
    let account = Account {
        data,
        owner: *owner,
        ..Account::default()
    };
    let encoding = UiAccountEncoding::JsonParsed;
    match encode_ui_account(pubkey, &account, encoding, additional, None).data {
        UiAccountData::Json(shown) => serde_json::to_value(shown).expect("JSON"),
        _ => Value::Null,
    }
}

fn of_mint(data: &[u8], now: i64) -> Option<SplTokenAdditionalDataV2> {
    let mint = StateWithExtensions::<Mint>::unpack(data).ok()?;
    Some(SplTokenAdditionalDataV2 {
        decimals: mint.base.decimals,
        interest_bearing_config: mint
            .get_extension::<InterestBearingConfig>()
            .map(|found| (*found, now))
            .ok(),
        scaled_ui_amount_config: mint
            .get_extension::<ScaledUiAmountConfig>()
            .map(|found| (*found, now))
            .ok(),
    })
}

fn key(text: &str) -> Pubkey {
    Pubkey::from_str(text).expect("a pubkey")
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal"))
        .collect()
}
