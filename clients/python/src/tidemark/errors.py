"""Generated: a class for each reason of the service's errors."""

from tidemark.failures import TidemarkError


class AccountsTooLarge(TidemarkError):
    """The accounts have more data than one response may have.

    Request fewer accounts, or a part of each with `dataSlice`.
    """

    reason = "accounts_too_large"


class ActionRefused(TidemarkError):
    """What is stored does not allow it; the message says why.

    Read the current state, and follow the message.
    """

    reason = "action_refused"


class AddressNotAllowed(TidemarkError):
    """The caller's address is outside the key's CIDR list.

    Call from an address on the key's list, or change the list.
    """

    reason = "address_not_allowed"


class AnswerTooLarge(TidemarkError):
    """The result is larger than one response, or all responses to a key together, may be.

    Request less at once: a smaller batch, a shorter range, a lower `limit`.
    """

    reason = "answer_too_large"


class ArchiveDamaged(TidemarkError):
    """Some sealed data failed its checksum. Damaged data is never served.

    Use another position; the operator can restore this slot.
    """

    reason = "archive_damaged"


class ArchiveStoreUnavailable(TidemarkError):
    """These slots are in cold storage, which cannot be read at the moment. A retry may succeed.
    Other slots are not affected.

    Try again in a moment; other slots are not affected.
    """

    reason = "archive_store_unavailable"


class BadCursor(TidemarkError):
    """The cursor does not come from this method.

    Pass the `next` of the last page unchanged, or start without a cursor.
    """

    reason = "bad_cursor"


class BadJob(TidemarkError):
    """The job is incomplete or ambiguous; the message says why.

    Give `transactions` with `positions` or a `slotRange`, or `signatures`.
    """

    reason = "bad_job"


class BadLimit(TidemarkError):
    """The limit is 0.

    Request at least one entry.
    """

    reason = "bad_limit"


class BadOverride(TidemarkError):
    """No account can have the state in the override; the message names it and says why.

    Fix the override that the message names.
    """

    reason = "bad_override"


class BadPaginationToken(TidemarkError):
    """The token does not come from this method, or belongs to other filters.

    Use the token with the same filters as before, or start without one.
    """

    reason = "bad_pagination_token"


class BadPosition(TidemarkError):
    """The params name no position, or more than one.

    Name one position: `slot`, optionally with `transactionIndex`, or `anchor`.
    """

    reason = "bad_position"


class BadQuery(TidemarkError):
    """A part of the path or of the query is invalid.

    Fix the part of the URL that the message names.
    """

    reason = "bad_query"


class BadTipQuery(TidemarkError):
    """`ttl` or `count` is not a positive integer, or the address in the path is malformed.

    Use positive integers for `ttl` and `count`, and a base58 address.
    """

    reason = "bad_tip_query"


class Base58NotSupported(TidemarkError):
    """Simulations do not return accounts in base58, as on the standard node.

    Use `base64`, `base64+zstd` or `jsonParsed`.
    """

    reason = "base58_not_supported"


class Base58Unsupported(TidemarkError):
    """The caller accepts version 1 transactions, which are too long for base58.

    Use base64: transactions of version 1 are too long for base58.
    """

    reason = "base58_unsupported"


class BatchAboveLimit(TidemarkError):
    """A batch without a key has more calls than the limit ever allows at once: split it.

    Split the batch.
    """

    reason = "batch_above_limit"


class BlockCleanedUp(TidemarkError):
    """The slot is below the first stored block.

    Use a slot from `data.firstAvailableBlock` on.
    """

    reason = "block_cleaned_up"


class BlockNotAvailable(TidemarkError):
    """The slot is above the newest stored block.

    Wait until the ledger reaches the slot.
    """

    reason = "block_not_available"


class BlockhashExpired(TidemarkError):
    """The blockhash is too old: no block above `required` may use it.

    Fetch a new blockhash, and sign the transaction again.
    """

    reason = "blockhash_expired"


class BlockhashNotFound(TidemarkError):
    """No recent block has the transaction's blockhash, so it can never land. If it advances a
    nonce too late in the transaction, the message says so.

    Fetch a blockhash of this chain, and sign the transaction again.
    """

    reason = "blockhash_not_found"


class BodyMalformed(TidemarkError):
    """The body is not JSON.

    Send JSON, with `Content-Type: application/json`.
    """

    reason = "body_malformed"


class BodyTooLarge(TidemarkError):
    """The body is above the maximum. If the path accepts larger ones with another scope,
    `largerScope` is that scope, and `largerMaximum` its maximum.

    Send a smaller body: `data.maximum` is the maximum in bytes.
    """

    reason = "body_too_large"


class BodyUnreadable(TidemarkError):
    """The body does not have its announced length, or the length is not a number.

    Check the header `Content-Length`; the connection may have been cut.
    """

    reason = "body_unreadable"


class BundleDuplicates(TidemarkError):
    """The bundle contains a transaction twice, so it cannot land.

    Include each transaction only once.
    """

    reason = "bundle_duplicates"


class BundleEmpty(TidemarkError):
    """The bundle has no transactions.

    Put one to four transactions into the bundle.
    """

    reason = "bundle_empty"


class BundleIdMalformed(TidemarkError):
    """The value is neither a bundle's id nor a list of signatures.

    Use the id that sendBundle returned: 64 hex digits.
    """

    reason = "bundle_id_malformed"


class BundleNonceTwice(TidemarkError):
    """Two transactions of the bundle use the same durable nonce, so it cannot land: a nonce
    advances only once in a block.

    Use another nonce account, or a recent blockhash, for one of them.
    """

    reason = "bundle_nonce_twice"


