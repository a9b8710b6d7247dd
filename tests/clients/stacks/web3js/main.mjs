// With @solana/web3.js 1.x, @solana/spl-token and anchor: one URL, unless a WebSocket's is given.
import { Connection, Keypair } from "@solana/web3.js";

import { anchored } from "./anchored.mjs";
import { check, done, equal } from "./report.mjs";
import { subscriptions } from "./subscriptions.mjs";
import { tokens } from "./tokens.mjs";
import { transactions } from "./transactions.mjs";

const given = JSON.parse(process.argv[2]);
// Without wsEndpoint it takes the next port, and the URL's query with the key.
const chain = new Connection(given.url, "confirmed");
const flow = { chain, payer: Keypair.generate(), payee: Keypair.generate() };
if (await transactions(flow)) {
  await tokens(flow);
  await subscriptions(flow);
  await anchored(flow);
}
await check("wsEndpoint", async () => {
  const wsEndpoint = given.websocketUrl;
  const other = new Connection(given.url, { commitment: "confirmed", wsEndpoint });
  await new Promise((resolve) => other.onSlotChange(resolve));
});
if (given.key) {
  await check("the key in a header", async () => {
    const httpHeaders = { Authorization: given.key };
    const other = new Connection(given.plainUrl, { httpHeaders });
    equal(typeof (await other.getSlot()), "number");
  });
}
done();
