// A program deployed with the upgradeable loader, and called with anchor's client by its IDL.
import anchor from "@coral-xyz/anchor";
import {
  Keypair,
  PublicKey,
  SYSVAR_CLOCK_PUBKEY,
  SYSVAR_RENT_PUBKEY,
  SystemProgram,
} from "@solana/web3.js";

import { check, equal, until, within } from "./report.mjs";

const LOADER = new PublicKey("BPFLoaderUpgradeab1e11111111111111111111111");
const MEMO = new PublicKey("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
const CHUNK = 900;

/** The ELF of a program that the chain has: its code is what is deployed here. */
async function elf(chain) {
  const program = await chain.getAccountInfo(MEMO);
  if (!program.owner.equals(LOADER)) return program.data;
  const code = await chain.getAccountInfo(new PublicKey(program.data.subarray(4, 36)));
  return code.data.subarray(45);
}

const u32 = (value) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
const u64 = (value) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
};
const meta = (pubkey, isSigner, isWritable) => ({ pubkey, isSigner, isWritable });

async function deploy({ chain, payer, send }) {
  const code = await elf(chain);
  const buffer = Keypair.generate();
  const program = Keypair.generate();
  const [codeAddress] = PublicKey.findProgramAddressSync([program.publicKey.toBuffer()], LOADER);
  const space = async (account, size) =>
    SystemProgram.createAccount({
      fromPubkey: payer.publicKey,
      newAccountPubkey: account.publicKey,
      lamports: await chain.getMinimumBalanceForRentExemption(size),
      space: size,
      programId: LOADER,
    });
  const loader = (data, ...keys) => ({ programId: LOADER, keys, data });
  const owner = payer.publicKey;
  await send(
    [
      await space(buffer, 37 + code.length),
      loader(u32(0), meta(buffer.publicKey, false, true), meta(owner, false, false)),
    ],
    [payer, buffer],
  );
  const writes = [];
  for (let at = 0; at < code.length; at += CHUNK) {
    const part = code.subarray(at, at + CHUNK);
    const data = Buffer.concat([u32(1), u32(at), u64(part.length), part]);
    writes.push(send([loader(data, meta(buffer.publicKey, false, true), meta(owner, true, false))]));
  }
  await Promise.all(writes);
  await send(
    [
      await space(program, 36),
      loader(
        Buffer.concat([u32(2), u64(code.length * 2)]),
        meta(owner, true, true),
        meta(codeAddress, false, true),
        meta(program.publicKey, false, true),
        meta(buffer.publicKey, false, true),
        meta(SYSVAR_RENT_PUBKEY, false, false),
        meta(SYSVAR_CLOCK_PUBKEY, false, false),
        meta(SystemProgram.programId, false, false),
        meta(owner, true, false),
      ),
    ],
    [payer, program],
  );
  return program.publicKey;
}

// A memo is any UTF-8: so are these eight letters, and a short string with its length before it.
const DISCRIMINATOR = [..."say word"].map((each) => each.charCodeAt(0));
const idlOf = (address) => ({
  address: address.toBase58(),
  metadata: { name: "words", version: "0.1.0", spec: "0.1.0" },
  instructions: [
    {
      name: "sayWord",
      discriminator: DISCRIMINATOR,
      accounts: [{ name: "speaker", signer: true }],
      args: [{ name: "word", type: "string" }],
    },
  ],
});

export async function anchored(flow) {
  const { chain, payer } = flow;
  const address = await check("a program is deployed", () => deploy(flow));
  if (address === undefined) return;
  await check("the program's account", async () => {
    const { value } = await chain.getParsedAccountInfo(address);
    equal(value.executable, true);
    equal(value.data.parsed.type, "program");
    // A program is called from the slot after its deployment on.
    const slot = await chain.getSlot();
    await until(async () => (await chain.getSlot()) > slot + 1);
  });
  const wallet = new anchor.Wallet(payer);
  const provider = new anchor.AnchorProvider(chain, wallet, { commitment: "confirmed" });
  const program = new anchor.Program(idlOf(address), provider);
  const said = (logs) => {
    if (!logs.some((each) => each.includes("tides"))) throw new Error(JSON.stringify(logs));
  };
  const call = () => program.methods.sayWord("tides").accounts({ speaker: payer.publicKey });
  await check("anchor: simulate", async () => said((await call().simulate()).raw));
  await check("anchor: rpc", async () => {
    const heard = new Promise((resolve) => chain.onLogs(address, resolve, "confirmed"));
    const signature = await call().rpc();
    const found = await chain.getTransaction(signature, { maxSupportedTransactionVersion: 0 });
    said(found.meta.logMessages);
    said((await within(heard, "logs")).logs);
  });
  await check("anchor: an error of the program", async () => {
    try {
      await program.methods.sayWord("\ud800".repeat(3)).accounts({ speaker: address }).rpc();
    } catch (error) {
      if (/signature|sign/i.test(error.message)) return;
      throw error;
    }
    throw new Error("it was not refused");
  });
}