class BundleOnlyNotServed(TidemarkError):
    """`bundleOnly` is not supported: send the transaction as a bundle of one.

    Send the transaction as a bundle of one, with sendBundle.
    """

    reason = "bundle_only_not_served"


class BundleSimulationFailed(TidemarkError):
    """The bundle fails on the newest state: `err` is the error of the transaction at
    `transactionIndex`. If the transaction requests too few resources to succeed anywhere,
    the message says so.

    Check `data.err` and `data.logs`, and fix the transaction.
    """

    reason = "bundle_simulation_failed"


class BundleTooLarge(TidemarkError):
    """The bundle has too many transactions.

    Split it: a bundle has at most four transactions.
    """

    reason = "bundle_too_large"


class BundleUnknown(TidemarkError):
    """The caller did not submit such a bundle here, or its fate is not kept any more.

    Check the id, and use the key that submitted it.
    """

    reason = "bundle_unknown"


class BundlesOff(TidemarkError):
    """No block engine is enabled for the caller's tier.

    Send the transactions with sendTransaction.
    """

    reason = "bundles_off"


class ChainNotFollowed(TidemarkError):
    """No data of the chain arrives: the service follows no stream, or its follower is down.

    Try again in a moment; if it persists, ask the operator.
    """

    reason = "chain_not_followed"


class ClientReferenceTaken(TidemarkError):
    """The key has a different job with this `clientReference`.

    Use another `clientReference`, or submit the same job.
    """

    reason = "client_reference_taken"


class CommitmentUnsupported(TidemarkError):
    """The ledger has finalized blocks only: it does not support a commitment below `confirmed`.

    Use `confirmed` or `finalized`, or call `/` for newer state.
    """

    reason = "commitment_unsupported"


class ConfigsMismatch(TidemarkError):
    """The list of accounts to return is not as long as the bundle.

    Give one entry for each transaction of the bundle, or null for none.
    """

    reason = "configs_mismatch"


class ContentTypeUnsupported(TidemarkError):
    """The body is not declared as plain JSON.

    Send `Content-Type: application/json`, and an unencoded body.
    """

    reason = "content_type_unsupported"


class CountOutOfRange(TidemarkError):
    """The count is above the maximum of one fetch.

    Request fewer addresses: tipinfo has the maximum.
    """

    reason = "count_out_of_range"


class DataTooLongForBase58(TidemarkError):
    """The account has more data than base58 supports.

    Use `base64`, or a short `dataSlice`.
    """

    reason = "data_too_long_for_base58"


class DatabaseBusy(TidemarkError):
    """Another request is changing the same data, and did not finish in time
    (`LOCK_TIMEOUT_MS`).

    Wait for `Retry-After` seconds, then send the same request again.
    """

    reason = "database_busy"


class DatabaseFull(TidemarkError):
    """The database's disk is full: nothing can be stored until the operator frees some space.

    Wait for `Retry-After` seconds; the operator has to free the disk.
    """

    reason = "database_full"


class DatabaseReadOnly(TidemarkError):
    """The database rejects writes: it is a standby, or read-only.

    Wait for `Retry-After` seconds; the operator has to make it writable.
    """

    reason = "database_read_only"


class DatabaseUnavailable(TidemarkError):
    """The database does not respond: stored data cannot be read now.

    Wait for `Retry-After` seconds, then send the same request again.
    """

    reason = "database_unavailable"


class DiskFull(TidemarkError):
    """The service's disk is full: nothing can be accepted or stored until the operator frees
    some space.

    Wait for `Retry-After` seconds; the operator has to free the disk.
    """

    reason = "disk_full"


class EmptyRange(TidemarkError):
    """The range of slots ends before it begins.

    Use a range that ends at or after its start.
    """

    reason = "empty_range"


class EncodingRequired(TidemarkError):
    """The call requests data without an `encoding`.

    Set `encoding`: base64, base64+zstd, or base58 for short data.
    """

    reason = "encoding_required"


class EngineFault(TidemarkError):
    """The simulation engine could not run the transaction: its outcome is unknown.

    Try again; if it persists, send the operator the `X-Request-Id`.
    """

    reason = "engine_fault"


class FatesUnavailable(TidemarkError):
    """Redis, which has the newest submissions, does not respond: the fate may exist, but cannot
    be read now.

    Wait for `Retry-After` seconds, and try again.
    """

    reason = "fates_unavailable"


class FilterTransactionNotFound(TidemarkError):
    """The transaction that `before` or `until` names is not in the ledger.

    Use a signature that is in the ledger, or remove the filter.
    """

    reason = "filter_transaction_not_found"


class FilterUnsupported(TidemarkError):
    """The standard node supports this value, but this method does not.

    Remove the value that `data` names.
    """

    reason = "filter_unsupported"


class FilteredAccount(TidemarkError):
    """The simulation touches accounts that the archive deliberately does not follow.

    Provide these accounts in `overrides`, or do without them.
    """

    reason = "filtered_account"


class ForwardedAddressUnreadable(TidemarkError):
    """A trusted proxy names no readable client address in `X-Forwarded-For`. Without it, the
    proxy would count as the client: its address decides about limits and allowed networks.

    Ask the operator: the proxy sends `data.found` as your address.
    """

    reason = "forwarded_address_unreadable"


class FromSignatureUnknown(TidemarkError):
    """No stored transaction has the `fromSignature`.

    Use a stored signature, or `fromSlot`.
    """

    reason = "from_signature_unknown"


class HandshakeInvalid(TidemarkError):
    """The WebSocket request has a version other than 13.

    Use a WebSocket client of version 13, and no body.
    """

    reason = "handshake_invalid"


