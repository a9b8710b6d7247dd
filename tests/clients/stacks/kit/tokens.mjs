// Tokens with @solana-program/token: a mint, two accounts, transfers; then what is read of them.
import {
  SOLANA_ERROR__JSON_RPC__INVALID_PARAMS,
  generateKeyPairSigner,
} from "@solana/kit";
import { getCreateAccountInstruction } from "@solana-program/system";
import {
  TOKEN_PROGRAM_ADDRESS,
  fetchMint,
  fetchToken,
  findAssociatedTokenPda,
  getApproveInstruction,
  getBurnInstruction,
  getCreateAssociatedTokenIdempotentInstructionAsync,
  getInitializeMint2Instruction,
  getMintSize,
  getMintToInstruction,
  getTransferCheckedInstruction,
} from "@solana-program/token";

import { COMMITMENTS, refused } from "./cluster.mjs";
import { check, equal, fits } from "./report.mjs";

export async function tokens(flow) {
  const { rpc, payer, payee, send } = flow;
  const mint = await generateKeyPairSigner();
  const owners = [payer, payee];
  const [mine, theirs] = await Promise.all(
    owners.map(async ({ address: owner }) => {
      const seeds = { mint: mint.address, owner, tokenProgram: TOKEN_PROGRAM_ADDRESS };
      return (await findAssociatedTokenPda(seeds))[0];
    }),
  );
  await check("a mint and two token accounts", async () => {
    const space = BigInt(getMintSize());
    await send([
      getCreateAccountInstruction({
        payer,
        newAccount: mint,
        lamports: await rpc.getMinimumBalanceForRentExemption(space).send(),
        space,
        programAddress: TOKEN_PROGRAM_ADDRESS,
      }),
      getInitializeMint2Instruction({
        mint: mint.address,
        decimals: 6,
        mintAuthority: payer.address,
        freezeAuthority: payer.address,
      }),
      ...(await Promise.all(
        owners.map(({ address: owner }) =>
          getCreateAssociatedTokenIdempotentInstructionAsync({ payer, mint: mint.address, owner }),
        ),
      )),
      getMintToInstruction({ mint: mint.address, token: mine, mintAuthority: payer, amount: 1_000_000n }),
    ]);
  });
  await check("transfer, approve, burn", () =>
    send([
      getTransferCheckedInstruction({
        source: mine,
        mint: mint.address,
        destination: theirs,
        authority: payer,
        amount: 250_000n,
        decimals: 6,
      }),
      getApproveInstruction({ source: mine, delegate: payee.address, owner: payer, amount: 500n }),
      getBurnInstruction({ account: mine, mint: mint.address, authority: payer, amount: 1n }),
    ]),
  );
  await check("fetchMint, fetchToken", async () => {
    const config = { commitment: "confirmed" };
    equal((await fetchMint(rpc, mint.address, config)).data.supply, 999_999n);
    equal((await fetchToken(rpc, mine, config)).data.amount, 749_999n);
  });
  await check("the tokens' finality", async () => send([flow.pay(1n)], "finalized"));
  const amount = (text, ui) => ({ amount: text, decimals: 6, uiAmount: ui, uiAmountString: String(ui) });
  const parsed = { encoding: "jsonParsed" };
  for (const commitment of COMMITMENTS) {
    await check(`getTokenAccountBalance, ${commitment}`, async () =>
      fits((await rpc.getTokenAccountBalance(theirs, { commitment }).send()).value, amount("250000", 0.25)),
    );
    await check(`getTokenSupply, ${commitment}`, async () =>
      fits((await rpc.getTokenSupply(mint.address, { commitment }).send()).value, amount("999999", 0.999999)),
    );
    await check(`getTokenLargestAccounts, ${commitment}`, async () => {
      const { value } = await rpc.getTokenLargestAccounts(mint.address, { commitment }).send();
      equal(value.length, 2);
      fits(value[0], { address: mine, ...amount("749999", 0.749999) });
    });
    for (const filter of [{ mint: mint.address }, { programId: TOKEN_PROGRAM_ADDRESS }]) {
      const by = Object.keys(filter)[0];
      await check(`getTokenAccountsByOwner, ${by}, ${commitment}`, async () => {
        const config = { ...parsed, commitment };
        const { value } = await rpc.getTokenAccountsByOwner(payer.address, filter, config).send();
        equal(value.length, 1);
        equal(value[0].account.data.parsed.info.tokenAmount.amount, "749999");
      });
      await check(`getTokenAccountsByDelegate, ${by}, ${commitment}`, async () => {
        const config = { ...parsed, commitment };
        const { value } = await rpc.getTokenAccountsByDelegate(payee.address, filter, config).send();
        equal(value[0].account.data.parsed.info.delegatedAmount.amount, "500");
      });
    }
  }
  for (const name of ["getTokenAccountBalance", "getTokenSupply", "getTokenLargestAccounts"]) {
    await check(`${name} of what is no token`, () =>
      refused(rpc[name](payer.address, { commitment: "confirmed" }).send(), SOLANA_ERROR__JSON_RPC__INVALID_PARAMS),
    );
  }
  await check("getTokenAccountsByOwner, refusals", async () => {
    const none = rpc.getTokenAccountsByOwner(payer.address, { mint: payer.address }, parsed).send();
    await refused(none, SOLANA_ERROR__JSON_RPC__INVALID_PARAMS);
    const unknown = { programId: payer.address };
    const other = rpc.getTokenAccountsByOwner(payer.address, unknown, parsed).send();
    await refused(other, SOLANA_ERROR__JSON_RPC__INVALID_PARAMS);
  });
  flow.mint = mint.address;
  flow.mine = mine;
}
