//! A leader's TPU port by solana-streamer with stake-weighted QoS. Prints the port, then each
//! transaction that came, in hexadecimal. Arguments: identities that have a stake, in base58.

use crossbeam_channel::unbounded;
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_streamer::{
    nonblocking::swqos::SwQosConfig,
    quic::{QuicStreamerConfig, spawn_stake_weighted_qos_server},
    streamer::StakedNodes,
};
use std::{
    collections::HashMap,
    io::Write,
    net::UdpSocket,
    sync::{Arc, RwLock},
};
use tokio_util::sync::CancellationToken;

fn main() {
    let stakes: HashMap<Pubkey, u64> = std::env::args()
        .skip(1)
        .map(|text| (text.parse().expect("a pubkey"), 1_000_000_000))
        .collect();
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = socket.local_addr().expect("an address").port();
    let (sender, receiver) = unbounded();
    let _server = spawn_stake_weighted_qos_server(
        "port",
        "port",
        [socket.into()],
        &Keypair::new(),
        sender,
        Arc::new(RwLock::new(StakedNodes::new(
            Arc::new(stakes),
            HashMap::new(),
        ))),
        QuicStreamerConfig::default(),
        SwQosConfig::default(),
        CancellationToken::new(),
    )
    .expect("a server");
    let mut output = std::io::stdout().lock();
    writeln!(output, "{port}").expect("an output");
    for batch in receiver {
        for packet in batch.iter() {
            let wire = packet.data(..).unwrap_or_default();
            let text: String = wire.iter().map(|byte| format!("{byte:02x}")).collect();
            writeln!(output, "{text}").expect("an output");
        }
        output.flush().expect("an output");
    }
}