class HandshakeMalformed(TidemarkError):
    """The WebSocket request does not have everything that the protocol requires (RFC 6455,
    4.2.1): HTTP/1.1, `Connection: Upgrade`, and a Sec-WebSocket-Key of 16 bytes in base64.

    Use a WebSocket client; a proxy must forward it as HTTP/1.1.
    """

    reason = "handshake_malformed"


class HeadMoved(TidemarkError):
    """The chain advanced during every read: no two responses were from the same slot.

    Try again: all reads must be from the same slot.
    """

    reason = "head_moved"


class HeadTooLarge(TidemarkError):
    """The request line and headers are too many or too long.

    Send fewer and shorter headers, and a shorter URL.
    """

    reason = "head_too_large"


class HostRequired(TidemarkError):
    """The request has no valid Host header, or more than one.

    Send one `Host` header with the host name of the URL.
    """

    reason = "host_required"


class HostUnknown(TidemarkError):
    """This installation does not have the host in the Host header.

    Check the host name in the URL.
    """

    reason = "host_unknown"


class HttpMethodNotAllowed(TidemarkError):
    """The operation does not support this HTTP method.

    Use the method that the header `Allow` names.
    """

    reason = "http_method_not_allowed"


class IdempotencyKeyReused(TidemarkError):
    """Another request had this `Idempotency-Key` in the last 24 hours.

    Use a new `Idempotency-Key`; the same one only to repeat a request.
    """

    reason = "idempotency_key_reused"


class InternalError(TidemarkError):
    """An unexpected error. The log has its traceback; the response has no details.

    Try again; if it persists, send the operator the `X-Request-Id`.
    """

    reason = "internal_error"


class InvalidFields(TidemarkError):
    """Members of the body, parameters or headers that are not what they should be: `fields` has
    the problems of each.

    Fix the fields that `fields` names.
    """

    reason = "invalid_fields"


class InvalidParams(TidemarkError):
    """The params do not fit the method; the texts are the standard node's.

    Fix the params: `data.at` has the place, the message what was expected.
    """

    reason = "invalid_params"


class InvalidRequest(TidemarkError):
    """The body is JSON but not a JSON-RPC 2.0 call: `problem` says what was expected and found.

    Check `id`, `jsonrpc` and `method`: the message says what is wrong.
    """

    reason = "invalid_request"


class JobNotFound(TidemarkError):
    """The key has no job with this id. Jobs are deleted some weeks after their results.

    Check the id, and use the key that submitted the job.
    """

    reason = "job_not_found"


class KeyExpired(TidemarkError):
    """The key has expired. After a rotation, use the new key.

    Use its successor, or ask for a new one.
    """

    reason = "key_expired"


class KeyMalformed(TidemarkError):
    """The text is not an API key of this service: it has a typo, or belongs to another service.

    Check that the key was copied completely: an API key begins with `tmk_`.
    """

    reason = "key_malformed"


class KeyRequired(TidemarkError):
    """The operation requires an API key, and the request has none.

    Send an API key in the header `Authorization`.
    """

    reason = "key_required"


class KeyRevoked(TidemarkError):
    """The key was permanently revoked.

    Use another key: a revoked key cannot be restored.
    """

    reason = "key_revoked"


class KeySuspended(TidemarkError):
    """The key is suspended, until an administrator resumes it.

    Ask the operator, or the owner of the key.
    """

    reason = "key_suspended"


class KeyUnknown(TidemarkError):
    """No key with this text was ever issued, or it was deleted.

    Check that the key belongs to this service, or ask for a new one.
    """

    reason = "key_unknown"


class LandingBehind(TidemarkError):
    """The service would send the transaction too late, because earlier ones are not sent yet,
    or because it has waited for the web process itself. Nothing was queued: send the same
    transaction again in `retryAfterSeconds`. `found` is the age of the oldest waiting
    submission and `maximum` the limit, in milliseconds; `unsent` is the number of waiting
    ones.

    Wait for `Retry-After` seconds and send it again: nothing was queued.
    """

    reason = "landing_behind"


class LandingStalled(TidemarkError):
    """The submission is accepted, but no lander is running. It is kept, and sent once a lander
    runs.

    Follow the fate: the submission is kept, and sent once a lander runs.
    """

    reason = "landing_stalled"


class LedgerEmpty(TidemarkError):
    """No block is stored yet.

    Wait for the first block, or import blocks.
    """

    reason = "ledger_empty"


class LimitInvalid(TidemarkError):
    """The limit is outside its range.

    Use a limit in the range that the message names.
    """

    reason = "limit_invalid"


class MethodNotAllowed(TidemarkError):
    """The key has a list of methods, and this method is not on it.

    Use a key whose list has the method: whoami returns the list.
    """

    reason = "method_not_allowed"


class MethodNotFound(TidemarkError):
    """The path does not serve this method. `servedAt` names the paths that do, if any.

    Use one of the paths in `data.servedAt`.
    """

    reason = "method_not_found"


class MinContextSlotNotReached(TidemarkError):
    """The ledger's newest slot is below the caller's `minContextSlot`.

    Wait until the ledger reaches the slot.
    """

    reason = "min_context_slot_not_reached"


class MonthlyBytesReached(TidemarkError):
    """The key has reached its limit of notification bytes of this calendar month (UTC).

    Wait for the next month (UTC), or ask for a higher tier.
    """

    reason = "monthly_bytes_reached"


class MonthlyQuotaReached(TidemarkError):
    """The key has used up its calls of this calendar month (UTC). The limit applies within
    about a minute.

    Wait for the next month (UTC), or ask for a higher tier.
    """

    reason = "monthly_quota_reached"


class NoAccounts(TidemarkError):
    """The list of accounts is empty.

    Name at least one account.
    """

    reason = "no_accounts"


