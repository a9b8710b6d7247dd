// With newman, Postman's own runner: every request of the collection that reads, as it is imported;
// and Bruno's importer, which must find all of them.
import { postmanToBruno } from "@usebruno/converters";
import newman from "newman";

import { check, done, equal } from "./report.mjs";

const given = JSON.parse(process.argv[2]);
const variables = { apiKey: given.key, managementToken: given.rootKey };
// It streams for ever.
const ENDLESS = new Set(["/priority/fates/stream"]);
// Variables that only the reader has values for, such as a signed transaction.
const UNRESOLVED = /\{\{(?!baseUrl|apiKey|managementToken|metricsToken)\w+\}\}/;

// No snapshot, no block so long ago, and no baseline.
const NOT_YET = new Set([-32008, -32004, "slot_unproven"]);

const requests = (items) =>
  items.flatMap((item) => (item.item ? requests(item.item) : [item]));

const readsOf = (item) => {
  const { method, url, auth, body } = item.request;
  if (UNRESOLVED.test(JSON.stringify(item.request)) || ENDLESS.has(item.name)) return false;
  if (JSON.stringify(auth ?? "").includes("metricsToken")) return false;
  if (url.raw.includes("/manage/")) return method === "GET";
  return !/submit|cancel|requestAirdrop/.test(body?.raw ?? "");
};

const only = (items) =>
  items
    .map((item) => (item.item ? { ...item, item: only(item.item) } : item))
    .filter((item) => (item.item ? item.item.length : readsOf(item)));

const run = (collection) =>
  new Promise((resolve, reject) => {
    const envVar = Object.entries(variables).map(([key, value]) => ({ key, value }));
    newman.run({ collection, envVar, reporters: [] }, (error, summary) =>
      error ? reject(error) : resolve(summary.run.executions),
    );
  });

const collection = await check("the document", async () => {
  const answer = await fetch(`${given.plainUrl}postman.json`);
  equal(answer.status, 200);
  return answer.json();
});

await check("Bruno imports every request", async () => {
  const imported = await postmanToBruno(collection);
  const named = (items) =>
    items.flatMap((item) => (item.type === "folder" ? named(item.items) : [item.name]));
  equal(named(imported.collection.items).length, requests(collection.item).length);
});

const executions = (await check("newman runs the reads", () => run({ ...collection, item: only(collection.item) }))) ?? [];
for (const { item, response, requestError } of executions) {
  await check(`${item.name} ${item.request.url.getPath()}`, async () => {
    if (requestError) throw requestError;
    const text = response.text();
    const path = item.request.url.getPath();
    // The collection asks for number 1, which a young service may not have.
    const missing = path.includes("/manage/") && /\/1(\/|$)/.test(path) && response.code === 404;
    if (response.code !== 200 && !missing) throw new Error(`${response.code}: ${text.slice(0, 300)}`);
    // What a young chain does not have yet is told by its own codes.
    const error = item.request.method === "POST" ? JSON.parse(text).error : undefined;
    if (error && !NOT_YET.has(error.data?.reason ?? error.code)) throw new Error(text.slice(0, 300));
  });
}
await check("many were run", async () => equal(executions.length > 80, true));
done();
