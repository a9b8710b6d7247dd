// Generated: the service's methods, a type for each path.
import type { Address } from "@solana/kit";

import type { Caller } from "../calling.js";
import type * as types from "./types.js";

/** The methods of `/`. */
export type NodeApi = {
  /** Whether the node that is followed keeps up with the chain. Errors of its own:
   * `no_upstream_node`, `node_behind`, `upstream_answer_too_large`, `upstream_answer_unreadable`,
   * `upstream_busy`, `upstream_timeout`, `upstream_unreachable`. */
  getHealth(): "ok";

  /** What up to four transactions would do one after the other, on the newest state or at a position
   * in the past. Nothing is sent, and none of them has to tip. The first failure is the last that
   * runs. Errors of its own: `accounts_too_large`, `archive_damaged`, `archive_store_unavailable`,
   * `bad_override`, `bad_position`, `base58_not_supported`, `bundle_empty`, `bundle_too_large`,
   * `configs_mismatch`, `engine_fault`, `filtered_account`, `head_moved`, `no_upstream_node`,
   * `override_without_effect`, `pre_state_too_new`, `sealed_data_damaged`, `signature_invalid`,
   * `simulation_timeout`, `slot_in_archive_gap`, `slot_too_new`, `slot_too_old`,
   * `snapshots_too_large`, `state_not_recorded`, `too_many_accounts`, `too_many_addresses`,
   * `too_many_snapshots`, `transaction_index_out_of_range`, `transaction_too_large`,
   * `transaction_undecodable`, `unknown_signature`, `unsupported_version`,
   * `upstream_answer_too_large`, `upstream_answer_unreadable`, `upstream_busy`, `upstream_timeout`,
   * `upstream_unreachable`, `writes_incomplete`. */
  simulateBundle(bundle: types.FlatBundle, config?: types.BundleConfig): types.SimulatedBundle;

  /** The caller with its rights, limits and remaining quota. It needs no scope and costs one
   * request. It is served at every path. */
  whoami(): types.WhoAmI;
};

/** The methods of `/priority`. */
export type PriorityApi = {
  /** What became of a transaction that your keys submitted here, with every attempt. Errors of its
   * own: `fates_unavailable`, `signature_unknown`. */
  getTransactionFate(signature: string): types.Fate;

  /** What became of many transactions that your keys submitted here, without their attempts. Errors
   * of its own: `fates_unavailable`, `too_many_fates`. */
  getTransactionFates(signatures: readonly (string)[]): (types.Fate | null)[];

  /** Lands a signed transaction that tips: it is written down, and sent to the next leaders, to
   * nodes and to block engines at once, again and again, until it is in a block or never can be.
   * The answer means accepted, not landed: ask getTransactionFate. The same transaction again
   * answers the same, and is not sent twice. The header `X-Queue-Milliseconds` is how long the
   * oldest accepted transaction has waited to be sent. Errors of its own: `blockhash_expired`,
   * `landing_behind`, `no_upstream_chosen`, `nonce_unusable`, `queue_full`, `queue_unavailable`,
   * `signature_invalid`, `signature_missing`, `skip_preflight_required`, `tip_address_expired`,
   * `tip_address_unknown`, `tip_addresses_unread`, `tip_behind_lookup_table`, `tip_missing`,
   * `tip_too_small`, `transaction_too_large`, `transaction_undecodable`, `unknown_upstream`,
   * `unsupported_version`, `upstreams_unread`. */
  sendTransaction(transaction: string, config: types.SendConfig): string;
};

/** The methods of `/bundle`. */
export type BundleApi = {
  /** What became of a bundle that your keys submitted here, and of its transactions. Errors of its
   * own: `bundle_id_malformed`, `bundle_unknown`, `fates_unavailable`. */
  getBundleFate(bundle: string | readonly (string)[]): types.BundleFate;

  /** Where bundles landed, as a block engine answers. Errors of its own: `bundle_id_malformed`,
   * `fates_unavailable`, `too_many_bundles`. */
  getBundleStatuses(bundles: readonly (string | readonly (string)[])[]): types.LandedBundles;

  /** How far bundles have come, as a block engine answers. Errors of its own: `bundle_id_malformed`,
   * `fates_unavailable`, `too_many_bundles`. */
  getInflightBundleStatuses(bundles: readonly (string | readonly (string)[])[]): types.InflightBundles;

  /** The addresses on which a tip always counts. */
  getTipAccounts(): (Address)[];

  /** Lands up to four transactions one after the other in one block, or none of them. One of them
   * must tip. They are simulated first, then written down, and sent to block engines until they
   * land or never can. The answer means accepted, not landed: ask getBundleFate. The bundle's id is
   * in the header `X-Bundle-Id`. Errors of its own: `blockhash_expired`, `blockhash_not_found`,
   * `bundle_duplicates`, `bundle_empty`, `bundle_nonce_twice`, `bundle_simulation_failed`,
   * `bundle_too_large`, `bundles_off`, `landing_behind`, `nonce_unusable`, `queue_full`,
   * `queue_unavailable`, `signature_invalid`, `signature_missing`, `tip_address_expired`,
   * `tip_address_unknown`, `tip_addresses_unread`, `tip_behind_lookup_table`, `tip_missing`,
   * `tip_too_small`, `transaction_too_large`, `transaction_undecodable`, `unsupported_version`,
   * `upstreams_unread`. */
  sendBundle(transactions: readonly (string)[], config?: types.EncodingConfig): string[];
};

