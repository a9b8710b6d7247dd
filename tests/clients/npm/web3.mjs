// Reads the ledger with @solana/web3.js 1.x; prints {question: {value} | {error}}.
import { Connection, PublicKey } from "@solana/web3.js";

const given = JSON.parse(process.argv[2]);
const connection = new Connection(given.url, {
  httpHeaders: { Authorization: given.key },
  commitment: "finalized",
});
const byAddress = new Connection(`${given.url}?api_key=${given.key}`);
const refused = new Connection(`${given.url}?api_key=wrong`);
const versions = { maxSupportedTransactionVersion: 0 };

const wire = (message) => Buffer.from(message.serialize()).toString("base64");
const entry = ({ transaction, meta, version }) => ({
  message: wire(transaction.message),
  signatures: transaction.signatures,
  meta,
  version,
});

async function pages(address, limit) {
  const found = [];
  for (;;) {
    const before = found.at(-1)?.signature;
    const page = await connection.getSignaturesForAddress(address, { before, limit });
    found.push(...page.filter((each) => each.slot === given.modern));
    if (page.length < limit || page.at(-1).slot !== given.modern) return found;
  }
}

const questions = {
  slot: () => connection.getSlot(),
  slotByAddress: () => byAddress.getSlot(),
  wrongKey: () => refused.getSlot(),
  firstAvailable: () => connection.getFirstAvailableBlock(),
  blockTime: () => connection.getBlockTime(given.modern),
  blocks: () => connection.getBlocks(...given.range),
  block: async () => {
    const { transactions, ...header } = await connection.getBlock(given.modern, versions);
    return { ...header, transactions: transactions.map(entry) };
  },
  parsedBlock: () => connection.getParsedBlock(given.legacy, versions),
  bareBlock: () =>
    connection.getBlock(given.legacy, { transactionDetails: "none", rewards: false }),
  accountsBlock: () =>
    connection.getParsedBlock(given.legacy, { transactionDetails: "accounts", ...versions }),
  blockSignatures: () => connection.getBlockSignatures(given.legacy),
  transaction: async () =>
    entry(await connection.getTransaction(given.modernSignatures[0], versions)),
  transactions: async () =>
    (await connection.getTransactions(given.modernSignatures, versions)).map(entry),
  parsedTransaction: () =>
    connection.getParsedTransaction(given.legacySignatures[0], versions),
  parsedTransactions: () =>
    connection.getParsedTransactions(given.legacySignatures, versions),
  absentTransaction: () => connection.getTransaction(given.absent, versions),
  signaturesForAddress: () => pages(new PublicKey(given.address), 100),
  statuses: () =>
    connection.getSignatureStatuses([given.modernSignatures[0], given.absent], {
      searchTransactionHistory: true,
    }),
  skipped: () => connection.getBlock(given.skipped, versions),
  unsupportedVersion: () => connection.getBlock(given.modern),
  blockTimeOfSkipped: () => connection.getBlockTime(given.skipped),
};

const answers = {};
for (const [name, ask] of Object.entries(questions)) {
  try {
    answers[name] = { value: await ask() };
  } catch ({ name: kind, code, message }) {
    answers[name] = { error: { kind, code, message } };
  }
}
console.log(JSON.stringify(answers));
