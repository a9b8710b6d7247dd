//! A line of JSON for each check, and one at the end.

use serde_json::{Value, json};
use std::{error::Error, fmt::Debug, future::Future, time::Instant};

pub type Outcome<T = ()> = Result<T, Box<dyn Error>>;

#[derive(Default)]
pub struct Report {
    count: usize,
    failed: usize,
}

impl Report {
    /// Awaits a check and prints a line about it; what it answered, if it did.
    pub async fn check<T>(
        &mut self,
        name: &str,
        run: impl Future<Output = Outcome<T>>,
    ) -> Option<T> {
        let begun = Instant::now();
        let outcome = run.await;
        self.count += 1;
        let mut line = json!({
            "check": name, "ok": outcome.is_ok(), "ms": begun.elapsed().as_millis() as u64,
        });
        if let Err(error) = &outcome {
            self.failed += 1;
            line["error"] =
                Value::String(format!("{error} {error:?}").chars().take(1_000).collect());
        }
        println!("{line}");
        outcome.ok()
    }

    /// A check that a call of the client answers with what the client can read.
    pub async fn reads<T: Debug, E: Error + 'static>(
        &mut self,
        name: &str,
        call: impl Future<Output = Result<T, E>>,
    ) -> Option<T> {
        self.check(name, async { Ok(call.await?) }).await
    }

    pub fn end(&self) {
        println!("{}", json!({"done": self.count, "failed": self.failed}));
    }
}