/** The methods of `/historical`. */
export type HistoricalApi = {
  /** A transaction in words and figures: instructions decoded and nested, transfers, balances, fees,
   * tips, compute units, and why it failed. No method of the standard node. Errors of its own:
   * `block_cleaned_up`, `block_not_available`, `commitment_unsupported`,
   * `min_context_slot_not_reached`, `remote_history_busy`, `remote_history_damaged`,
   * `remote_history_unavailable`, `sealed_data_damaged`, `slot_missing`, `slot_skipped`. */
  explainTransaction(signature: string, config?: types.ContextConfig): types.ExplainedTransaction | null;

  /** A block with its transactions and rewards. A slot without a block is an error that says whether
   * the leader made none, or the ledger does not have it. Errors of its own: `base58_unsupported`,
   * `block_cleaned_up`, `block_not_available`, `commitment_unsupported`,
   * `min_context_slot_not_reached`, `remote_history_busy`, `remote_history_damaged`,
   * `remote_history_unavailable`, `sealed_data_damaged`, `slot_missing`, `slot_skipped`,
   * `unsupported_transaction_version`. */
  getBlock(slot: bigint | number, config?: "binary" | "base64" | "base58" | "json" | "jsonParsed" | types.BlockConfig): types.Block;

  /** When a block was made, as its validators estimated it. Errors of its own: `block_cleaned_up`,
   * `block_not_available`, `remote_history_busy`, `remote_history_damaged`,
   * `remote_history_unavailable`, `slot_missing`, `slot_skipped`. */
  getBlockTime(slot: bigint | number): bigint | null;

  /** Which slots of a range hold a block. The header `X-Ledger-Gaps` names slots between them that
   * the ledger does not have, though they may hold one. Errors of its own:
   * `commitment_unsupported`, `min_context_slot_not_reached`, `range_has_gaps`, `range_too_large`,
   * `remote_history_busy`, `remote_history_damaged`, `remote_history_unavailable`. */
  getBlocks(startSlot: bigint | number, endSlot?: bigint | number | types.ListConfig, config?: types.ListConfig): (bigint)[];

  /** The next slots that hold a block. The header `X-Ledger-Gaps` names slots up to the last of them
   * that the ledger does not have, though they may hold one. Errors of its own:
   * `commitment_unsupported`, `min_context_slot_not_reached`, `range_has_gaps`, `range_too_large`,
   * `remote_history_busy`, `remote_history_damaged`, `remote_history_unavailable`. */
  getBlocksWithLimit(startSlot: bigint | number, limit: bigint | number, config?: types.ListConfig): (bigint)[];

  /** The lowest slot that is served: of the ledger, or of the remote history below it. Errors of its
   * own: `ledger_empty`, `remote_history_busy`, `remote_history_damaged`,
   * `remote_history_unavailable`. */
  getFirstAvailableBlock(): bigint;

  /** Which slots are stored, which between them are missing, and which are read from a remote
   * archive. No method of the standard node. Errors of its own: `empty_range`. */
  getLedgerCoverage(config?: types.CoverageConfig): types.LedgerCoverage;

  /** What became of transactions, by their signatures. Errors of its own:
   * `min_context_slot_not_reached`, `sealed_data_damaged`, `too_many_signatures`. */
  getSignatureStatuses(signatures: readonly (string)[], config?: types.StatusesConfig): types.SignatureStatuses;

  /** Transactions that name an address or look it up, newest first. For the next page give the last
   * signature as `before`. The header `X-Ledger-Gaps` names slots from the list's oldest to its
   * newest end that the ledger does not have, though they may hold others. Of a signature that is
   * stored in two slots, `before` and `until` mean the higher one, and no page ends with the other.
   * Errors of its own: `commitment_unsupported`, `filter_transaction_not_found`, `limit_invalid`,
   * `min_context_slot_not_reached`, `range_has_gaps`, `sealed_data_damaged`. */
  getSignaturesForAddress(address: Address, config?: types.AddressConfig): (types.AddressSignature)[];

  /** The highest slot of the ledger, which holds what is finalized: the chain itself is some slots
   * ahead. Errors of its own: `ledger_empty`, `min_context_slot_not_reached`. */
  getSlot(config?: types.ContextConfig): bigint;

  /** A transaction, and what it did. Errors of its own: `base58_unsupported`, `block_cleaned_up`,
   * `block_not_available`, `commitment_unsupported`, `min_context_slot_not_reached`,
   * `remote_history_busy`, `remote_history_damaged`, `remote_history_unavailable`,
   * `sealed_data_damaged`, `slot_missing`, `slot_skipped`, `unsupported_transaction_version`. */
  getTransaction(signature: string, config?: "binary" | "base64" | "base58" | "json" | "jsonParsed" | types.TransactionConfig): types.TransactionEntry | null;

  /** Transactions that name an address or look it up, filtered, in either order, page by page, and
   * whole if you like. The header `X-Ledger-Gaps` names slots of the page's range that the ledger
   * does not have, though they may hold others. Errors of its own: `bad_pagination_token`,
   * `base58_unsupported`, `block_cleaned_up`, `block_not_available`, `commitment_unsupported`,
   * `filter_unsupported`, `limit_invalid`, `min_context_slot_not_reached`, `range_has_gaps`,
   * `sealed_data_damaged`, `slot_missing`, `slot_skipped`, `unsupported_transaction_version`. */
  getTransactionsForAddress(address: Address, config?: types.AddressTransactionsConfig): types.AddressTransactions;
};