class NoUpstreamChosen(TidemarkError):
    """Only `bundle` is selected, but block engines accept only bundles, so the transaction has
    no upstream.

    Choose another upstream besides `bundle`, or send a bundle.
    """

    reason = "no_upstream_chosen"


class NoUpstreamNode(TidemarkError):
    """This installation has no node to pass the call on to.

    Ask the operator to configure a node.
    """

    reason = "no_upstream_node"


class NodeBehind(TidemarkError):
    """The node's own health check fails: it is `numSlotsBehind` slots behind the chain, or null
    if unknown.

    Wait; reads that do not need the newest state can go to `/historical`.
    """

    reason = "node_behind"


class NodeError(TidemarkError):
    """The upstream node responded with this error: code, message and data are the node's own.

    Handle the node's own code and message, as with any Solana node.
    """

    reason = "node_error"


class NonceUnusable(TidemarkError):
    """The finalized state of the nonce account rules the transaction out: it can never land.
    `cause` is `nonce_moved` (another hash), `nonce_closed`, `nonce_invalid` (not a nonce) or
    `nonce_authority` (another authority); `movedInSlot` and `movedBy` name the change, if
    known.

    Read the nonce account again, sign with its hash and its authority, and send that.
    """

    reason = "nonce_unusable"


class NotFound(TidemarkError):
    """No such thing, or it is not the customer's whose token this is.

    Check the id; a customer's token finds only the customer's own objects.
    """

    reason = "not_found"


class OriginNotAllowed(TidemarkError):
    """The key has a list of web origins, and the request is from no page of them.

    Call from a page of an origin on the key's list, or change the list.
    """

    reason = "origin_not_allowed"


class Overloaded(TidemarkError):
    """Too many requests wait, or the process is stopping.

    Wait for `Retry-After` seconds and send the same request again.
    """

    reason = "overloaded"


class OverrideWithoutEffect(TidemarkError):
    """An override, or an entry of `overrideLoads`, has no effect on the simulation; the message
    names it and says why.

    Remove the override that the message names.
    """

    reason = "override_without_effect"


class ParseError(TidemarkError):
    """The body is not JSON.

    Check the body: it is not JSON.
    """

    reason = "parse_error"


class PathNotServed(TidemarkError):
    """This host does not serve this path.

    Check the path and the host: not every host serves every path.
    """

    reason = "path_not_served"


class PreStateTooNew(TidemarkError):
    """`preStateSlot` is above the slot in which the transaction is to run.

    Use a `preStateSlot` at or below the position's slot.
    """

    reason = "pre_state_too_new"


class QueueFull(TidemarkError):
    """The queue of unsent transactions is full.

    Wait a moment, and send the same transaction again: it was not queued.
    """

    reason = "queue_full"


class QueueUnavailable(TidemarkError):
    """Redis did not confirm the transaction: it may be queued (`mayBeQueued`). Send it again;
    it is not queued twice. If nothing was queued, the error is the outage instead:
    `disk_full`, `redis_full` or `redis_unavailable`, with `mayBeQueued` false.

    Send the same request again: it is not queued twice.
    """

    reason = "queue_unavailable"


class QuotaExceeded(TidemarkError):
    """The key's bucket of tip fetches is empty, or the cap of the UTC day is reached.

    Wait for `Retry-After` seconds; one fetch can return several addresses.
    """

    reason = "quota_exceeded"


class RangeHasGaps(TidemarkError):
    """Slots of the range are missing in the ledger, and the call requested an error in that
    case. `gaps` lists at most 100 runs of them, lowest first; `truncated` is true if there
    are more.

    Request the ranges outside `data.gaps`; another source may have the rest.
    """

    reason = "range_has_gaps"


class RangeTooLarge(TidemarkError):
    """The range, or the count, of slots is above the maximum.

    Split the range over several calls.
    """

    reason = "range_too_large"


class RateLimited(TidemarkError):
    """The limit of the key, or of the address of a caller without a key, is reached.

    Wait for `Retry-After` seconds, or use a key of a higher tier.
    """

    reason = "rate_limited"


class RedisFull(TidemarkError):
    """Redis rejects writes: its disk or memory is full, until the operator frees some space.

    Wait for `Retry-After` seconds; the operator has to free the disk or memory.
    """

    reason = "redis_full"


class RedisUnavailable(TidemarkError):
    """Redis, which has the queues, does not respond.

    Wait for `Retry-After` seconds, then send the same request again.
    """

    reason = "redis_unavailable"


class RemoteHistoryBusy(TidemarkError):
    """Too many calls, of this caller or of all, already wait for the archive of remote history.

    Wait for some of your calls to finish, and try again.
    """

    reason = "remote_history_busy"


class RemoteHistoryDamaged(TidemarkError):
    """The archive's data does not match its hashes and indexes, the signatures, or this chain.

    Use another slot; the operator finds the file in the log.
    """

    reason = "remote_history_damaged"


class RemoteHistoryUnavailable(TidemarkError):
    """The archive of remote history cannot be read at the moment.

    Try again in a moment; stored blocks are not affected.
    """

    reason = "remote_history_unavailable"


class RequestFailed(TidemarkError):
    """An internal error: the request failed with an uncaught exception, which is logged.

    Try again; if it persists, send the operator the `X-Request-Id`.
    """

    reason = "request_failed"


class RequestMalformed(TidemarkError):
    """The request is not HTTP/1.1.

    Send HTTP/1.1: request line, headers, body of the announced length.
    """

    reason = "request_malformed"


class RequestTimedOut(TidemarkError):
    """The request was not complete in time.

    Send the request without pauses; check your connection.
    """

    reason = "request_timed_out"


