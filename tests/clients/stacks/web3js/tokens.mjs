// Both token programs with @solana/spl-token, and wrapped SOL.
import * as token from "@solana/spl-token";

import { check, equal } from "./report.mjs";

export async function tokens({ chain, payer, payee }) {
  const options = { commitment: "confirmed" };
  for (const [name, program] of [
    ["token", token.TOKEN_PROGRAM_ID],
    ["token-2022", token.TOKEN_2022_PROGRAM_ID],
  ]) {
    const tail = [options, program];
    const mint = await check(`${name}: createMint`, () =>
      token.createMint(chain, payer, payer.publicKey, payer.publicKey, 6, undefined, ...tail),
    );
    if (mint === undefined) continue;
    const mine = await check(`${name}: getOrCreateAssociatedTokenAccount`, async () => {
      const owner = payer.publicKey;
      const found = await token.getOrCreateAssociatedTokenAccount(
        ...[chain, payer, mint, owner, false, "confirmed", ...tail],
      );
      return found.address;
    });
    const theirs = await check(`${name}: createAssociatedTokenAccountIdempotent`, () =>
      token.createAssociatedTokenAccountIdempotent(chain, payer, mint, payee.publicKey, ...tail),
    );
    const steps = {
      mintTo: () => token.mintTo(chain, payer, mint, mine, payer, 1_000_000n, [], ...tail),
      transferChecked: () =>
        token.transferChecked(chain, payer, mine, mint, theirs, payer, 250_000n, 6, [], ...tail),
      approve: () => token.approve(chain, payer, mine, payee.publicKey, payer, 1_000n, [], ...tail),
      "transfer of a delegate": () =>
        token.transfer(chain, payer, mine, theirs, payee, 500n, [], ...tail),
      revoke: () => token.revoke(chain, payer, mine, payer, [], ...tail),
      freezeAccount: () => token.freezeAccount(chain, payer, theirs, mint, payer, [], ...tail),
      thawAccount: () => token.thawAccount(chain, payer, theirs, mint, payer, [], ...tail),
      burn: () => token.burn(chain, payer, mine, mint, payer, 100n, [], ...tail),
      setAuthority: () =>
        token.setAuthority(
          ...[chain, payer, mint, payer, token.AuthorityType.MintTokens, null, [], ...tail],
        ),
    };
    for (const [step, run] of Object.entries(steps)) await check(`${name}: ${step}`, run);
    await check(`${name}: what is read`, async () => {
      const account = await token.getAccount(chain, mine, "confirmed", program);
      equal(account.amount, 749_400n);
      const { supply, mintAuthority } = await token.getMint(chain, mint, "confirmed", program);
      equal(supply, 999_900n);
      equal(mintAuthority, null);
      equal((await chain.getTokenAccountBalance(theirs)).value.amount, "250500");
      equal((await chain.getTokenSupply(mint)).value.uiAmountString, "0.9999");
      equal((await chain.getTokenLargestAccounts(mint)).value.length, 2);
      const filter = { programId: program };
      const parsed = await chain.getParsedTokenAccountsByOwner(payer.publicKey, filter);
      equal(parsed.value[0].account.data.parsed.info.tokenAmount.amount, "749400");
      equal((await chain.getTokenAccountsByOwner(payer.publicKey, { mint })).value.length, 1);
    });
  }
  await check("wrapped SOL: create, close", async () => {
    const wrapped = await token.createWrappedNativeAccount(chain, payer, payer.publicKey, 100_000_000);
    await token.closeAccount(chain, payer, wrapped, payer.publicKey, payer);
  });
}