/** The methods of `/rewind`. */
export type RewindApi = {
  /** Calls a job of yours off: it does nothing more, and what it has done stays. Errors of its own:
   * `job_not_found`. */
  cancelSimulationJob(jobId: string): types.Job;

  /** Every write to an account in a range of slots, newest first, one page at a time: what it was
   * afterwards, and which transaction wrote it. Errors of its own: `archive_damaged`,
   * `archive_store_unavailable`, `bad_cursor`, `bad_limit`, `bad_position`,
   * `data_too_long_for_base58`, `empty_range`, `encoding_required`, `sealed_data_damaged`,
   * `slice_of_parsed_data`, `slot_too_new`, `slot_too_old`, `transaction_index_out_of_range`,
   * `two_starts`, `unknown_signature`. */
  getAccountChanges(pubkey: Address, config: types.ChangesConfig): types.AccountChanges;

  /** An account at two positions, in whatever order of time, and what differs from A to B. Errors of
   * its own: `accounts_too_large`, `archive_damaged`, `archive_store_unavailable`, `bad_position`,
   * `data_too_long_for_base58`, `sealed_data_damaged`, `slice_of_parsed_data`,
   * `slot_in_archive_gap`, `slot_too_new`, `slot_too_old`, `transaction_index_out_of_range`,
   * `unknown_signature`, `writes_incomplete`. */
  getAccountDiff(pubkey: Address, config: types.DiffConfig): types.AccountDiff;

  /** An account as it was at any position in the past. Errors of its own: `accounts_too_large`,
   * `archive_damaged`, `archive_store_unavailable`, `bad_position`, `data_too_long_for_base58`,
   * `sealed_data_damaged`, `slice_of_parsed_data`, `slot_in_archive_gap`, `slot_too_new`,
   * `slot_too_old`, `transaction_index_out_of_range`, `unknown_signature`, `writes_incomplete`. */
  getAccountInfo(pubkey: Address, config: types.AccountConfig): types.AccountInfo;

  /** Several accounts at one position. Errors of its own: `accounts_too_large`, `archive_damaged`,
   * `archive_store_unavailable`, `bad_position`, `data_too_long_for_base58`, `no_accounts`,
   * `sealed_data_damaged`, `slice_of_parsed_data`, `slot_in_archive_gap`, `slot_too_new`,
   * `slot_too_old`, `too_many_accounts`, `too_many_programs`, `transaction_index_out_of_range`,
   * `unknown_signature`, `writes_incomplete`. */
  getMultipleAccounts(pubkeys: readonly (Address)[], config: types.AccountConfig): types.MultipleAccounts;

  /** How far the archive reaches, and which slots of a window are missing. Errors of its own:
   * `empty_range`. */
  getRewindCoverage(config?: types.CoverageConfig): types.RewindCoverage;

  /** How far a job of yours is. Errors of its own: `job_not_found`. */
  getSimulationJob(jobId: string): types.Job;

  /** The results of a job of yours in their order, as far as they are there; also while it runs.
   * Errors of its own: `answer_too_large`, `bad_cursor`, `bad_limit`, `job_not_found`,
   * `results_expired`, `simulation_lost`, `unknown_signature`. */
  getSimulationJobResults(jobId: string, config?: types.ResultsConfig): types.ResultPage;

  /** What the hash of a slot's bank is made of, and the votes for it: everything that a check
   * without this service needs. Errors of its own: `slot_too_new`, `slot_too_old`, `slot_unproven`. */
  getSlotProof(slot: bigint | number, config?: types.SlotProofConfig): types.ProvenSlot;

  /** What a transaction would have done at a position in the past, on other state if you like, and
   * whether the ledger proves the answer. A transaction of the ledger is run again by its own text.
   * Errors of its own: `accounts_too_large`, `archive_damaged`, `archive_store_unavailable`,
   * `bad_override`, `bad_position`, `base58_not_supported`, `engine_fault`, `filtered_account`,
   * `override_without_effect`, `pre_state_too_new`, `sealed_data_damaged`, `simulation_timeout`,
   * `slot_in_archive_gap`, `slot_too_new`, `slot_too_old`, `state_not_recorded`,
   * `too_many_accounts`, `too_many_addresses`, `transaction_index_out_of_range`,
   * `transaction_too_large`, `transaction_undecodable`, `unknown_signature`, `unsupported_version`,
   * `writes_incomplete`. */
  simulateHistoricalTransaction(transaction: string, config: types.SimulationConfig): types.Simulation;

  /** Hands in many simulations at once; they run in the background, in order. It needs a key. Errors
   * of its own: `archive_damaged`, `archive_store_unavailable`, `bad_job`, `bad_override`,
   * `bad_position`, `base58_not_supported`, `client_reference_taken`, `empty_range`,
   * `override_without_effect`, `pre_state_too_new`, `sealed_data_damaged`, `slot_too_new`,
   * `slot_too_old`, `too_many_accounts`, `too_many_addresses`, `too_many_jobs`,
   * `too_many_simulations`, `transaction_index_out_of_range`, `transaction_too_large`,
   * `transaction_undecodable`, `unknown_signature`, `unsupported_version`. */
  submitSimulationJob(spec: types.JobSpec): types.Submitted;
};