class ResultsExpired(TidemarkError):
    """The job's results were deleted: submit it again.

    Submit the job again, and read its results sooner.
    """

    reason = "results_expired"


class ScopeMissing(TidemarkError):
    """The key does not have the operation's scope.

    Use a key with the scope that `data.required` names.
    """

    reason = "scope_missing"


class SealedDataDamaged(TidemarkError):
    """Some sealed data failed its checksum, or is gone. The response and the log name it; the
    operator can fetch the slots again, or restore them.

    Use another slot; the operator can fetch or restore this one.
    """

    reason = "sealed_data_damaged"


class SignatureInvalid(TidemarkError):
    """A signature does not verify. `pubkey` is its key.

    Sign again: the message was changed, or signed with another key.
    """

    reason = "signature_invalid"


class SignatureMissing(TidemarkError):
    """A required signature is missing (all zeros). `pubkey` is its key.

    Also sign with the key that `data.pubkey` names.
    """

    reason = "signature_missing"


class SignatureUnknown(TidemarkError):
    """The caller did not submit a transaction with this signature here, or its fate is not kept
    any more.

    Check the signature, and use the key that submitted it.
    """

    reason = "signature_unknown"


class SimulationLost(TidemarkError):
    """The simulation crashed its worker process every time.

    Simulate it alone; if that fails too, report it to the operator.
    """

    reason = "simulation_lost"


class SimulationTimeout(TidemarkError):
    """The simulation took longer than the limit.

    Try again in a moment: a busy machine takes longer.
    """

    reason = "simulation_timeout"


class SkipPreflightRequired(TidemarkError):
    """`skipPreflight` must be true: the service does not simulate before sending.

    Set `skipPreflight` to true; simulateTransaction simulates.
    """

    reason = "skip_preflight_required"


class SliceOfParsedData(TidemarkError):
    """The call requests a part of the data and all of it parsed: choose one.

    Use `dataSlice` with base64, or `jsonParsed` without it.
    """

    reason = "slice_of_parsed_data"


class SlotInArchiveGap(TidemarkError):
    """The state at the slot is unknown. `tolerateGaps` returns the state from before the gap.

    Set `tolerateGaps` to use the state from before the gap.
    """

    reason = "slot_in_archive_gap"


class SlotMissing(TidemarkError):
    """The ledger has no block for the slot, and no proof that the slot was skipped.

    Try again later: the service fetches missing blocks when a source has them.
    """

    reason = "slot_missing"


class SlotSkipped(TidemarkError):
    """The leader produced no block: the parent link of a later block proves it.

    Use another slot: the leader of this one produced no block.
    """

    reason = "slot_skipped"


class SlotTooNew(TidemarkError):
    """The slot is above the newest archived one: call a live node. `latestSlot` is null while
    nothing is archived.

    Use a live node, or wait: `data.latestSlot` is the newest one.
    """

    reason = "slot_too_new"


class SlotTooOld(TidemarkError):
    """The slot is below the archive's window.

    Use a later slot: getRewindCoverage returns where the archive begins.
    """

    reason = "slot_too_old"


class SlotUnproven(TidemarkError):
    """The slot's bank is unknown: `data.why` is `no_block`, `no_baseline`, `gap_before`,
    `not_computed`, `signature_count_unknown`, `snapshot_differs` or `another_fork`.

    See `data.why`; getRewindCoverage has the proven ranges in `proof`.
    """

    reason = "slot_unproven"


class SnapshotsTooLarge(TidemarkError):
    """The requested accounts have more data than one response may have.

    Request fewer accounts before and after the transactions.
    """

    reason = "snapshots_too_large"


class SocketsUnavailable(TidemarkError):
    """WebSockets cannot be opened now: Redis or the database is down.

    Wait for `Retry-After` seconds, and connect again.
    """

    reason = "sockets_unavailable"


class StateNotRecorded(TidemarkError):
    """The archive has no record, at or before the position, of an account that the simulation
    loads, and cannot know whether it existed.

    Provide the account in `overrides`.
    """

    reason = "state_not_recorded"


class StreamUnavailable(TidemarkError):
    """The database or Redis is down: fates cannot be read.

    Wait for `Retry-After` seconds, and connect again.
    """

    reason = "stream_unavailable"


class SubscriptionLimitReached(TidemarkError):
    """The connection has as many subscriptions as the tier allows.

    End a subscription, or open another WebSocket.
    """

    reason = "subscription_limit_reached"


class SubscriptionUnknown(TidemarkError):
    """The connection has no subscription with this number.

    Use the number that the subscription returned, once.
    """

    reason = "subscription_unknown"


class TierTooLow(TidemarkError):
    """The host belongs to a tier above the key's.

    Use a host of your key's tier: whoami names them in `hosts`.
    """

    reason = "tier_too_low"


class TipAddressExpired(TidemarkError):
    """The tip goes to an address that was valid until `expiresAt`.

    Fetch a new address: GET `/priority/fetchtipaddress`.
    """

    reason = "tip_address_expired"


class TipAddressUnknown(TidemarkError):
    """Transfers are large enough, but go to addresses that were never issued as tip addresses;
    `unknownAddresses` lists all of them.

    Fetch an address: GET `/priority/fetchtipaddress`.
    """

    reason = "tip_address_unknown"


class TipAddressesUnread(TidemarkError):
    """The tip address cannot be checked while the database is down.

    Send the same transaction again in a moment: it was not queued.
    """

    reason = "tip_addresses_unread"


class TipBehindLookupTable(TidemarkError):
    """A sufficient transfer goes to an address in a lookup table: tip one of the message's own
    account keys.

    Remove the tip address from your lookup tables.
    """

    reason = "tip_behind_lookup_table"


