//! With solana-client, yellowstone-grpc-client and solana-tpu-client-next: airdrop, send, confirm,
//! read, subscribe.

mod geyser;
mod reads;
mod report;
mod subscriptions;
mod tpu;
mod wallet;

use report::Report;
use serde_json::Value;
use wallet::Wallet;

#[tokio::main]
async fn main() {
    let given: Value = serde_json::from_str(&std::env::args().nth(1).expect("a JSON object"))
        .expect("a JSON object");
    let mut report = Report::default();
    if let Some(wallet) = Wallet::begin(&mut report, &given).await {
        reads::all(&mut report, &wallet).await;
        subscriptions::all(&mut report, &wallet).await;
        geyser::all(&mut report, &wallet, &given).await;
        tpu::lands(&mut report, &wallet).await;
    }
    report.end();
}