/** Tips, and the newest fates: plain GETs. */
export class Tips {
  constructor(private readonly caller: Caller) {}

  /** What your keys submitted last, newest first, without the attempts. */
  newestFates(query: { limit?: bigint | number; before?: string } = {}, signal?: AbortSignal): Promise<(types.Fate)[]> {
    return this.caller.get<(types.Fate)[]>(`/priority/fates`, query, signal);
  }

  /** Tip addresses that are issued to you only: tip one of them in any number of transactions until
   * it expires. Without parameters the response has the older form with one address. A fetch takes
   * one token of your bucket for any `count`; a fetch that is refused for its parameters takes
   * none. */
  fetchTipAddresses(query: { ttl?: bigint | number; count?: bigint | number } = {}, signal?: AbortSignal): Promise<types.Addresses> {
    return this.caller.get<types.Addresses>(`/priority/fetchtipaddress`, { count: 1, ...query }, signal);
  }

  /** Whether an address may be tipped now. It counts toward no limit. */
  checkTipAddress(pubkey: Address, signal?: AbortSignal): Promise<types.Valid | types.NotValid> {
    return this.caller.get<types.Valid | types.NotValid>(`/priority/tipaddress/${pubkey}`, {}, signal);
  }

  /** How much the tips that landed of late were: what to tip, so as to land among the others. */
  tipFloor(query: { window?: bigint | number } = {}, signal?: AbortSignal): Promise<(types.TipFloor)[]> {
    return this.caller.get<(types.TipFloor)[]>(`/priority/tipfloor`, query, signal);
  }

  /** Which classes of tip addresses can be fetched now, and your limits. Read it once at the start,
   * and again after `ttl_too_long` or `unavailable`. Without a key it takes a token from the bucket
   * shared by all callers without a key. */
  tipInfo(signal?: AbortSignal): Promise<types.TipInfo> {
    return this.caller.get<types.TipInfo>(`/priority/tipinfo`, {}, signal);
  }
}
