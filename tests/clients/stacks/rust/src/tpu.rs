//! A transaction sent to the leaders' TPU by solana-tpu-client-next, which finds them by itself.

use crate::{
    report::Report,
    wallet::{PATIENCE, Wallet},
};
use solana_tpu_client_next::{
    ClientBuilder, node_address_service::LeaderTpuCacheServiceConfig,
    websocket_node_address_service::WebsocketNodeAddressService,
};
use std::net::UdpSocket;
use tokio_util::sync::CancellationToken;

pub async fn lands(report: &mut Report, wallet: &Wallet) {
    let run = async {
        let cancel = CancellationToken::new();
        let leaders = WebsocketNodeAddressService::run(
            wallet.rpc.clone(),
            wallet.websocket_url.clone(),
            LeaderTpuCacheServiceConfig::default(),
            cancel.clone(),
        )
        .await?;
        let (sender, client) = ClientBuilder::new(Box::new(leaders))
            .bind_socket(UdpSocket::bind("127.0.0.1:0")?)
            .cancel_token(cancel.clone())
            .build()?;
        let transaction = wallet.transaction().await?;
        let wire = bincode::serialize(&transaction)?;
        let landed = async {
            loop {
                sender
                    .send_transactions_in_batch(vec![wire.clone()])
                    .await?;
                let found = wallet
                    .rpc
                    .get_signature_status(&transaction.signatures[0])
                    .await?;
                if let Some(outcome) = found {
                    outcome?;
                    return Ok::<(), Box<dyn std::error::Error>>(());
                }
                tokio::time::sleep(std::time::Duration::from_millis(500)).await;
            }
        };
        tokio::time::timeout(PATIENCE, landed).await??;
        cancel.cancel();
        drop(client);
        Ok(())
    };
    report
        .check("solana-tpu-client-next: a transaction lands", run)
        .await;
}
