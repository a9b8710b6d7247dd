//! A wallet with money.

use crate::report::{Outcome, Report};
use serde_json::Value;
use solana_client::nonblocking::rpc_client::RpcClient;
use solana_commitment_config::CommitmentConfig;
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signature::Signature;
use solana_signer::Signer;
use solana_system_interface::instruction::transfer;
use solana_transaction::Transaction;
use std::{
    sync::Arc,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Wallet {
    pub rpc: Arc<RpcClient>,
    pub websocket_url: String,
    pub payer: Keypair,
    pub payee: Pubkey,
    /// Of a transaction that is confirmed.
    pub signature: Signature,
    paid: AtomicU64,
}

impl Wallet {
    /// A wallet whose airdrop and first transfer are confirmed.
    pub async fn begin(report: &mut Report, given: &Value) -> Option<Self> {
        let url = given["url"].as_str()?.to_string();
        let mut wallet = Self {
            rpc: Arc::new(RpcClient::new_with_commitment(
                url,
                CommitmentConfig::confirmed(),
            )),
            websocket_url: given["websocketUrl"].as_str()?.to_string(),
            payer: Keypair::new(),
            payee: Keypair::new().pubkey(),
            signature: Signature::default(),
            paid: AtomicU64::new(0),
        };
        let address = wallet.payer.pubkey();
        report
            .check("request_airdrop, confirmed", async {
                let airdrop = wallet.rpc.request_airdrop(&address, 10_000_000_000).await?;
                let wait = wallet.rpc.poll_for_signature(&airdrop);
                Ok(tokio::time::timeout(PATIENCE, wait).await??)
            })
            .await?;
        wallet.signature = report
            .check("send_and_confirm_transaction", async {
                let transaction = wallet.transaction().await?;
                Ok(wallet
                    .rpc
                    .send_and_confirm_transaction(&transaction)
                    .await?)
            })
            .await?;
        Some(wallet)
    }

    /// Pays the payee, each time another amount.
    pub async fn transaction(&self) -> Outcome<Transaction> {
        let lamports = 1_000_000 + self.paid.fetch_add(1, Ordering::Relaxed);
        let payer = self.payer.pubkey();
        let instruction = transfer(&payer, &self.payee, lamports);
        let blockhash = self.rpc.get_latest_blockhash().await?;
        Ok(Transaction::new_signed_with_payer(
            &[instruction],
            Some(&payer),
            &[&self.payer],
            blockhash,
        ))
    }

    pub async fn send(&self) -> Outcome<Signature> {
        let transaction = self.transaction().await?;
        Ok(self.rpc.send_transaction(&transaction).await?)
    }

    /// Pays until `until` is there: nothing says from when on a subscription holds.
    pub async fn paying<T>(&self, until: impl Future<Output = Outcome<T>>) -> Outcome<T> {
        tokio::pin!(until);
        let end = tokio::time::sleep(PATIENCE);
        tokio::pin!(end);
        let mut tick = tokio::time::interval(Duration::from_millis(500));
        loop {
            tokio::select! {
                found = &mut until => return found,
                _ = &mut end => return Err("nothing came in a minute".into()),
                _ = tick.tick() => { self.send().await?; }
            }
        }
    }
}
