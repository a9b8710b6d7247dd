//! geyser.Geyser through yellowstone-grpc-client.

use crate::{
    report::{Outcome, Report},
    wallet::Wallet,
};
use futures::StreamExt;
use serde_json::Value;
use std::collections::HashMap;
use yellowstone_grpc_client::GeyserGrpcClient;
use yellowstone_grpc_proto::{
    geyser::{
        CommitmentLevel, SubscribeRequest, SubscribeRequestFilterAccounts,
        SubscribeRequestFilterBlocks, SubscribeRequestFilterTransactions,
        subscribe_update::UpdateOneof,
    },
    tonic::codec::CompressionEncoding,
};

async fn connected(
    endpoint: &str,
    token: Option<&str>,
    encoding: Option<CompressionEncoding>,
) -> Outcome<GeyserGrpcClient> {
    let mut builder = GeyserGrpcClient::build_from_shared(endpoint.to_string())?
        .x_token(token.map(str::to_string))?;
    if let Some(encoding) = encoding {
        builder = builder
            .send_compressed(encoding)
            .accept_compressed(encoding);
    }
    Ok(builder.connect().await?)
}

pub async fn all(report: &mut Report, wallet: &Wallet, given: &Value) {
    let Some(address) = given["grpc"].as_str() else {
        return;
    };
    let (endpoint, token) = (format!("http://{address}"), given["key"].as_str());
    let connect = connected(&endpoint, token, None);
    let Some(mut client) = report.check("grpc: connect", connect).await else {
        return;
    };
    let confirmed = Some(CommitmentLevel::Confirmed);
    report.reads("grpc: ping", client.ping(7)).await;
    report
        .reads("grpc: get_version", client.get_version())
        .await;
    report
        .reads("grpc: get_slot", client.get_slot(confirmed))
        .await;
    report
        .reads("grpc: get_block_height", client.get_block_height(confirmed))
        .await;
    report
        .check("grpc: get_latest_blockhash, is_blockhash_valid", async {
            let latest = client.get_latest_blockhash(confirmed).await?;
            let answer = client
                .is_blockhash_valid(latest.blockhash, confirmed)
                .await?;
            match answer.valid {
                true => Ok(()),
                false => Err("the latest blockhash is not valid".into()),
            }
        })
        .await;
    report
        .reads(
            "grpc: subscribe_replay_info",
            client.subscribe_replay_info(),
        )
        .await;
    let mut encodings = vec![None, Some(CompressionEncoding::Gzip)];
    // localnet's own stream has gzip alone.
    if token.is_some() {
        encodings.push(Some(CompressionEncoding::Zstd));
    }
    for encoding in encodings {
        for (kind, request) in requests(wallet) {
            let name = match encoding {
                None => format!("grpc: subscribe, {kind}"),
                Some(encoding) => format!("grpc: subscribe with {encoding:?}, {kind}"),
            };
            let first = first(&endpoint, token, encoding, request, kind);
            report.check(&name, wallet.paying(first)).await;
        }
    }
    if token.is_some() {
        report
            .check("grpc: a wrong x-token is refused", async {
                let mut client = connected(&endpoint, Some("tm_wrong"), None).await?;
                match client.get_slot(confirmed).await {
                    Ok(_) => Err("it was answered".into()),
                    Err(_) => Ok(()),
                }
            })
            .await;
    }
}

fn requests(wallet: &Wallet) -> Vec<(&'static str, SubscribeRequest)> {
    let payee = wallet.payee.to_string();
    let of = |level: CommitmentLevel| SubscribeRequest {
        commitment: Some(level as i32),
        ..Default::default()
    };
    let mut slots = of(CommitmentLevel::Processed);
    slots.slots = HashMap::from([("all".to_string(), Default::default())]);
    let mut accounts = of(CommitmentLevel::Processed);
    let filter = SubscribeRequestFilterAccounts {
        account: vec![payee.clone()],
        ..Default::default()
    };
    accounts.accounts = HashMap::from([("mine".to_string(), filter)]);
    let filter = SubscribeRequestFilterTransactions {
        account_include: vec![payee],
        ..Default::default()
    };
    let mut transactions = of(CommitmentLevel::Confirmed);
    transactions.transactions = HashMap::from([("mine".to_string(), filter.clone())]);
    let mut statuses = of(CommitmentLevel::Confirmed);
    statuses.transactions_status = HashMap::from([("mine".to_string(), filter)]);
    let mut blocks = of(CommitmentLevel::Confirmed);
    let filter = SubscribeRequestFilterBlocks {
        include_transactions: Some(true),
        ..Default::default()
    };
    blocks.blocks = HashMap::from([("all".to_string(), filter)]);
    let mut metas = of(CommitmentLevel::Finalized);
    metas.blocks_meta = HashMap::from([("all".to_string(), Default::default())]);
    vec![
        ("slot", slots),
        ("account", accounts),
        ("transaction", transactions),
        ("transaction status", statuses),
        ("block", blocks),
        ("block meta", metas),
    ]
}

/// Awaits the first update of a kind.
async fn first(
    endpoint: &str,
    token: Option<&str>,
    encoding: Option<CompressionEncoding>,
    request: SubscribeRequest,
    kind: &str,
) -> Outcome {
    let mut client = connected(endpoint, token, encoding).await?;
    let mut stream = client.subscribe_once(request).await?;
    while let Some(update) = stream.next().await {
        let found = match update?.update_oneof {
            Some(UpdateOneof::Slot(_)) => "slot",
            Some(UpdateOneof::Account(_)) => "account",
            Some(UpdateOneof::Transaction(_)) => "transaction",
            Some(UpdateOneof::TransactionStatus(_)) => "transaction status",
            Some(UpdateOneof::Block(_)) => "block",
            Some(UpdateOneof::BlockMeta(_)) => "block meta",
            _ => continue,
        };
        return match found == kind {
            true => Ok(()),
            false => Err(format!("a {found} came").into()),
        };
    }
    Err("it ended".into())
}
