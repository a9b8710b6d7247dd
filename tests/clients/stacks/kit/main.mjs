// With @solana/kit: every method of its RPC API, every subscription, and its own ways to confirm.
import { createDefaultRpcTransport, createSolanaRpcFromTransport } from "@solana/kit";

import { accounts } from "./accounts.mjs";
import { blocks } from "./blocks.mjs";
import { cluster } from "./cluster.mjs";
import { begin } from "./flow.mjs";
import { check, done, equal } from "./report.mjs";
import { sending } from "./sending.mjs";
import { subscriptions } from "./subscriptions.mjs";
import { tokens } from "./tokens.mjs";

const given = JSON.parse(process.argv[2]);
const flow = await begin(given);
if (flow !== undefined) {
  await cluster(flow);
  await blocks(flow);
  await tokens(flow);
  await accounts(flow);
  await sending(flow);
  await subscriptions(flow);
}
if (given.key) {
  await check("the key in a header", async () => {
    const headers = { Authorization: given.key };
    const url = given.plainUrl;
    const rpc = createSolanaRpcFromTransport(createDefaultRpcTransport({ url, headers }));
    equal(await rpc.getHealth().send(), "ok");
  });
}
done();