class TipMissing(TidemarkError):
    """The transaction has no top-level system transfer of at least the minimum tip. `addresses`
    are always valid.

    Add a transfer to a tip address to the transaction's own instructions.
    """

    reason = "tip_missing"


class TipTooSmall(TidemarkError):
    """The transfer to a valid tip address is below the minimum. Transfers are not added up.

    Raise the transfer to `data.required` lamports.
    """

    reason = "tip_too_small"


class TlsRequired(TidemarkError):
    """The proxy in front reports that the key was sent without TLS: anyone on the way could
    read it.

    Use an `https` or `wss` URL, and replace the key that was sent without TLS.
    """

    reason = "tls_required"


class TooManyAccounts(TidemarkError):
    """The call names too many accounts.

    Split the list over several calls.
    """

    reason = "too_many_accounts"


class TooManyAddresses(TidemarkError):
    """The call requests more accounts than the transaction has, as on the standard node.

    Name no more accounts than the transaction has.
    """

    reason = "too_many_addresses"


class TooManyAtOnce(TidemarkError):
    """Too many expensive calls of this key, or of this address without a key, already wait; or
    so many requests without a key wait that another would take more than 10 s.

    Wait for some of your calls to finish before you send more.
    """

    reason = "too_many_at_once"


class TooManyBundles(TidemarkError):
    """The call names too many bundles.

    Split the list over several calls.
    """

    reason = "too_many_bundles"


class TooManyConnections(TidemarkError):
    """The client's address, or all clients together, have reached the maximum of connections.

    Close connections, or use one for many requests, and try again.
    """

    reason = "too_many_connections"


class TooManyFates(TidemarkError):
    """The call names too many signatures.

    Split the list over several calls, or use the stream.
    """

    reason = "too_many_fates"


class TooManyJobs(TidemarkError):
    """The key has as many open jobs as its tier allows: wait for one, or cancel it.

    Wait for a job to end, or cancel one.
    """

    reason = "too_many_jobs"


class TooManyPrograms(TidemarkError):
    """With `idl`, the accounts belong to too many programs.

    Split the list over several calls, or leave `idl` out.
    """

    reason = "too_many_programs"


class TooManySignatures(TidemarkError):
    """The call names too many signatures.

    Split the list over several calls.
    """

    reason = "too_many_signatures"


class TooManySimulations(TidemarkError):
    """The job requests more simulations than the key's tier allows.

    Split the job: `data` has the maximum of your tier.
    """

    reason = "too_many_simulations"


class TooManySnapshots(TidemarkError):
    """The call requests more accounts of one transaction than it can have.

    Name no more accounts than the transaction has.
    """

    reason = "too_many_snapshots"


class TooManySockets(TidemarkError):
    """The key, or the address without a key, has as many open WebSockets as its tier allows.

    Close a WebSocket, or use one for several subscriptions.
    """

    reason = "too_many_sockets"


class TooManyStreams(TidemarkError):
    """Too many streams of fates are open, of the key or in total.

    Close a stream; one carries the fates of all your submissions.
    """

    reason = "too_many_streams"


class TransactionIndexOutOfRange(TidemarkError):
    """The slot's block has no transaction with this index.

    Use an index below the block's number of transactions.
    """

    reason = "transaction_index_out_of_range"


class TransactionTooLarge(TidemarkError):
    """The transaction is larger than its version allows. `found` and `maximum` are in bytes.

    Make it smaller, or use version 1, which may have 4,096 bytes.
    """

    reason = "transaction_too_large"


class TransactionUndecodable(TidemarkError):
    """The text is not a transaction; `at` is its place in the params.

    Check `encoding`: the default is base58.
    """

    reason = "transaction_undecodable"


class TtlTooLong(TidemarkError):
    """The TTL is above that of the longest TTL class.

    Request at most `max_ttl_seconds`; tipinfo lists the classes.
    """

    reason = "ttl_too_long"


class TwoStarts(TidemarkError):
    """The page begins at both a cursor and a transaction.

    Give a cursor or a transaction to begin at, not both.
    """

    reason = "two_starts"


class Unauthorized(TidemarkError):
    """/metrics requires the token of METRICS_TOKEN, not an API key.

    Send the token of METRICS_TOKEN as `Authorization: Bearer …`.
    """

    reason = "unauthorized"


class Unavailable(TidemarkError):
    """The TTL class has no open batch. Normal for moments; an alarm opens if it lasts.

    Wait for `Retry-After` seconds, or use another class.
    """

    reason = "unavailable"


class UnknownSignature(TidemarkError):
    """No archived slot has a transaction with this signature.

    Check the signature; the transaction must have landed and be archived.
    """

    reason = "unknown_signature"


class UnknownUpstream(TidemarkError):
    """The caller's tier has no upstream with this name.

    Choose from `data.selectable`.
    """

    reason = "unknown_upstream"


class UnsupportedTransactionVersion(TidemarkError):
    """The response contains a versioned transaction, and the caller did not say that it can
    read one.

    Set `maxSupportedTransactionVersion` to 1.
    """

    reason = "unsupported_transaction_version"


class UnsupportedVersion(TidemarkError):
    """The network does not support transactions of this version yet.

    Sign it as a transaction of version 1 or older.
    """

    reason = "unsupported_version"


class UpstreamAnswerTooLarge(TidemarkError):
    """The upstream node's response is too large to pass on: request less.

    Request less: use a filter, a `dataSlice` or a shorter range.
    """

    reason = "upstream_answer_too_large"


class UpstreamAnswerUnreadable(TidemarkError):
    """The upstream node's response is not JSON-RPC; `found` is its HTTP status.

    Try again; if it persists, report it to the operator.
    """

    reason = "upstream_answer_unreadable"


