"""Generated: the service's methods, a class for each path."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Literal

from tidemark import types
from tidemark._async.caller import AsyncCaller
from tidemark._io_async import sleep
from tidemark.values import Address, Transaction, TransactionId, params_of, query_of, record_of


class AsyncNode:
    """The methods of `/`."""

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller

    async def get_health(self) -> Literal["ok"]:
        """Whether the node that is followed keeps up with the chain.

        Errors of its own: `no_upstream_node`, `node_behind`, `upstream_answer_too_large`,
          `upstream_answer_unreadable`, `upstream_busy`, `upstream_timeout`,
          `upstream_unreachable`.
        """
        answer: Literal["ok"] = await self._caller.rpc("/", "getHealth", params_of(), Literal["ok"])
        return answer

    async def simulate_bundle(
        self,
        *,
        encoded_transactions: Sequence[Transaction],
        anchor: types.Anchor | None = None,
        commitment: Literal["processed", "confirmed", "finalized"] | None = None,
        post_execution_accounts_configs: Sequence[types.Snapshots | None] | None = None,
        pre_execution_accounts_configs: Sequence[types.Snapshots | None] | None = None,
        replace_recent_blockhash: bool | None = None,
        simulation_bank: Literal["tip", "processed", "confirmed", "finalized"]
        | int
        | types.Bank
        | None = None,
        skip_sig_verify: bool | None = None,
        slot: int | None = None,
        tolerate_gaps: bool | None = None,
        transaction_encoding: Literal["base58", "base64"] | None = None,
        transaction_index: int | None = None,
    ) -> types.SimulatedBundle:
        """What up to four transactions would do one after the other, on the newest state or at
        a position in the past. Nothing is sent, and none of them has to tip. The first
        failure is the last that runs.

        encoded_transactions: one to four transactions as text, in their order
        anchor: right before or after a transaction in the past
        commitment: the newest state of this commitment
        post_execution_accounts_configs: accounts to be shown after each transaction, one entry
          for each; null for none
        pre_execution_accounts_configs: accounts to be shown before each transaction, one entry
          for each; null for none
        replace_recent_blockhash: let any blockhash pass
        simulation_bank: what to run on, in a block engine's words: `tip` means the newest state
        skip_sig_verify: do not check the signatures
        slot: the end of this slot in the past
        tolerate_gaps: in the past: answer with what is known, even if the archive misses slots
        transaction_encoding: how the transactions are written: `base64` by default
        transaction_index: not the end of the slot, but right after its transaction of this
          index
        Errors of its own: `accounts_too_large`, `archive_damaged`, `archive_store_unavailable`,
          `bad_override`, `bad_position`, `base58_not_supported`, `bundle_empty`,
          `bundle_too_large`, `configs_mismatch`, `engine_fault`, `filtered_account`,
          `head_moved`, `no_upstream_node`, `override_without_effect`, `pre_state_too_new`,
          `sealed_data_damaged`, `signature_invalid`, `simulation_timeout`,
          `slot_in_archive_gap`, `slot_too_new`, `slot_too_old`, `snapshots_too_large`,
          `state_not_recorded`, `too_many_accounts`, `too_many_addresses`, `too_many_snapshots`,
          `transaction_index_out_of_range`, `transaction_too_large`, `transaction_undecodable`,
          `unknown_signature`, `unsupported_version`, `upstream_answer_too_large`,
          `upstream_answer_unreadable`, `upstream_busy`, `upstream_timeout`,
          `upstream_unreachable`, `writes_incomplete`.
        """
        answer: types.SimulatedBundle = await self._caller.rpc(
            "/",
            "simulateBundle",
            params_of(
                record_of(
                    anchor=anchor,
                    commitment=commitment,
                    encodedTransactions=encoded_transactions,
                    postExecutionAccountsConfigs=post_execution_accounts_configs,
                    preExecutionAccountsConfigs=pre_execution_accounts_configs,
                    replaceRecentBlockhash=replace_recent_blockhash,
                    simulationBank=simulation_bank,
                    skipSigVerify=skip_sig_verify,
                    slot=slot,
                    tolerateGaps=tolerate_gaps,
                    transactionEncoding=transaction_encoding,
                    transactionIndex=transaction_index,
                )
            ),
            types.SimulatedBundle,
        )
        return answer

    async def whoami(self) -> types.WhoAmI:
        """The caller with its rights, limits and remaining quota. It needs no scope and costs
        one request. It is served at every path.
        """
        answer: types.WhoAmI = await self._caller.rpc("/", "whoami", params_of(), types.WhoAmI)
        return answer


class AsyncPriority:
    """The methods of `/priority`."""

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller

    async def get_transaction_fate(self, signature: TransactionId) -> types.Fate:
        """What became of a transaction that your keys submitted here, with every attempt.

        signature: the transaction's signature
        Errors of its own: `fates_unavailable`, `signature_unknown`.
        """
        answer: types.Fate = await self._caller.rpc(
            "/priority", "getTransactionFate", params_of(signature), types.Fate
        )
        return answer

    async def get_transaction_fates(
        self, signatures: Sequence[TransactionId]
    ) -> list[types.Fate | None]:
        """What became of many transactions that your keys submitted here, without their
        attempts.

        signatures: up to 256 of them
        Errors of its own: `fates_unavailable`, `too_many_fates`.
        """
        answer: list[types.Fate | None] = await self._caller.rpc(
            "/priority", "getTransactionFates", params_of(signatures), list[types.Fate | None]
        )
        return answer

    async def send_transaction(
        self,
        transaction: Transaction,
        *,
        encoding: Literal["base58", "base64"] = "base64",
        max_retries: int | None = None,
        min_context_slot: int | None = None,
        only_upstreams: list[str] | str | None = None,
        preflight_commitment: Literal["processed", "confirmed", "finalized"] | None = None,
    ) -> str:
        """Lands a signed transaction that tips: it is written down, and sent to the next
        leaders, to nodes and to block engines at once, again and again, until it is in a
        block or never can be. The answer means accepted, not landed: ask getTransactionFate.
        The same transaction again answers the same, and is not sent twice. The header
        `X-Queue-Milliseconds` is how long the oldest accepted transaction has waited to be
        sent.

        transaction: the signed transaction as text; a transfer of at least 1,000,000 lamports
          to a tip address must be among its own instructions
        encoding: of a transaction that is given as a str
        max_retries: how often to send it again; 0 sends it once. By default until it lands or
          never can
        min_context_slot: taken and without effect
        only_upstreams: send to only these upstreams: names, or one text with commas. `bundle`
          means all block engines
        preflight_commitment: taken and without effect
        Errors of its own: `blockhash_expired`, `landing_behind`, `no_upstream_chosen`,
          `nonce_unusable`, `queue_full`, `queue_unavailable`, `signature_invalid`,
          `signature_missing`, `skip_preflight_required`, `tip_address_expired`,
          `tip_address_unknown`, `tip_addresses_unread`, `tip_behind_lookup_table`,
          `tip_missing`, `tip_too_small`, `transaction_too_large`, `transaction_undecodable`,
          `unknown_upstream`, `unsupported_version`, `upstreams_unread`.
        """
        answer: str = await self._caller.rpc(
            "/priority",
            "sendTransaction",
            params_of(
                transaction,
                record_of(
                    encoding=encoding,
                    maxRetries=max_retries,
                    minContextSlot=min_context_slot,
                    onlyUpstreams=only_upstreams,
                    preflightCommitment=preflight_commitment,
                    skipPreflight=True,
                ),
            ),
            str,
        )
        return answer

    async def newest_fates(
        self, *, limit: int | None = None, before: TransactionId | None = None
    ) -> list[types.Fate]:
        """What your keys submitted last, newest first, without the attempts.

        limit: how many (default: 100)
        before: go on behind this one of yours: the last of the page before
        """
        answer: list[types.Fate] = await self._caller.get(
            "/priority/fates", list[types.Fate], query_of(limit=limit, before=before)
        )
        return answer

    async def iterate_newest_fates(self, *, limit: int | None = None) -> AsyncIterator[types.Fate]:
        """What `newest_fates` returns, entry by entry over all pages."""
        following: str | None = None
        while True:
            page = await self.newest_fates(limit=limit, before=following)
            for each in page:
                yield each
            following = page[-1].signature if page else None
            if following is None:
                return

    async def fetch_tip_addresses(
        self, *, ttl: int | None = None, count: int | None = None
    ) -> types.Addresses:
        """Tip addresses that are issued to you only: tip one of them in any number of
        transactions until it expires. Without parameters the response has the older form
        with one address. A fetch takes one token of your bucket for any `count`; a fetch
        that is refused for its parameters takes none.

        ttl: how many seconds the addresses must be valid: the shortest class that is long
          enough (default: `default_ttl_seconds` of tipinfo)
        count: how many addresses, up to `max_count` of tipinfo (default: 1)
        """
        answer: types.Addresses = await self._caller.get(
            "/priority/fetchtipaddress", types.Addresses, query_of(ttl=ttl, count=count or 1)
        )
        return answer

    async def check_tip_address(self, pubkey: Address) -> types.Valid | types.NotValid:
        """Whether an address may be tipped now. It counts toward no limit.

        pubkey: the address
        """
        answer: types.Valid | types.NotValid = await self._caller.get(
            f"/priority/tipaddress/{pubkey}", types.Valid | types.NotValid
        )
        return answer

    async def tip_floor(self, *, window: int | None = None) -> list[types.TipFloor]:
        """How much the tips that landed of late were: what to tip, so as to land among the
        others.

        window: over how many seconds: one of 60, 300, 900, 3600 (default: 300)
        """
        answer: list[types.TipFloor] = await self._caller.get(
            "/priority/tipfloor", list[types.TipFloor], query_of(window=window)
        )
        return answer

    async def tip_info(self) -> types.TipInfo:
        """Which classes of tip addresses can be fetched now, and your limits. Read it once at
        the start, and again after `ttl_too_long` or `unavailable`. Without a key it takes a
        token from the bucket shared by all callers without a key.
        """
        answer: types.TipInfo = await self._caller.get("/priority/tipinfo", types.TipInfo)
        return answer


class AsyncBundle:
    """The methods of `/bundle`."""

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller

    async def get_bundle_fate(self, bundle: str | list[str]) -> types.BundleFate:
        """What became of a bundle that your keys submitted here, and of its transactions.

        bundle: its id, or the signatures that sendBundle answered
        Errors of its own: `bundle_id_malformed`, `bundle_unknown`, `fates_unavailable`.
        """
        answer: types.BundleFate = await self._caller.rpc(
            "/bundle", "getBundleFate", params_of(bundle), types.BundleFate
        )
        return answer

    async def get_bundle_statuses(self, bundles: Sequence[str | list[str]]) -> types.LandedBundles:
        """Where bundles landed, as a block engine answers.

        bundles: up to five, each by its id, or by the signatures that sendBundle answered
        Errors of its own: `bundle_id_malformed`, `fates_unavailable`, `too_many_bundles`.
        """
        answer: types.LandedBundles = await self._caller.rpc(
            "/bundle", "getBundleStatuses", params_of(bundles), types.LandedBundles
        )
        return answer

    async def get_inflight_bundle_statuses(
        self, bundles: Sequence[str | list[str]]
    ) -> types.InflightBundles:
        """How far bundles have come, as a block engine answers.

        bundles: up to five, each by its id, or by the signatures that sendBundle answered
        Errors of its own: `bundle_id_malformed`, `fates_unavailable`, `too_many_bundles`.
        """
        answer: types.InflightBundles = await self._caller.rpc(
            "/bundle", "getInflightBundleStatuses", params_of(bundles), types.InflightBundles
        )
        return answer

    async def get_tip_accounts(self) -> list[str]:
        """The addresses on which a tip always counts."""
        answer: list[str] = await self._caller.rpc(
            "/bundle", "getTipAccounts", params_of(), list[str]
        )
        return answer

    async def send_bundle(
        self,
        transactions: Sequence[Transaction],
        *,
        encoding: Literal["base58", "base64"] = "base64",
    ) -> str | list[str]:
        """Lands up to four transactions one after the other in one block, or none of them. One
        of them must tip. They are simulated first, then written down, and sent to block
        engines until they land or never can. The answer means accepted, not landed: ask
        getBundleFate. The bundle's id is in the header `X-Bundle-Id`.

        transactions: one to four signed transactions as text, in their order
        encoding: of a transaction that is given as a str
        Errors of its own: `blockhash_expired`, `blockhash_not_found`, `bundle_duplicates`,
          `bundle_empty`, `bundle_nonce_twice`, `bundle_simulation_failed`, `bundle_too_large`,
          `bundles_off`, `landing_behind`, `nonce_unusable`, `queue_full`, `queue_unavailable`,
          `signature_invalid`, `signature_missing`, `tip_address_expired`,
          `tip_address_unknown`, `tip_addresses_unread`, `tip_behind_lookup_table`,
          `tip_missing`, `tip_too_small`, `transaction_too_large`, `transaction_undecodable`,
          `unsupported_version`, `upstreams_unread`.
        """
        answer: str | list[str] = await self._caller.rpc(
            "/bundle",
            "sendBundle",
            params_of(transactions, record_of(encoding=encoding)),
            str | list[str],
        )
        return answer


class AsyncHistorical:
    """The methods of `/historical`."""

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller

    async def explain_transaction(
        self,
        signature: TransactionId,
        *,
        commitment: Literal["processed", "confirmed", "finalized"] | None = None,
        min_context_slot: int | None = None,
    ) -> types.ExplainedTransaction | None:
        """A transaction in words and figures: instructions decoded and nested, transfers,
        balances, fees, tips, compute units, and why it failed. No method of the standard
        node.

        signature: the transaction's signature, its first one
        commitment: everything in the ledger is finalized; `confirmed` and `finalized` are
          served alike
        min_context_slot: refuse to answer unless the ledger reaches this slot
        Errors of its own: `block_cleaned_up`, `block_not_available`, `commitment_unsupported`,
          `min_context_slot_not_reached`, `remote_history_busy`, `remote_history_damaged`,
          `remote_history_unavailable`, `sealed_data_damaged`, `slot_missing`, `slot_skipped`.
        """
        answer: types.ExplainedTransaction | None = await self._caller.rpc(
            "/historical",
            "explainTransaction",
            params_of(signature, record_of(commitment=commitment, minContextSlot=min_context_slot)),
            types.ExplainedTransaction | None,
        )
        return answer

    async def get_block(
        self,
        slot: int,
        *,
        commitment: Literal["processed", "confirmed", "finalized"] | None = None,
        encoding: Literal["binary", "base64", "base58", "json", "jsonParsed"] | None = None,
        form: Literal["current", "source"] | None = None,
        max_supported_transaction_version: int = 1,
        min_context_slot: int | None = None,
        rewards: bool | None = None,
        transaction_details: Literal["full", "accounts", "signatures", "none"] | None = None,
    ) -> types.Block:
        """A block with its transactions and rewards. A slot without a block is an error that
        says whether the leader made none, or the ledger does not have it.

        slot: the block's slot
        commitment: everything in the ledger is finalized; `confirmed` and `finalized` are
          served alike
        encoding: `json` by default; `jsonParsed` reads what known programs were asked. `base64`
          and `base58` are the transaction's own bytes, and `binary` is base58 as bare text
        form: `current` (the default) writes a transaction of any age as a node of today does;
          `source` as the source that it was recorded from did, without the fields that it did
          not know. No option of the standard node
        max_supported_transaction_version: the newest version that you can read: 1 today.
          Without it only legacy transactions are answered. With 1 and more, base58 is refused
        min_context_slot: refuse to answer unless the ledger reaches this slot
        rewards: whether to list what accounts were given outside transactions; true by default
          otherwise
        transaction_details: `full` by default; `accounts` leaves out what was done,
          `signatures` all but the names, `none` all
        Errors of its own: `base58_unsupported`, `block_cleaned_up`, `block_not_available`,
          `commitment_unsupported`, `min_context_slot_not_reached`, `remote_history_busy`,
          `remote_history_damaged`, `remote_history_unavailable`, `sealed_data_damaged`,
          `slot_missing`, `slot_skipped`, `unsupported_transaction_version`.
        """
        answer: types.Block = await self._caller.rpc(
            "/historical",
            "getBlock",
            params_of(
                slot,
                record_of(
                    commitment=commitment,
                    encoding=encoding,
                    form=form,
                    maxSupportedTransactionVersion=max_supported_transaction_version,
                    minContextSlot=min_context_slot,
                    rewards=rewards,
                    transactionDetails=transaction_details,
                ),
            ),
            types.Block,
        )
        return answer

    async def get_block_time(self, slot: int) -> int | None:
        """When a block was made, as its validators estimated it.

        slot: the block's slot
        Errors of its own: `block_cleaned_up`, `block_not_available`, `remote_history_busy`,
          `remote_history_damaged`, `remote_history_unavailable`, `slot_missing`,
          `slot_skipped`.
        """
        answer: int | None = await self._caller.rpc(
            "/historical", "getBlockTime", params_of(slot), int | None
        )
        return answer

    async def get_blocks(
        self,
        start_slot: int,
        *,
        end_slot: int | None = None,
        commitment: Literal["processed", "confirmed", "finalized"] | None = None,
        gaps: Literal["error"] | None = None,
        min_context_slot: int | None = None,
    ) -> list[int]:
        """Which slots of a range hold a block. The header `X-Ledger-Gaps` names slots between
        them that the ledger does not have, though they may hold one.

        start_slot: the first slot of the range
        end_slot: the last one, at most 500,000 further; by default as far as that, or to the
          newest. The config may be here instead
        commitment: everything in the ledger is finalized; `confirmed` and `finalized` are
          served alike
        gaps: `error` refuses a range with slots that are known to be missing. By default the
          list is returned, and the header `X-Ledger-Gaps` names these slots. The standard node
          does not have this option
        min_context_slot: refuse to answer unless the ledger reaches this slot
        Errors of its own: `commitment_unsupported`, `min_context_slot_not_reached`,
          `range_has_gaps`, `range_too_large`, `remote_history_busy`, `remote_history_damaged`,
          `remote_history_unavailable`.
        """
        answer: list[int] = await self._caller.rpc(
            "/historical",
            "getBlocks",
            params_of(
                start_slot,
                end_slot,
                record_of(commitment=commitment, gaps=gaps, minContextSlot=min_context_slot),
            ),
            list[int],
        )
        return answer

    async def get_blocks_with_limit(
        self,
        start_slot: int,
        limit: int,
        *,
        commitment: Literal["processed", "confirmed", "finalized"] | None = None,
        gaps: Literal["error"] | None = None,
        min_context_slot: int | None = None,
    ) -> list[int]:
        """The next slots that hold a block. The header `X-Ledger-Gaps` names slots up to the
        last of them that the ledger does not have, though they may hold one.

        start_slot: where to begin
        limit: how many, at most 500,000
        commitment: everything in the ledger is finalized; `confirmed` and `finalized` are
          served alike
        gaps: `error` refuses a range with slots that are known to be missing. By default the
          list is returned, and the header `X-Ledger-Gaps` names these slots. The standard node
          does not have this option
        min_context_slot: refuse to answer unless the ledger reaches this slot
        Errors of its own: `commitment_unsupported`, `min_context_slot_not_reached`,
          `range_has_gaps`, `range_too_large`, `remote_history_busy`, `remote_history_damaged`,
          `remote_history_unavailable`.
        """
        answer: list[int] = await self._caller.rpc(
            "/historical",
            "getBlocksWithLimit",
            params_of(
                start_slot,
                limit,
                record_of(commitment=commitment, gaps=gaps, minContextSlot=min_context_slot),
            ),
            list[int],
        )
        return answer

    async def get_first_available_block(self) -> int:
        """The lowest slot that is served: of the ledger, or of the remote history below it.

        Errors of its own: `ledger_empty`, `remote_history_busy`, `remote_history_damaged`,
          `remote_history_unavailable`.
        """
        answer: int = await self._caller.rpc(
            "/historical", "getFirstAvailableBlock", params_of(), int
        )
        return answer

    async def get_ledger_coverage(
        self,
        *,
        from_slot: int | None = None,
        include_gaps: bool | None = None,
        max_gaps: int | None = None,
        to_slot: int | None = None,
    ) -> types.LedgerCoverage:
        """Which slots are stored, which between them are missing, and which are read from a
        remote archive. No method of the standard node.

        from_slot: the window's first slot; the first stored one by default
        include_gaps: whether to list them; true by default
        max_gaps: how many gaps to list: 1,000 by default, at most 10,000
        to_slot: the window's last slot; the last stored one by default
        Errors of its own: `empty_range`.
        """
        answer: types.LedgerCoverage = await self._caller.rpc(
            "/historical",
            "getLedgerCoverage",
            params_of(
                record_of(
                    fromSlot=from_slot, includeGaps=include_gaps, maxGaps=max_gaps, toSlot=to_slot
                )
            ),
            types.LedgerCoverage,
        )
        return answer

    async def get_signature_statuses(
        self,
        signatures: Sequence[TransactionId],
        *,
        commitment: Literal["processed", "confirmed", "finalized"] | None = None,
        min_context_slot: int | None = None,
        search_transaction_history: bool | None = None,
    ) -> types.SignatureStatuses:
        """What became of transactions, by their signatures.

        signatures: up to 256 of them
        commitment: everything in the ledger is finalized; `confirmed` and `finalized` are
          served alike
        min_context_slot: refuse to answer unless the ledger reaches this slot
        search_transaction_history: always true in effect: the ledger is all history
        Errors of its own: `min_context_slot_not_reached`, `sealed_data_damaged`,
          `too_many_signatures`.
        """
        answer: types.SignatureStatuses = await self._caller.rpc(
            "/historical",
            "getSignatureStatuses",
            params_of(
                signatures,
                record_of(
                    commitment=commitment,
                    minContextSlot=min_context_slot,
                    searchTransactionHistory=search_transaction_history,
                ),
            ),
            types.SignatureStatuses,
        )
        return answer

    async def get_signatures_for_address(
        self,
        address: Address,
        *,
        before: TransactionId | None = None,
        commitment: Literal["processed", "confirmed", "finalized"] | None = None,
        gaps: Literal["error"] | None = None,
        limit: int | None = None,
        min_context_slot: int | None = None,
        until: TransactionId | None = None,
    ) -> list[types.AddressSignature]:
        """Transactions that name an address or look it up, newest first. For the next page give
        the last signature as `before`. The header `X-Ledger-Gaps` names slots from the
        list's oldest to its newest end that the ledger does not have, though they may hold
        others. Of a signature that is stored in two slots, `before` and `until` mean the
        higher one, and no page ends with the other.

        address: an account of any kind: a wallet, a mint, a program
        before: begin behind this transaction, that is, with the next older one
        commitment: everything in the ledger is finalized; `confirmed` and `finalized` are
          served alike
        gaps: `error` refuses a range with slots that are known to be missing. By default the
          list is returned, and the header `X-Ledger-Gaps` names these slots. The standard node
          does not have this option
        limit: how many, from 1 to 1,000, which is the default
        min_context_slot: refuse to answer unless the ledger reaches this slot
        until: end before this transaction: it is not in the answer
        Errors of its own: `commitment_unsupported`, `filter_transaction_not_found`,
          `limit_invalid`, `min_context_slot_not_reached`, `range_has_gaps`,
          `sealed_data_damaged`.
        """
        answer: list[types.AddressSignature] = await self._caller.rpc(
            "/historical",
            "getSignaturesForAddress",
            params_of(
                address,
                record_of(
                    before=before,
                    commitment=commitment,
                    gaps=gaps,
                    limit=limit,
                    minContextSlot=min_context_slot,
                    until=until,
                ),
            ),
            list[types.AddressSignature],
        )
        return answer

    async def iterate_signatures_for_address(
        self,
        address: Address,
        *,
        commitment: Literal["processed", "confirmed", "finalized"] | None = None,
        gaps: Literal["error"] | None = None,
        limit: int | None = None,
        min_context_slot: int | None = None,
        until: TransactionId | None = None,
    ) -> AsyncIterator[types.AddressSignature]:
        """What `get_signatures_for_address` returns, entry by entry over all pages."""
        following: str | None = None
        while True:
            page = await self.get_signatures_for_address(
                address,
                commitment=commitment,
                gaps=gaps,
                limit=limit,
                min_context_slot=min_context_slot,
                until=until,
                before=following,
            )
            for each in page:
                yield each
            following = page[-1].signature if page else None
            if following is None:
                return

    async def get_slot(
        self,
        *,
        commitment: Literal["processed", "confirmed", "finalized"] | None = None,
        min_context_slot: int | None = None,
    ) -> int:
        """The highest slot of the ledger, which holds what is finalized: the chain itself is
        some slots ahead.

        commitment: everything in the ledger is finalized; `confirmed` and `finalized` are
          served alike
        min_context_slot: refuse to answer unless the ledger reaches this slot
        Errors of its own: `ledger_empty`, `min_context_slot_not_reached`.
        """
        answer: int = await self._caller.rpc(
            "/historical",
            "getSlot",
            params_of(record_of(commitment=commitment, minContextSlot=min_context_slot)),
            int,
        )
        return answer

    async def get_transaction(
        self,
        signature: TransactionId,
        *,
        commitment: Literal["processed", "confirmed", "finalized"] | None = None,
        encoding: Literal["binary", "base64", "base58", "json", "jsonParsed"] | None = None,
        form: Literal["current", "source"] | None = None,
        max_supported_transaction_version: int = 1,
        min_context_slot: int | None = None,
    ) -> types.TransactionEntry | None:
        """A transaction, and what it did.

        signature: the transaction's signature, its first one
        commitment: everything in the ledger is finalized; `confirmed` and `finalized` are
          served alike
        encoding: `json` by default; `jsonParsed` reads what known programs were asked. `base64`
          and `base58` are the transaction's own bytes, and `binary` is base58 as bare text
        form: `current` (the default) writes a transaction of any age as a node of today does;
          `source` as the source that it was recorded from did, without the fields that it did
          not know. No option of the standard node
        max_supported_transaction_version: the newest version that you can read: 1 today.
          Without it only legacy transactions are answered. With 1 and more, base58 is refused
        min_context_slot: refuse to answer unless the ledger reaches this slot
        Errors of its own: `base58_unsupported`, `block_cleaned_up`, `block_not_available`,
          `commitment_unsupported`, `min_context_slot_not_reached`, `remote_history_busy`,
          `remote_history_damaged`, `remote_history_unavailable`, `sealed_data_damaged`,
          `slot_missing`, `slot_skipped`, `unsupported_transaction_version`.
        """
        answer: types.TransactionEntry | None = await self._caller.rpc(
            "/historical",
            "getTransaction",
            params_of(
                signature,
                record_of(
                    commitment=commitment,
                    encoding=encoding,
                    form=form,
                    maxSupportedTransactionVersion=max_supported_transaction_version,
                    minContextSlot=min_context_slot,
                ),
            ),
            types.TransactionEntry | None,
        )
        return answer

    async def get_transactions_for_address(
        self,
        address: Address,
        *,
        commitment: Literal["processed", "confirmed", "finalized"] | None = None,
        encoding: Literal["binary", "base64", "base58", "json", "jsonParsed"] | None = None,
        filters: types.Filters | None = None,
        form: Literal["current", "source"] | None = None,
        gaps: Literal["error"] | None = None,
        limit: int | None = None,
        max_supported_transaction_version: int = 1,
        min_context_slot: int | None = None,
        pagination_token: str | None = None,
        sort_order: Literal["desc", "asc"] | None = None,
        transaction_details: Literal["full", "accounts", "signatures", "none"] | None = None,
    ) -> types.AddressTransactions:
        """Transactions that name an address or look it up, filtered, in either order, page by
        page, and whole if you like. The header `X-Ledger-Gaps` names slots of the page's
        range that the ledger does not have, though they may hold others.

        address: an account of any kind: a wallet, a mint, a program
        commitment: everything in the ledger is finalized; `confirmed` and `finalized` are
          served alike
        encoding: `json` by default; `jsonParsed` reads what known programs were asked. `base64`
          and `base58` are the transaction's own bytes, and `binary` is base58 as bare text
        filters: what a transaction must be
        form: `current` (the default) writes a transaction of any age as a node of today does;
          `source` as the source that it was recorded from did, without the fields that it did
          not know. No option of the standard node
        gaps: `error` refuses a page whose range has slots that are known to be missing. By
          default it is returned, and the header `X-Ledger-Gaps` names these slots
        limit: how many a page: up to 1,000 signatures, up to 100 full ones; the most is the
          default
        max_supported_transaction_version: the newest version that you can read: 1 today.
          Without it only legacy transactions are answered. With 1 and more, base58 is refused
        min_context_slot: refuse to answer unless the ledger reaches this slot
        pagination_token: from the page before; order and filters must stay the same
        sort_order: by slot and place: `desc` (the default) is newest first
        transaction_details: `signatures` (the default) or `full`; no others are served here
        Errors of its own: `bad_pagination_token`, `base58_unsupported`, `block_cleaned_up`,
          `block_not_available`, `commitment_unsupported`, `filter_unsupported`,
          `limit_invalid`, `min_context_slot_not_reached`, `range_has_gaps`,
          `sealed_data_damaged`, `slot_missing`, `slot_skipped`,
          `unsupported_transaction_version`.
        """
        answer: types.AddressTransactions = await self._caller.rpc(
            "/historical",
            "getTransactionsForAddress",
            params_of(
                address,
                record_of(
                    commitment=commitment,
                    encoding=encoding,
                    filters=filters,
                    form=form,
                    gaps=gaps,
                    limit=limit,
                    maxSupportedTransactionVersion=max_supported_transaction_version,
                    minContextSlot=min_context_slot,
                    paginationToken=pagination_token,
                    sortOrder=sort_order,
                    transactionDetails=transaction_details,
                ),
            ),
            types.AddressTransactions,
        )
        return answer

    async def iterate_transactions_for_address(
        self,
        address: Address,
        *,
        commitment: Literal["processed", "confirmed", "finalized"] | None = None,
        encoding: Literal["binary", "base64", "base58", "json", "jsonParsed"] | None = None,
        filters: types.Filters | None = None,
        form: Literal["current", "source"] | None = None,
        gaps: Literal["error"] | None = None,
        limit: int | None = None,
        max_supported_transaction_version: int = 1,
        min_context_slot: int | None = None,
        sort_order: Literal["desc", "asc"] | None = None,
        transaction_details: Literal["full", "accounts", "signatures", "none"] | None = None,
    ) -> AsyncIterator[types.AddressSignature | types.TransactionEntry]:
        """What `get_transactions_for_address` returns, entry by entry over all pages."""
        following: str | None = None
        while True:
            page = await self.get_transactions_for_address(
                address,
                commitment=commitment,
                encoding=encoding,
                filters=filters,
                form=form,
                gaps=gaps,
                limit=limit,
                max_supported_transaction_version=max_supported_transaction_version,
                min_context_slot=min_context_slot,
                sort_order=sort_order,
                transaction_details=transaction_details,
                pagination_token=following,
            )
            for each in page.data:
                yield each
            following = page.pagination_token
            if following is None:
                return


class AsyncRewind:
    """The methods of `/rewind`."""

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller

    async def cancel_simulation_job(self, job_id: str) -> types.Job:
        """Calls a job of yours off: it does nothing more, and what it has done stays.

        job_id: the job's id
        Errors of its own: `job_not_found`.
        """
        answer: types.Job = await self._caller.rpc(
            "/rewind", "cancelSimulationJob", params_of(job_id), types.Job
        )
        return answer

    async def get_account_changes(
        self,
        pubkey: Address,
        *,
        from_slot: int,
        to_slot: int,
        anchor: types.Anchor | None = None,
        before: str | None = None,
        commitment: Literal["processed", "confirmed", "finalized"] | None = None,
        data_slice: types.DataSlice | None = None,
        encoding: Literal["base64", "base64+zstd", "base58"] | None = None,
        include_data: bool | None = None,
        limit: int | None = None,
        proof: bool | None = None,
    ) -> types.AccountChanges:
        """Every write to an account in a range of slots, newest first, one page at a time: what
        it was afterwards, and which transaction wrote it.

        pubkey: the account
        from_slot: the lowest slot, included
        to_slot: the highest slot, included
        anchor: begin at this transaction in place of the range's end
        before: `next` of the page before
        commitment: taken and without effect: all that is archived is finalized
        data_slice: only a part of the data
        encoding: how data is written; required with `includeData`
        include_data: whether each write carries the account's data
        limit: how many a page: 100 by default, at most 1,000, or 50 with data
        proof: whether `context.proof` says if the cluster voted for what the archive has
        Errors of its own: `archive_damaged`, `archive_store_unavailable`, `bad_cursor`,
          `bad_limit`, `bad_position`, `data_too_long_for_base58`, `empty_range`,
          `encoding_required`, `sealed_data_damaged`, `slice_of_parsed_data`, `slot_too_new`,
          `slot_too_old`, `transaction_index_out_of_range`, `two_starts`, `unknown_signature`.
        """
        answer: types.AccountChanges = await self._caller.rpc(
            "/rewind",
            "getAccountChanges",
            params_of(
                pubkey,
                record_of(
                    anchor=anchor,
                    before=before,
                    commitment=commitment,
                    dataSlice=data_slice,
                    encoding=encoding,
                    fromSlot=from_slot,
                    includeData=include_data,
                    limit=limit,
                    proof=proof,
                    toSlot=to_slot,
                ),
            ),
            types.AccountChanges,
        )
        return answer

    async def iterate_account_changes(
        self,
        pubkey: Address,
        *,
        from_slot: int,
        to_slot: int,
        anchor: types.Anchor | None = None,
        commitment: Literal["processed", "confirmed", "finalized"] | None = None,
        data_slice: types.DataSlice | None = None,
        encoding: Literal["base64", "base64+zstd", "base58"] | None = None,
        include_data: bool | None = None,
        limit: int | None = None,
        proof: bool | None = None,
    ) -> AsyncIterator[types.AccountChange]:
        """What `get_account_changes` returns, entry by entry over all pages."""
        following: str | None = None
        while True:
            page = await self.get_account_changes(
                pubkey,
                from_slot=from_slot,
                to_slot=to_slot,
                anchor=anchor,
                commitment=commitment,
                data_slice=data_slice,
                encoding=encoding,
                include_data=include_data,
                limit=limit,
                proof=proof,
                before=following,
            )
            for each in page.value.changes:
                yield each
            following = page.value.next
            if following is None:
                return

    async def get_account_diff(
        self,
        pubkey: Address,
        *,
        anchor_a: types.Anchor | None = None,
        anchor_b: types.Anchor | None = None,
        commitment: Literal["processed", "confirmed", "finalized"] | None = None,
        data_slice: types.DataSlice | None = None,
        encoding: Literal["base64", "base64+zstd", "base58", "jsonParsed"] | None = None,
        proof: bool | None = None,
        slot_a: int | None = None,
        slot_b: int | None = None,
        tolerate_gaps: bool | None = None,
        transaction_index_a: int | None = None,
        transaction_index_b: int | None = None,
    ) -> types.AccountDiff:
        """An account at two positions, in whatever order of time, and what differs from A to B.

        pubkey: the account
        anchor_a: A: right before or after a transaction
        anchor_b: B: right before or after a transaction
        commitment: taken and without effect: all that is archived is finalized
        data_slice: only a part of the data
        encoding: `base64` by default; `jsonParsed` reads what known programs keep
        proof: whether `context.proof` says if the cluster voted for what the archive has
        slot_a: A: the end of this slot
        slot_b: B: the end of this slot
        tolerate_gaps: answer with what is known, even if slots in between are missing
        transaction_index_a: A: not the end of the slot, but right after its transaction of this
          index
        transaction_index_b: B: not the end of the slot, but right after its transaction of this
          index
        Errors of its own: `accounts_too_large`, `archive_damaged`, `archive_store_unavailable`,
          `bad_position`, `data_too_long_for_base58`, `sealed_data_damaged`,
          `slice_of_parsed_data`, `slot_in_archive_gap`, `slot_too_new`, `slot_too_old`,
          `transaction_index_out_of_range`, `unknown_signature`, `writes_incomplete`.
        """
        answer: types.AccountDiff = await self._caller.rpc(
            "/rewind",
            "getAccountDiff",
            params_of(
                pubkey,
                record_of(
                    anchorA=anchor_a,
                    anchorB=anchor_b,
                    commitment=commitment,
                    dataSlice=data_slice,
                    encoding=encoding,
                    proof=proof,
                    slotA=slot_a,
                    slotB=slot_b,
                    tolerateGaps=tolerate_gaps,
                    transactionIndexA=transaction_index_a,
                    transactionIndexB=transaction_index_b,
                ),
            ),
            types.AccountDiff,
        )
        return answer

    async def get_account_info(
        self,
        pubkey: Address,
        *,
        anchor: types.Anchor | None = None,
        commitment: Literal["processed", "confirmed", "finalized"] | None = None,
        data_slice: types.DataSlice | None = None,
        encoding: Literal["base64", "base64+zstd", "base58", "jsonParsed"] | None = None,
        idl: bool | None = None,
        proof: bool | None = None,
        slot: int | None = None,
        tolerate_gaps: bool | None = None,
        transaction_index: int | None = None,
    ) -> types.AccountInfo:
        """An account as it was at any position in the past.

        pubkey: the account
        anchor: right before or after a transaction
        commitment: taken and without effect: all that is archived is finalized
        data_slice: only a part of the data
        encoding: `base64` by default; `jsonParsed` reads what known programs keep
        idl: whether `context.idl` says what an IDL of the account's owner reads in its data
        proof: whether `context.proof` says if the cluster voted for what the archive has
        slot: the end of this slot
        tolerate_gaps: answer with what is known, even if slots in between are missing
        transaction_index: not the end of the slot, but right after its transaction of this
          index
        Errors of its own: `accounts_too_large`, `archive_damaged`, `archive_store_unavailable`,
          `bad_position`, `data_too_long_for_base58`, `sealed_data_damaged`,
          `slice_of_parsed_data`, `slot_in_archive_gap`, `slot_too_new`, `slot_too_old`,
          `transaction_index_out_of_range`, `unknown_signature`, `writes_incomplete`.
        """
        answer: types.AccountInfo = await self._caller.rpc(
            "/rewind",
            "getAccountInfo",
            params_of(
                pubkey,
                record_of(
                    anchor=anchor,
                    commitment=commitment,
                    dataSlice=data_slice,
                    encoding=encoding,
                    idl=idl,
                    proof=proof,
                    slot=slot,
                    tolerateGaps=tolerate_gaps,
                    transactionIndex=transaction_index,
                ),
            ),
            types.AccountInfo,
        )
        return answer

    async def get_multiple_accounts(
        self,
        pubkeys: Sequence[Address],
        *,
        anchor: types.Anchor | None = None,
        commitment: Literal["processed", "confirmed", "finalized"] | None = None,
        data_slice: types.DataSlice | None = None,
        encoding: Literal["base64", "base64+zstd", "base58", "jsonParsed"] | None = None,
        idl: bool | None = None,
        proof: bool | None = None,
        slot: int | None = None,
        tolerate_gaps: bool | None = None,
        transaction_index: int | None = None,
    ) -> types.MultipleAccounts:
        """Several accounts at one position.

        pubkeys: up to 100 accounts
        anchor: right before or after a transaction
        commitment: taken and without effect: all that is archived is finalized
        data_slice: only a part of the data
        encoding: `base64` by default; `jsonParsed` reads what known programs keep
        idl: whether `context.idl` says what an IDL of the account's owner reads in its data
        proof: whether `context.proof` says if the cluster voted for what the archive has
        slot: the end of this slot
        tolerate_gaps: answer with what is known, even if slots in between are missing
        transaction_index: not the end of the slot, but right after its transaction of this
          index
        Errors of its own: `accounts_too_large`, `archive_damaged`, `archive_store_unavailable`,
          `bad_position`, `data_too_long_for_base58`, `no_accounts`, `sealed_data_damaged`,
          `slice_of_parsed_data`, `slot_in_archive_gap`, `slot_too_new`, `slot_too_old`,
          `too_many_accounts`, `too_many_programs`, `transaction_index_out_of_range`,
          `unknown_signature`, `writes_incomplete`.
        """
        answer: types.MultipleAccounts = await self._caller.rpc(
            "/rewind",
            "getMultipleAccounts",
            params_of(
                pubkeys,
                record_of(
                    anchor=anchor,
                    commitment=commitment,
                    dataSlice=data_slice,
                    encoding=encoding,
                    idl=idl,
                    proof=proof,
                    slot=slot,
                    tolerateGaps=tolerate_gaps,
                    transactionIndex=transaction_index,
                ),
            ),
            types.MultipleAccounts,
        )
        return answer

    async def get_rewind_coverage(
        self,
        *,
        from_slot: int | None = None,
        include_gaps: bool | None = None,
        max_gaps: int | None = None,
        to_slot: int | None = None,
    ) -> types.RewindCoverage:
        """How far the archive reaches, and which slots of a window are missing.

        from_slot: the window's first slot; the first stored one by default
        include_gaps: whether to list them; true by default
        max_gaps: how many gaps to list: 1,000 by default, at most 10,000
        to_slot: the window's last slot; the last stored one by default
        Errors of its own: `empty_range`.
        """
        answer: types.RewindCoverage = await self._caller.rpc(
            "/rewind",
            "getRewindCoverage",
            params_of(
                record_of(
                    fromSlot=from_slot, includeGaps=include_gaps, maxGaps=max_gaps, toSlot=to_slot
                )
            ),
            types.RewindCoverage,
        )
        return answer

    async def get_simulation_job(self, job_id: str) -> types.Job:
        """How far a job of yours is.

        job_id: the job's id, as submitSimulationJob answered it
        Errors of its own: `job_not_found`.
        """
        answer: types.Job = await self._caller.rpc(
            "/rewind", "getSimulationJob", params_of(job_id), types.Job
        )
        return answer

    async def get_simulation_job_results(
        self, job_id: str, *, cursor: str | None = None, limit: int | None = None
    ) -> types.ResultPage:
        """The results of a job of yours in their order, as far as they are there; also while it
        runs.

        job_id: the job's id
        cursor: `next` of the page before
        limit: how many a page: 100 by default, at most 1,000
        Errors of its own: `answer_too_large`, `bad_cursor`, `bad_limit`, `job_not_found`,
          `results_expired`, `simulation_lost`, `unknown_signature`.
        """
        answer: types.ResultPage = await self._caller.rpc(
            "/rewind",
            "getSimulationJobResults",
            params_of(job_id, record_of(cursor=cursor, limit=limit)),
            types.ResultPage,
        )
        return answer

    async def iterate_simulation_job_results(
        self, job_id: str, *, limit: int | None = None
    ) -> AsyncIterator[types.JobResult]:
        """What `get_simulation_job_results` returns, entry by entry over all pages."""
        following: str | None = None
        while True:
            page = await self.get_simulation_job_results(job_id, limit=limit, cursor=following)
            for each in page.results:
                yield each
            following = page.next
            if following is None:
                return
            if not page.results:
                await sleep(0.5)

    async def get_slot_proof(
        self,
        slot: int,
        *,
        chain: bool | None = None,
        include_lattice: bool | None = None,
        include_votes: bool | None = None,
    ) -> types.ProvenSlot:
        """What the hash of a slot's bank is made of, and the votes for it: everything that a
        check without this service needs.

        slot: a slot with a block
        chain: whether the proofs of the slots above it are, up to the one whose votes settle
          it; false by default
        include_lattice: whether the 2,048 bytes of the sum of all accounts are in it; true by
          default
        include_votes: whether the votes are; true by default
        Errors of its own: `slot_too_new`, `slot_too_old`, `slot_unproven`.
        """
        answer: types.ProvenSlot = await self._caller.rpc(
            "/rewind",
            "getSlotProof",
            params_of(
                slot,
                record_of(chain=chain, includeLattice=include_lattice, includeVotes=include_votes),
            ),
            types.ProvenSlot,
        )
        return answer

    async def simulate_historical_transaction(
        self,
        transaction: Transaction,
        *,
        accounts: types.AccountsConfig | None = None,
        anchor: types.Anchor | None = None,
        commitment: Literal["processed", "confirmed", "finalized"] | None = None,
        encoding: Literal["base58", "base64"] = "base64",
        inner_instructions: bool | None = None,
        override_loads: Mapping[str, int] | None = None,
        overrides: Mapping[str, types.OverrideConfig] | None = None,
        pre_state_slot: int | None = None,
        proof: bool | None = None,
        replace_recent_blockhash: bool | None = None,
        sig_verify: bool | None = None,
        slot: int | None = None,
        tolerate_gaps: bool | None = None,
        transaction_index: int | None = None,
    ) -> types.Simulation:
        """What a transaction would have done at a position in the past, on other state if you
        like, and whether the ledger proves the answer. A transaction of the ledger is run
        again by its own text.

        transaction: the transaction as text
        accounts: accounts to be shown as the transaction left them, as simulateTransaction
          shows them
        anchor: right before or after a transaction
        commitment: taken and without effect: all that is archived is finalized
        encoding: of a transaction that is given as a str
        inner_instructions: whether to return the calls of programs
        override_loads: accounts that are to be taken from another slot, by their pubkeys
        overrides: accounts that are to be otherwise, by their pubkeys
        pre_state_slot: run on accounts as they were at this earlier slot
        proof: whether `context.proof` says if the cluster voted for what the archive has
        replace_recent_blockhash: taken and without effect
        sig_verify: taken and without effect
        slot: the end of this slot
        tolerate_gaps: answer with what is known, even if slots in between are missing
        transaction_index: not the end of the slot, but right after its transaction of this
          index
        Errors of its own: `accounts_too_large`, `archive_damaged`, `archive_store_unavailable`,
          `bad_override`, `bad_position`, `base58_not_supported`, `engine_fault`,
          `filtered_account`, `override_without_effect`, `pre_state_too_new`,
          `sealed_data_damaged`, `simulation_timeout`, `slot_in_archive_gap`, `slot_too_new`,
          `slot_too_old`, `state_not_recorded`, `too_many_accounts`, `too_many_addresses`,
          `transaction_index_out_of_range`, `transaction_too_large`, `transaction_undecodable`,
          `unknown_signature`, `unsupported_version`, `writes_incomplete`.
        """
        answer: types.Simulation = await self._caller.rpc(
            "/rewind",
            "simulateHistoricalTransaction",
            params_of(
                transaction,
                record_of(
                    accounts=accounts,
                    anchor=anchor,
                    commitment=commitment,
                    encoding=encoding,
                    innerInstructions=inner_instructions,
                    overrideLoads=override_loads,
                    overrides=overrides,
                    preStateSlot=pre_state_slot,
                    proof=proof,
                    replaceRecentBlockhash=replace_recent_blockhash,
                    sigVerify=sig_verify,
                    slot=slot,
                    tolerateGaps=tolerate_gaps,
                    transactionIndex=transaction_index,
                ),
            ),
            types.Simulation,
        )
        return answer

    async def submit_simulation_job(
        self,
        *,
        client_reference: str | None = None,
        config: types.SimulationConfig | None = None,
        encoding: Literal["base58", "base64"] | None = None,
        positions: Sequence[types.JobPosition] | None = None,
        signatures: Sequence[TransactionId] | None = None,
        slot_range: types.SlotRange | None = None,
        transactions: Sequence[Transaction] | None = None,
    ) -> types.Submitted:
        """Hands in many simulations at once; they run in the background, in order. It needs a
        key.

        client_reference: your own name for the job: handed in again under it, it is not run
          again
        config: how to simulate: what simulateHistoricalTransaction takes, but for the position
        encoding: how the transactions are written; `base64` by default
        positions: where in the past, or else `slotRange`
        signatures: transactions of the ledger, by their signatures
        slot_range: the ends of a range of slots
        transactions: the transactions as text, or else `signatures`
        Errors of its own: `archive_damaged`, `archive_store_unavailable`, `bad_job`,
          `bad_override`, `bad_position`, `base58_not_supported`, `client_reference_taken`,
          `empty_range`, `override_without_effect`, `pre_state_too_new`, `sealed_data_damaged`,
          `slot_too_new`, `slot_too_old`, `too_many_accounts`, `too_many_addresses`,
          `too_many_jobs`, `too_many_simulations`, `transaction_index_out_of_range`,
          `transaction_too_large`, `transaction_undecodable`, `unknown_signature`,
          `unsupported_version`.
        """
        answer: types.Submitted = await self._caller.rpc(
            "/rewind",
            "submitSimulationJob",
            params_of(
                record_of(
                    clientReference=client_reference,
                    config=config,
                    encoding=encoding,
                    positions=positions,
                    signatures=signatures,
                    slotRange=slot_range,
                    transactions=transactions,
                )
            ),
            types.Submitted,
        )
        return answer
