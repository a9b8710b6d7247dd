//! Every subscription of solana-client's PubsubClient, into its own types.

use crate::{report::Report, wallet::Wallet};
use futures::StreamExt;
use solana_client::{
    nonblocking::pubsub_client::PubsubClient,
    rpc_config::{
        RpcAccountInfoConfig, RpcBlockSubscribeConfig, RpcBlockSubscribeFilter,
        RpcProgramAccountsConfig, RpcSignatureSubscribeConfig, RpcTransactionLogsConfig,
        RpcTransactionLogsFilter,
    },
};
use solana_commitment_config::CommitmentConfig;
use solana_pubkey::Pubkey;

/// Awaits a subscription's first notification while the wallet pays.
macro_rules! heard {
    ($report:expr, $wallet:expr, $name:expr, $subscribe:expr) => {
        $report
            .check($name, async {
                $wallet
                    .paying(async {
                        let (mut notifications, unsubscribe) = $subscribe.await?;
                        let found = notifications.next().await;
                        drop(notifications);
                        unsubscribe().await;
                        found.ok_or("it ended")?;
                        Ok(())
                    })
                    .await
            })
            .await
    };
}

pub async fn all(report: &mut Report, wallet: &Wallet) {
    let connect = async { Ok(PubsubClient::new(&wallet.websocket_url).await?) };
    let Some(client) = report.check("PubsubClient::new", connect).await else {
        return;
    };
    heard!(report, wallet, "slot_subscribe", client.slot_subscribe());
    heard!(
        report,
        wallet,
        "slot_updates_subscribe",
        client.slot_updates_subscribe()
    );
    heard!(report, wallet, "root_subscribe", client.root_subscribe());
    heard!(report, wallet, "vote_subscribe", client.vote_subscribe());
    for commitment in [
        CommitmentConfig::processed(),
        CommitmentConfig::confirmed(),
        CommitmentConfig::finalized(),
    ] {
        let level = commitment.commitment;
        let account = RpcAccountInfoConfig {
            commitment: Some(commitment),
            ..Default::default()
        };
        heard!(
            report,
            wallet,
            &format!("account_subscribe, {level}"),
            client.account_subscribe(&wallet.payee, Some(account.clone()))
        );
        let program = RpcProgramAccountsConfig {
            account_config: account,
            ..Default::default()
        };
        heard!(
            report,
            wallet,
            &format!("program_subscribe, {level}"),
            client.program_subscribe(&Pubkey::default(), Some(program.clone()))
        );
        let mentions = RpcTransactionLogsFilter::Mentions(vec![wallet.payee.to_string()]);
        heard!(
            report,
            wallet,
            &format!("logs_subscribe, {level}"),
            client.logs_subscribe(
                mentions.clone(),
                RpcTransactionLogsConfig {
                    commitment: Some(commitment)
                }
            )
        );
        let config = RpcSignatureSubscribeConfig {
            commitment: Some(commitment),
            enable_received_notification: Some(false),
        };
        heard!(
            report,
            wallet,
            &format!("signature_subscribe, {level}"),
            client.signature_subscribe(&wallet.signature, Some(config.clone()))
        );
    }
    let config = RpcBlockSubscribeConfig {
        commitment: Some(CommitmentConfig::confirmed()),
        encoding: None,
        transaction_details: None,
        show_rewards: Some(true),
        max_supported_transaction_version: Some(0),
    };
    heard!(
        report,
        wallet,
        "block_subscribe",
        client.block_subscribe(RpcBlockSubscribeFilter::All, Some(config.clone()))
    );
    report
        .check("PubsubClient::shutdown", async {
            Ok(client.shutdown().await?)
        })
        .await;
}