class UpstreamBusy(TidemarkError):
    """Too many calls already wait for the upstream node; nothing was passed on.

    Send the same call again in a moment: nothing was passed on.
    """

    reason = "upstream_busy"


class UpstreamTimeout(TidemarkError):
    """The upstream node took too long. It may or may not have done what the call asks.

    Before you send a transaction again, check whether it was sent.
    """

    reason = "upstream_timeout"


class UpstreamUnreachable(TidemarkError):
    """The upstream node does not listen, or dropped the connection.

    Try again in a moment; `/historical` and `/rewind` need no node.
    """

    reason = "upstream_unreachable"


class UpstreamsUnread(TidemarkError):
    """The selectable upstreams cannot be read while the database is down.

    Send it again in a moment, or without choosing upstreams.
    """

    reason = "upstreams_unread"


class VersionChanged(TidemarkError):
    """It was changed since it was read: `If-Match` names another version.

    Read it again, and send the change with the new `ETag` in `If-Match`.
    """

    reason = "version_changed"


class VersionRequired(TidemarkError):
    """A change needs the header `If-Match`, so that it does not undo another one.

    Send the `ETag` of a GET in the header `If-Match`.
    """

    reason = "version_required"


class WritesIncomplete(TidemarkError):
    """The slot has only the last write of each account, and the account was written after the
    position: its state there is unknown.

    Use the end of the slot as the position, or another slot.
    """

    reason = "writes_incomplete"


