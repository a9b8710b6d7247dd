//! Every read of solana-client's RpcClient, into its own types.

use crate::{
    report::Report,
    wallet::{PATIENCE, Wallet},
};
use solana_client::{
    rpc_config::{
        RpcBlockConfig, RpcContextConfig, RpcLargestAccountsConfig, RpcLeaderScheduleConfig,
        RpcProgramAccountsConfig, RpcSimulateTransactionConfig, RpcTransactionConfig,
    },
    rpc_filter::RpcFilterType,
    rpc_request::TokenAccountsFilter,
};
use solana_commitment_config::CommitmentConfig;
use solana_pubkey::{Pubkey, pubkey};
use solana_signer::Signer;
use solana_transaction_status_client_types::{TransactionDetails, UiTransactionEncoding};
use std::time::Duration;

const NATIVE_MINT: Pubkey = pubkey!("So11111111111111111111111111111111111111112");
const TOKEN_PROGRAM: Pubkey = pubkey!("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA");

pub async fn all(report: &mut Report, wallet: &Wallet) {
    let (rpc, payer, signature) = (&wallet.rpc, wallet.payer.pubkey(), wallet.signature);
    report
        .check("get_signature_status, finalized", async {
            let found = async {
                loop {
                    let commitment = CommitmentConfig::finalized();
                    let status = rpc
                        .get_signature_status_with_commitment(&signature, commitment)
                        .await?;
                    if let Some(outcome) = status {
                        outcome?;
                        return Ok::<(), Box<dyn std::error::Error>>(());
                    }
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            };
            tokio::time::timeout(PATIENCE, found).await?
        })
        .await;
    let mut slot = 0;
    for encoding in [
        UiTransactionEncoding::Base58,
        UiTransactionEncoding::Base64,
        UiTransactionEncoding::Json,
        UiTransactionEncoding::JsonParsed,
    ] {
        let config = RpcTransactionConfig {
            encoding: Some(encoding),
            commitment: Some(CommitmentConfig::confirmed()),
            max_supported_transaction_version: Some(0),
        };
        report
            .check(&format!("get_transaction, {encoding:?}"), async {
                let found = rpc.get_transaction_with_config(&signature, config).await?;
                slot = found.slot;
                if let Some(decoded) = found.transaction.transaction.decode()
                    && decoded.signatures[0] != signature
                {
                    return Err("it is another one".into());
                }
                Ok(())
            })
            .await;
        for details in [
            TransactionDetails::Full,
            TransactionDetails::Accounts,
            TransactionDetails::Signatures,
            TransactionDetails::None,
        ] {
            let config = RpcBlockConfig {
                encoding: Some(encoding),
                transaction_details: Some(details),
                rewards: Some(true),
                commitment: Some(CommitmentConfig::confirmed()),
                max_supported_transaction_version: Some(0),
            };
            let name = format!("get_block, {encoding:?}, {details:?}");
            report
                .reads(&name, rpc.get_block_with_config(slot, config))
                .await;
        }
    }
    report.reads("get_slot", rpc.get_slot()).await;
    report
        .reads("get_block_height", rpc.get_block_height())
        .await;
    report
        .reads("get_block_commitment", rpc.get_block_commitment(slot))
        .await;
    report.reads("get_slot_leader", rpc.get_slot_leader()).await;
    report
        .reads("get_slot_leaders", rpc.get_slot_leaders(slot, 4))
        .await;
    report
        .reads("get_block_production", rpc.get_block_production())
        .await;
    report.reads("supply", rpc.supply()).await;
    let largest = RpcLargestAccountsConfig::default();
    report
        .reads(
            "get_largest_accounts",
            rpc.get_largest_accounts_with_config(largest),
        )
        .await;
    report
        .reads("get_vote_accounts", rpc.get_vote_accounts())
        .await;
    report
        .reads("get_cluster_nodes", rpc.get_cluster_nodes())
        .await;
    report
        .reads("get_blocks", rpc.get_blocks(slot, Some(slot + 2)))
        .await;
    report
        .reads("get_blocks_with_limit", rpc.get_blocks_with_limit(slot, 2))
        .await;
    report
        .check("get_signatures_for_address", async {
            let found = rpc.get_signatures_for_address(&payer).await?;
            let wanted = signature.to_string();
            match found.iter().any(|each| each.signature == wanted) {
                true => Ok(()),
                false => Err("the transfer is not among them".into()),
            }
        })
        .await;
    report
        .reads("get_block_time", rpc.get_block_time(slot))
        .await;
    report.reads("get_epoch_info", rpc.get_epoch_info()).await;
    report
        .reads("get_epoch_schedule", rpc.get_epoch_schedule())
        .await;
    report
        .reads("get_leader_schedule", rpc.get_leader_schedule(Some(slot)))
        .await;
    let config = RpcLeaderScheduleConfig::default();
    report
        .reads(
            "get_leader_schedule, config",
            rpc.get_leader_schedule_with_config(None, config),
        )
        .await;
    report
        .reads(
            "get_recent_performance_samples",
            rpc.get_recent_performance_samples(Some(4)),
        )
        .await;
    report
        .reads(
            "get_recent_prioritization_fees",
            rpc.get_recent_prioritization_fees(&[payer]),
        )
        .await;
    report.reads("get_identity", rpc.get_identity()).await;
    report
        .reads("get_inflation_governor", rpc.get_inflation_governor())
        .await;
    report
        .reads("get_inflation_rate", rpc.get_inflation_rate())
        .await;
    report.reads("get_version", rpc.get_version()).await;
    report
        .reads("minimum_ledger_slot", rpc.minimum_ledger_slot())
        .await;
    report.reads("get_account", rpc.get_account(&payer)).await;
    report
        .reads(
            "get_ui_account",
            rpc.get_ui_account_with_config(&NATIVE_MINT, Default::default()),
        )
        .await;
    report
        .reads(
            "get_multiple_accounts",
            rpc.get_multiple_accounts(&[payer, NATIVE_MINT]),
        )
        .await;
    report
        .reads("get_account_data", rpc.get_account_data(&NATIVE_MINT))
        .await;
    report
        .reads(
            "get_minimum_balance_for_rent_exemption",
            rpc.get_minimum_balance_for_rent_exemption(165),
        )
        .await;
    report.reads("get_balance", rpc.get_balance(&payer)).await;
    // Mints alone: without an encoding, accounts above 128 bytes are refused, as a validator does,
    // and other stacks make token accounts on the same chain.
    let mints = RpcProgramAccountsConfig {
        filters: Some(vec![RpcFilterType::DataSize(82)]),
        ..Default::default()
    };
    report
        .reads(
            "get_program_ui_accounts",
            rpc.get_program_ui_accounts_with_config(&TOKEN_PROGRAM, mints),
        )
        .await;
    report
        .reads(
            "get_stake_minimum_delegation",
            rpc.get_stake_minimum_delegation(),
        )
        .await;
    report
        .reads("get_transaction_count", rpc.get_transaction_count())
        .await;
    report
        .reads("get_first_available_block", rpc.get_first_available_block())
        .await;
    report
        .reads("get_genesis_hash", rpc.get_genesis_hash())
        .await;
    report.reads("get_health", rpc.get_health()).await;
    report
        .reads("get_token_supply", rpc.get_token_supply(&NATIVE_MINT))
        .await;
    report
        .reads(
            "get_token_largest_accounts",
            rpc.get_token_largest_accounts(&NATIVE_MINT),
        )
        .await;
    report
        .reads(
            "get_token_accounts_by_owner",
            rpc.get_token_accounts_by_owner(&payer, TokenAccountsFilter::ProgramId(TOKEN_PROGRAM)),
        )
        .await;
    report
        .reads(
            "get_token_accounts_by_delegate",
            rpc.get_token_accounts_by_delegate(
                &payer,
                TokenAccountsFilter::ProgramId(TOKEN_PROGRAM),
            ),
        )
        .await;
    report
        .check("is_blockhash_valid, get_fee_for_message", async {
            let transaction = wallet.transaction().await?;
            let blockhash = transaction.message.recent_blockhash;
            let valid = rpc
                .is_blockhash_valid(&blockhash, CommitmentConfig::confirmed())
                .await?;
            let fee = rpc.get_fee_for_message(&transaction.message).await?;
            match (valid, fee) {
                (true, 5_000) => Ok(()),
                other => Err(format!("{other:?}").into()),
            }
        })
        .await;
    report
        .check("simulate_transaction", async {
            let transaction = wallet.transaction().await?;
            let config = RpcSimulateTransactionConfig {
                sig_verify: true,
                commitment: Some(CommitmentConfig::confirmed()),
                inner_instructions: true,
                ..Default::default()
            };
            let found = rpc
                .simulate_transaction_with_config(&transaction, config)
                .await?;
            match found.value.err {
                None => Ok(()),
                Some(error) => Err(format!("{error:?}").into()),
            }
        })
        .await;
    report
        .check("a preflight's error is read", async {
            let mut transaction = wallet.transaction().await?;
            transaction.message.instructions[0].data =
                vec![2, 0, 0, 0, 255, 255, 255, 255, 255, 255, 0, 0];
            transaction.sign(&[&wallet.payer], transaction.message.recent_blockhash);
            match rpc.send_transaction(&transaction).await {
                Ok(_) => Err("it was sent".into()),
                Err(error) => match error.get_transaction_error() {
                    Some(_) => Ok(()),
                    None => Err(format!("{error:?}").into()),
                },
            }
        })
        .await;
    report
        .check("min_context_slot", async {
            let config = RpcContextConfig {
                commitment: None,
                min_context_slot: Some(u64::MAX / 2),
            };
            let params = serde_json::json!([config]);
            let found: Result<u64, _> = rpc
                .send(solana_client::rpc_request::RpcRequest::GetSlot, params)
                .await;
            match found {
                Err(error) if error.to_string().contains("Minimum context slot") => Ok(()),
                other => Err(format!("{other:?}").into()),
            }
        })
        .await;
}
