// A running service: TIDEMARK_URL and TIDEMARK_KEY, which follows its localnet, and for tests of the
// management API TIDEMARK_ROOT_KEY, made in the admin with every scope.
import {
  type KeyPairSigner,
  type Transaction,
  generateKeyPairSigner,
  getSignatureFromTransaction,
} from "@solana/kit";
import { getTransferSolInstruction } from "@solana-program/system";
import { Management, Tidemark } from "tidemark";

export const url = process.env.TIDEMARK_URL ?? "http://127.0.0.1:8000";
export const tidemark = new Tidemark(url, given("TIDEMARK_KEY"));
export const management = () => new Management(url, given("TIDEMARK_ROOT_KEY"));

/** An account with 10 SOL. */
export async function funded(): Promise<KeyPairSigner> {
  const payer = await generateKeyPairSigner();
  await tidemark.airdrop(payer.address, 10_000_000_000n);
  return payer;
}

/** A transfer of so many lamports with a tip, signed. */
export async function signed(payer: KeyPairSigner, amount = 1_000_000n): Promise<Transaction> {
  const destination = (await generateKeyPairSigner()).address;
  const transfer = getTransferSolInstruction({ source: payer, destination, amount });
  return tidemark.signWithTip(payer, [transfer]);
}

export const signatureOf = getSignatureFromTransaction;

export async function collected<T>(entries: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const each of entries) found.push(each);
  return found;
}

/** A name or rank that no other test has. */
export const unique = (name: string) => `${name}-${crypto.randomUUID().slice(0, 8)}`;
export const anyRank = () => 100 + Math.floor(Math.random() * 29_900);

function given(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`set ${name}`);
  return value;
}