BY_REASON: dict[str, type[TidemarkError]] = {
    AccountsTooLarge.reason: AccountsTooLarge,
    ActionRefused.reason: ActionRefused,
    AddressNotAllowed.reason: AddressNotAllowed,
    AnswerTooLarge.reason: AnswerTooLarge,
    ArchiveDamaged.reason: ArchiveDamaged,
    ArchiveStoreUnavailable.reason: ArchiveStoreUnavailable,
    BadCursor.reason: BadCursor,
    BadJob.reason: BadJob,
    BadLimit.reason: BadLimit,
    BadOverride.reason: BadOverride,
    BadPaginationToken.reason: BadPaginationToken,
    BadPosition.reason: BadPosition,
    BadQuery.reason: BadQuery,
    BadTipQuery.reason: BadTipQuery,
    Base58NotSupported.reason: Base58NotSupported,
    Base58Unsupported.reason: Base58Unsupported,
    BatchAboveLimit.reason: BatchAboveLimit,
    BlockCleanedUp.reason: BlockCleanedUp,
    BlockNotAvailable.reason: BlockNotAvailable,
    BlockhashExpired.reason: BlockhashExpired,
    BlockhashNotFound.reason: BlockhashNotFound,
    BodyMalformed.reason: BodyMalformed,
    BodyTooLarge.reason: BodyTooLarge,
    BodyUnreadable.reason: BodyUnreadable,
    BundleDuplicates.reason: BundleDuplicates,
    BundleEmpty.reason: BundleEmpty,
    BundleIdMalformed.reason: BundleIdMalformed,
    BundleNonceTwice.reason: BundleNonceTwice,
    BundleOnlyNotServed.reason: BundleOnlyNotServed,
    BundleSimulationFailed.reason: BundleSimulationFailed,
    BundleTooLarge.reason: BundleTooLarge,
    BundleUnknown.reason: BundleUnknown,
    BundlesOff.reason: BundlesOff,
    ChainNotFollowed.reason: ChainNotFollowed,
    ClientReferenceTaken.reason: ClientReferenceTaken,
    CommitmentUnsupported.reason: CommitmentUnsupported,
    ConfigsMismatch.reason: ConfigsMismatch,
    ContentTypeUnsupported.reason: ContentTypeUnsupported,
    CountOutOfRange.reason: CountOutOfRange,
    DataTooLongForBase58.reason: DataTooLongForBase58,
    DatabaseBusy.reason: DatabaseBusy,
    DatabaseFull.reason: DatabaseFull,
    DatabaseReadOnly.reason: DatabaseReadOnly,
    DatabaseUnavailable.reason: DatabaseUnavailable,
    DiskFull.reason: DiskFull,
    EmptyRange.reason: EmptyRange,
    EncodingRequired.reason: EncodingRequired,
    EngineFault.reason: EngineFault,
    FatesUnavailable.reason: FatesUnavailable,
    FilterTransactionNotFound.reason: FilterTransactionNotFound,
    FilterUnsupported.reason: FilterUnsupported,
    FilteredAccount.reason: FilteredAccount,
    ForwardedAddressUnreadable.reason: ForwardedAddressUnreadable,
    FromSignatureUnknown.reason: FromSignatureUnknown,
    HandshakeInvalid.reason: HandshakeInvalid,
    HandshakeMalformed.reason: HandshakeMalformed,
    HeadMoved.reason: HeadMoved,
    HeadTooLarge.reason: HeadTooLarge,
    HostRequired.reason: HostRequired,
    HostUnknown.reason: HostUnknown,
    HttpMethodNotAllowed.reason: HttpMethodNotAllowed,
    IdempotencyKeyReused.reason: IdempotencyKeyReused,
    InternalError.reason: InternalError,
    InvalidFields.reason: InvalidFields,
    InvalidParams.reason: InvalidParams,
    InvalidRequest.reason: InvalidRequest,
    JobNotFound.reason: JobNotFound,
    KeyExpired.reason: KeyExpired,
    KeyMalformed.reason: KeyMalformed,
    KeyRequired.reason: KeyRequired,
    KeyRevoked.reason: KeyRevoked,
    KeySuspended.reason: KeySuspended,
    KeyUnknown.reason: KeyUnknown,
    LandingBehind.reason: LandingBehind,
    LandingStalled.reason: LandingStalled,
    LedgerEmpty.reason: LedgerEmpty,
    LimitInvalid.reason: LimitInvalid,
    MethodNotAllowed.reason: MethodNotAllowed,
    MethodNotFound.reason: MethodNotFound,
    MinContextSlotNotReached.reason: MinContextSlotNotReached,
    MonthlyBytesReached.reason: MonthlyBytesReached,
    MonthlyQuotaReached.reason: MonthlyQuotaReached,
    NoAccounts.reason: NoAccounts,
    NoUpstreamChosen.reason: NoUpstreamChosen,
    NoUpstreamNode.reason: NoUpstreamNode,
    NodeBehind.reason: NodeBehind,
    NodeError.reason: NodeError,
    NonceUnusable.reason: NonceUnusable,
    NotFound.reason: NotFound,
    OriginNotAllowed.reason: OriginNotAllowed,
    Overloaded.reason: Overloaded,
    OverrideWithoutEffect.reason: OverrideWithoutEffect,
    ParseError.reason: ParseError,
    PathNotServed.reason: PathNotServed,
    PreStateTooNew.reason: PreStateTooNew,
    QueueFull.reason: QueueFull,
    QueueUnavailable.reason: QueueUnavailable,
    QuotaExceeded.reason: QuotaExceeded,
    RangeHasGaps.reason: RangeHasGaps,
    RangeTooLarge.reason: RangeTooLarge,
    RateLimited.reason: RateLimited,
    RedisFull.reason: RedisFull,
    RedisUnavailable.reason: RedisUnavailable,
    RemoteHistoryBusy.reason: RemoteHistoryBusy,
    RemoteHistoryDamaged.reason: RemoteHistoryDamaged,
    RemoteHistoryUnavailable.reason: RemoteHistoryUnavailable,
    RequestFailed.reason: RequestFailed,
    RequestMalformed.reason: RequestMalformed,
    RequestTimedOut.reason: RequestTimedOut,
    ResultsExpired.reason: ResultsExpired,
    ScopeMissing.reason: ScopeMissing,
    SealedDataDamaged.reason: SealedDataDamaged,
    SignatureInvalid.reason: SignatureInvalid,
    SignatureMissing.reason: SignatureMissing,
    SignatureUnknown.reason: SignatureUnknown,
    SimulationLost.reason: SimulationLost,
    SimulationTimeout.reason: SimulationTimeout,
    SkipPreflightRequired.reason: SkipPreflightRequired,
    SliceOfParsedData.reason: SliceOfParsedData,
    SlotInArchiveGap.reason: SlotInArchiveGap,
    SlotMissing.reason: SlotMissing,
    SlotSkipped.reason: SlotSkipped,
    SlotTooNew.reason: SlotTooNew,
    SlotTooOld.reason: SlotTooOld,
    SlotUnproven.reason: SlotUnproven,
    SnapshotsTooLarge.reason: SnapshotsTooLarge,
    SocketsUnavailable.reason: SocketsUnavailable,
    StateNotRecorded.reason: StateNotRecorded,
    StreamUnavailable.reason: StreamUnavailable,
    SubscriptionLimitReached.reason: SubscriptionLimitReached,
    SubscriptionUnknown.reason: SubscriptionUnknown,
    TierTooLow.reason: TierTooLow,
    TipAddressExpired.reason: TipAddressExpired,
    TipAddressUnknown.reason: TipAddressUnknown,
    TipAddressesUnread.reason: TipAddressesUnread,
    TipBehindLookupTable.reason: TipBehindLookupTable,
    TipMissing.reason: TipMissing,
    TipTooSmall.reason: TipTooSmall,
    TlsRequired.reason: TlsRequired,
    TooManyAccounts.reason: TooManyAccounts,
    TooManyAddresses.reason: TooManyAddresses,
    TooManyAtOnce.reason: TooManyAtOnce,
    TooManyBundles.reason: TooManyBundles,
    TooManyConnections.reason: TooManyConnections,
    TooManyFates.reason: TooManyFates,
    TooManyJobs.reason: TooManyJobs,
    TooManyPrograms.reason: TooManyPrograms,
    TooManySignatures.reason: TooManySignatures,
    TooManySimulations.reason: TooManySimulations,
    TooManySnapshots.reason: TooManySnapshots,
    TooManySockets.reason: TooManySockets,
    TooManyStreams.reason: TooManyStreams,
    TransactionIndexOutOfRange.reason: TransactionIndexOutOfRange,
    TransactionTooLarge.reason: TransactionTooLarge,
    TransactionUndecodable.reason: TransactionUndecodable,
    TtlTooLong.reason: TtlTooLong,
    TwoStarts.reason: TwoStarts,
    Unauthorized.reason: Unauthorized,
    Unavailable.reason: Unavailable,
    UnknownSignature.reason: UnknownSignature,
    UnknownUpstream.reason: UnknownUpstream,
    UnsupportedTransactionVersion.reason: UnsupportedTransactionVersion,
    UnsupportedVersion.reason: UnsupportedVersion,
    UpstreamAnswerTooLarge.reason: UpstreamAnswerTooLarge,
    UpstreamAnswerUnreadable.reason: UpstreamAnswerUnreadable,
    UpstreamBusy.reason: UpstreamBusy,
    UpstreamTimeout.reason: UpstreamTimeout,
    UpstreamUnreachable.reason: UpstreamUnreachable,
    UpstreamsUnread.reason: UpstreamsUnread,
    VersionChanged.reason: VersionChanged,
    VersionRequired.reason: VersionRequired,
    WritesIncomplete.reason: WritesIncomplete,
}
