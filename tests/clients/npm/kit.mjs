// Reads the ledger with @solana/kit; prints {question: {value} | {error}}.
import {
  address,
  createDefaultRpcTransport,
  createSolanaRpc,
  createSolanaRpcFromTransport,
  isSolanaError,
  signature,
} from "@solana/kit";

const given = JSON.parse(process.argv[2]);
const headers = { Authorization: given.key };
const rpc = createSolanaRpcFromTransport(createDefaultRpcTransport({ url: given.url, headers }));
const byAddress = createSolanaRpc(`${given.url}?api_key=${given.key}`);
const refused = createSolanaRpc(`${given.url}?api_key=wrong`);

const modern = BigInt(given.modern);
const legacy = BigInt(given.legacy);
const skipped = BigInt(given.skipped);
const first = signature(given.modernSignatures[0]);
const absent = signature(given.absent);
const versions = { maxSupportedTransactionVersion: 0 };

async function pages(account, limit) {
  const found = [];
  for (;;) {
    const before = found.at(-1)?.signature;
    const page = await rpc.getSignaturesForAddress(account, { before, limit }).send();
    found.push(...page.filter((each) => each.slot === modern));
    if (page.length < limit || page.at(-1).slot !== modern) return found;
  }
}

const questions = {
  slot: () => rpc.getSlot({ commitment: "finalized" }).send(),
  slotByAddress: () => byAddress.getSlot().send(),
  wrongKey: () => refused.getSlot().send(),
  firstAvailable: () => rpc.getFirstAvailableBlock().send(),
  blockTime: () => rpc.getBlockTime(modern).send(),
  blocks: () => rpc.getBlocks(BigInt(given.range[0]), BigInt(given.range[1])).send(),
  blocksWithLimit: () => rpc.getBlocksWithLimit(skipped, 2).send(),
  base64Block: () => rpc.getBlock(modern, { encoding: "base64", ...versions }).send(),
  jsonBlock: () => rpc.getBlock(legacy, { encoding: "json" }).send(),
  parsedBlock: () => rpc.getBlock(legacy, { encoding: "jsonParsed" }).send(),
  bareBlock: () => rpc.getBlock(legacy, { transactionDetails: "none", rewards: false }).send(),
  accountsBlock: () => rpc.getBlock(legacy, { transactionDetails: "accounts" }).send(),
  blockSignatures: () => rpc.getBlock(legacy, { transactionDetails: "signatures" }).send(),
  base58: () => rpc.getTransaction(first, { encoding: "base58", ...versions }).send(),
  base64: () => rpc.getTransaction(first, { encoding: "base64", ...versions }).send(),
  json: () =>
    Promise.all(
      given.legacySignatures.map((each) =>
        rpc.getTransaction(signature(each), { encoding: "json" }).send(),
      ),
    ),
  jsonParsed: () =>
    Promise.all(
      given.legacySignatures.map((each) =>
        rpc.getTransaction(signature(each), { encoding: "jsonParsed" }).send(),
      ),
    ),
  absentTransaction: () => rpc.getTransaction(absent, { encoding: "json" }).send(),
  signaturesForAddress: () => pages(address(given.address), 100),
  statuses: () =>
    rpc.getSignatureStatuses([first, absent], { searchTransactionHistory: true }).send(),
  skipped: () => rpc.getBlock(skipped, { encoding: "json", ...versions }).send(),
  unsupportedVersion: () => rpc.getBlock(modern, { encoding: "json" }).send(),
};

const answers = {};
for (const [name, ask] of Object.entries(questions)) {
  try {
    answers[name] = { value: await ask() };
  } catch (error) {
    const known = isSolanaError(error);
    answers[name] = {
      error: { known, code: error.context?.__code, message: error.message, context: error.context },
    };
  }
}

// Kit reads every integer as a BigInt, which JSON.stringify refuses: write it as the number it was.
const mark = (_, value) => (typeof value === "bigint" ? `bigint:${value}` : value);
console.log(JSON.stringify(answers, mark).replaceAll(/"bigint:(-?\d+)"/g, "$1"));
