// Generated: a class for each reason of the service's errors.
import { TidemarkError } from "../failures.js";

/** The accounts have more data than one response may have. Request fewer accounts, or a part of each
 * with `dataSlice`. */
export class AccountsTooLarge extends TidemarkError {}

/** What is stored does not allow it; the message says why. Read the current state, and follow the
 * message. */
export class ActionRefused extends TidemarkError {}

/** The caller's address is outside the key's CIDR list. Call from an address on the key's list, or
 * change the list. */
export class AddressNotAllowed extends TidemarkError {}

/** The result is larger than one response, or all responses to a key together, may be. Request less
 * at once: a smaller batch, a shorter range, a lower `limit`. */
export class AnswerTooLarge extends TidemarkError {}

/** Some sealed data failed its checksum. Damaged data is never served. Use another position; the
 * operator can restore this slot. */
export class ArchiveDamaged extends TidemarkError {}

/** These slots are in cold storage, which cannot be read at the moment. A retry may succeed. Other
 * slots are not affected. Try again in a moment; other slots are not affected. */
export class ArchiveStoreUnavailable extends TidemarkError {}

/** The cursor does not come from this method. Pass the `next` of the last page unchanged, or start
 * without a cursor. */
export class BadCursor extends TidemarkError {}

/** The job is incomplete or ambiguous; the message says why. Give `transactions` with `positions` or
 * a `slotRange`, or `signatures`. */
export class BadJob extends TidemarkError {}

/** The limit is 0. Request at least one entry. */
export class BadLimit extends TidemarkError {}

/** No account can have the state in the override; the message names it and says why. Fix the
 * override that the message names. */
export class BadOverride extends TidemarkError {}

/** The token does not come from this method, or belongs to other filters. Use the token with the
 * same filters as before, or start without one. */
export class BadPaginationToken extends TidemarkError {}

/** The params name no position, or more than one. Name one position: `slot`, optionally with
 * `transactionIndex`, or `anchor`. */
export class BadPosition extends TidemarkError {}

/** A part of the path or of the query is invalid. Fix the part of the URL that the message names. */
export class BadQuery extends TidemarkError {}

/** `ttl` or `count` is not a positive integer, or the address in the path is malformed. Use positive
 * integers for `ttl` and `count`, and a base58 address. */
export class BadTipQuery extends TidemarkError {}

/** Simulations do not return accounts in base58, as on the standard node. Use `base64`,
 * `base64+zstd` or `jsonParsed`. */
export class Base58NotSupported extends TidemarkError {}

/** The caller accepts version 1 transactions, which are too long for base58. Use base64:
 * transactions of version 1 are too long for base58. */
export class Base58Unsupported extends TidemarkError {}

/** A batch without a key has more calls than the limit ever allows at once: split it. Split the
 * batch. */
export class BatchAboveLimit extends TidemarkError {}

/** The slot is below the first stored block. Use a slot from `data.firstAvailableBlock` on. */
export class BlockCleanedUp extends TidemarkError {}

/** The slot is above the newest stored block. Wait until the ledger reaches the slot. */
export class BlockNotAvailable extends TidemarkError {}

/** The blockhash is too old: no block above `required` may use it. Fetch a new blockhash, and sign
 * the transaction again. */
export class BlockhashExpired extends TidemarkError {}

/** No recent block has the transaction's blockhash, so it can never land. If it advances a nonce too
 * late in the transaction, the message says so. Fetch a blockhash of this chain, and sign the
 * transaction again. */
export class BlockhashNotFound extends TidemarkError {}

/** The body is not JSON. Send JSON, with `Content-Type: application/json`. */
export class BodyMalformed extends TidemarkError {}

/** The body is above the maximum. If the path accepts larger ones with another scope, `largerScope`
 * is that scope, and `largerMaximum` its maximum. Send a smaller body: `data.maximum` is the
 * maximum in bytes. */
export class BodyTooLarge extends TidemarkError {}

/** The body does not have its announced length, or the length is not a number. Check the header
 * `Content-Length`; the connection may have been cut. */
export class BodyUnreadable extends TidemarkError {}

/** The bundle contains a transaction twice, so it cannot land. Include each transaction only once. */
export class BundleDuplicates extends TidemarkError {}

/** The bundle has no transactions. Put one to four transactions into the bundle. */
export class BundleEmpty extends TidemarkError {}

/** The value is neither a bundle's id nor a list of signatures. Use the id that sendBundle returned:
 * 64 hex digits. */
export class BundleIdMalformed extends TidemarkError {}

/** Two transactions of the bundle use the same durable nonce, so it cannot land: a nonce advances
 * only once in a block. Use another nonce account, or a recent blockhash, for one of them. */
export class BundleNonceTwice extends TidemarkError {}

/** `bundleOnly` is not supported: send the transaction as a bundle of one. Send the transaction as a
 * bundle of one, with sendBundle. */
export class BundleOnlyNotServed extends TidemarkError {}

/** The bundle fails on the newest state: `err` is the error of the transaction at
 * `transactionIndex`. If the transaction requests too few resources to succeed anywhere, the
 * message says so. Check `data.err` and `data.logs`, and fix the transaction. */
export class BundleSimulationFailed extends TidemarkError {}

/** The bundle has too many transactions. Split it: a bundle has at most four transactions. */
export class BundleTooLarge extends TidemarkError {}

/** The caller did not submit such a bundle here, or its fate is not kept any more. Check the id, and
 * use the key that submitted it. */
export class BundleUnknown extends TidemarkError {}

/** No block engine is enabled for the caller's tier. Send the transactions with sendTransaction. */
export class BundlesOff extends TidemarkError {}

/** No data of the chain arrives: the service follows no stream, or its follower is down. Try again
 * in a moment; if it persists, ask the operator. */
export class ChainNotFollowed extends TidemarkError {}

/** The key has a different job with this `clientReference`. Use another `clientReference`, or submit
 * the same job. */
export class ClientReferenceTaken extends TidemarkError {}

/** The ledger has finalized blocks only: it does not support a commitment below `confirmed`. Use
 * `confirmed` or `finalized`, or call `/` for newer state. */
export class CommitmentUnsupported extends TidemarkError {}

/** The list of accounts to return is not as long as the bundle. Give one entry for each transaction
 * of the bundle, or null for none. */
export class ConfigsMismatch extends TidemarkError {}

/** The body is not declared as plain JSON. Send `Content-Type: application/json`, and an unencoded
 * body. */
export class ContentTypeUnsupported extends TidemarkError {}

/** The count is above the maximum of one fetch. Request fewer addresses: tipinfo has the maximum. */
export class CountOutOfRange extends TidemarkError {}

/** The account has more data than base58 supports. Use `base64`, or a short `dataSlice`. */
export class DataTooLongForBase58 extends TidemarkError {}

/** Another request is changing the same data, and did not finish in time (`LOCK_TIMEOUT_MS`). Wait
 * for `Retry-After` seconds, then send the same request again. */
export class DatabaseBusy extends TidemarkError {}

/** The database's disk is full: nothing can be stored until the operator frees some space. Wait for
 * `Retry-After` seconds; the operator has to free the disk. */
export class DatabaseFull extends TidemarkError {}

/** The database rejects writes: it is a standby, or read-only. Wait for `Retry-After` seconds; the
 * operator has to make it writable. */
export class DatabaseReadOnly extends TidemarkError {}

/** The database does not respond: stored data cannot be read now. Wait for `Retry-After` seconds,
 * then send the same request again. */
export class DatabaseUnavailable extends TidemarkError {}

/** The service's disk is full: nothing can be accepted or stored until the operator frees some
 * space. Wait for `Retry-After` seconds; the operator has to free the disk. */
export class DiskFull extends TidemarkError {}

/** The range of slots ends before it begins. Use a range that ends at or after its start. */
export class EmptyRange extends TidemarkError {}

/** The call requests data without an `encoding`. Set `encoding`: base64, base64+zstd, or base58 for
 * short data. */
export class EncodingRequired extends TidemarkError {}

/** The simulation engine could not run the transaction: its outcome is unknown. Try again; if it
 * persists, send the operator the `X-Request-Id`. */
export class EngineFault extends TidemarkError {}

/** Redis, which has the newest submissions, does not respond: the fate may exist, but cannot be read
 * now. Wait for `Retry-After` seconds, and try again. */
export class FatesUnavailable extends TidemarkError {}

/** The transaction that `before` or `until` names is not in the ledger. Use a signature that is in
 * the ledger, or remove the filter. */
export class FilterTransactionNotFound extends TidemarkError {}

/** The standard node supports this value, but this method does not. Remove the value that `data`
 * names. */
export class FilterUnsupported extends TidemarkError {}

/** The simulation touches accounts that the archive deliberately does not follow. Provide these
 * accounts in `overrides`, or do without them. */
export class FilteredAccount extends TidemarkError {}

/** A trusted proxy names no readable client address in `X-Forwarded-For`. Without it, the proxy
 * would count as the client: its address decides about limits and allowed networks. Ask the
 * operator: the proxy sends `data.found` as your address. */
export class ForwardedAddressUnreadable extends TidemarkError {}

/** No stored transaction has the `fromSignature`. Use a stored signature, or `fromSlot`. */
export class FromSignatureUnknown extends TidemarkError {}

/** The WebSocket request has a version other than 13. Use a WebSocket client of version 13, and no
 * body. */
export class HandshakeInvalid extends TidemarkError {}

/** The WebSocket request does not have everything that the protocol requires (RFC 6455, 4.2.1):
 * HTTP/1.1, `Connection: Upgrade`, and a Sec-WebSocket-Key of 16 bytes in base64. Use a WebSocket
 * client; a proxy must forward it as HTTP/1.1. */
export class HandshakeMalformed extends TidemarkError {}

/** The chain advanced during every read: no two responses were from the same slot. Try again: all
 * reads must be from the same slot. */
export class HeadMoved extends TidemarkError {}

/** The request line and headers are too many or too long. Send fewer and shorter headers, and a
 * shorter URL. */
export class HeadTooLarge extends TidemarkError {}

/** The request has no valid Host header, or more than one. Send one `Host` header with the host name
 * of the URL. */
export class HostRequired extends TidemarkError {}

/** This installation does not have the host in the Host header. Check the host name in the URL. */
export class HostUnknown extends TidemarkError {}

/** The operation does not support this HTTP method. Use the method that the header `Allow` names. */
export class HttpMethodNotAllowed extends TidemarkError {}

/** Another request had this `Idempotency-Key` in the last 24 hours. Use a new `Idempotency-Key`; the
 * same one only to repeat a request. */
export class IdempotencyKeyReused extends TidemarkError {}

/** An unexpected error. The log has its traceback; the response has no details. Try again; if it
 * persists, send the operator the `X-Request-Id`. */
export class InternalError extends TidemarkError {}

/** Members of the body, parameters or headers that are not what they should be: `fields` has the
 * problems of each. Fix the fields that `fields` names. */
export class InvalidFields extends TidemarkError {}

/** The params do not fit the method; the texts are the standard node's. Fix the params: `data.at`
 * has the place, the message what was expected. */
export class InvalidParams extends TidemarkError {}

/** The body is JSON but not a JSON-RPC 2.0 call: `problem` says what was expected and found. Check
 * `id`, `jsonrpc` and `method`: the message says what is wrong. */
export class InvalidRequest extends TidemarkError {}

/** The key has no job with this id. Jobs are deleted some weeks after their results. Check the id,
 * and use the key that submitted the job. */
export class JobNotFound extends TidemarkError {}

/** The key has expired. After a rotation, use the new key. Use its successor, or ask for a new one. */
export class KeyExpired extends TidemarkError {}

/** The text is not an API key of this service: it has a typo, or belongs to another service. Check
 * that the key was copied completely: an API key begins with `tmk_`. */
export class KeyMalformed extends TidemarkError {}

/** The operation requires an API key, and the request has none. Send an API key in the header
 * `Authorization`. */
export class KeyRequired extends TidemarkError {}

/** The key was permanently revoked. Use another key: a revoked key cannot be restored. */
export class KeyRevoked extends TidemarkError {}

/** The key is suspended, until an administrator resumes it. Ask the operator, or the owner of the
 * key. */
export class KeySuspended extends TidemarkError {}

/** No key with this text was ever issued, or it was deleted. Check that the key belongs to this
 * service, or ask for a new one. */
export class KeyUnknown extends TidemarkError {}

/** The service would send the transaction too late, because earlier ones are not sent yet, or
 * because it has waited for the web process itself. Nothing was queued: send the same transaction
 * again in `retryAfterSeconds`. `found` is the age of the oldest waiting submission and `maximum`
 * the limit, in milliseconds; `unsent` is the number of waiting ones. Wait for `Retry-After`
 * seconds and send it again: nothing was queued. */
export class LandingBehind extends TidemarkError {}

/** The submission is accepted, but no lander is running. It is kept, and sent once a lander runs.
 * Follow the fate: the submission is kept, and sent once a lander runs. */
export class LandingStalled extends TidemarkError {}

/** No block is stored yet. Wait for the first block, or import blocks. */
export class LedgerEmpty extends TidemarkError {}

/** The limit is outside its range. Use a limit in the range that the message names. */
export class LimitInvalid extends TidemarkError {}

/** The key has a list of methods, and this method is not on it. Use a key whose list has the method:
 * whoami returns the list. */
export class MethodNotAllowed extends TidemarkError {}

/** The path does not serve this method. `servedAt` names the paths that do, if any. Use one of the
 * paths in `data.servedAt`. */
export class MethodNotFound extends TidemarkError {}

/** The ledger's newest slot is below the caller's `minContextSlot`. Wait until the ledger reaches
 * the slot. */
export class MinContextSlotNotReached extends TidemarkError {}

/** The key has reached its limit of notification bytes of this calendar month (UTC). Wait for the
 * next month (UTC), or ask for a higher tier. */
export class MonthlyBytesReached extends TidemarkError {}

/** The key has used up its calls of this calendar month (UTC). The limit applies within about a
 * minute. Wait for the next month (UTC), or ask for a higher tier. */
export class MonthlyQuotaReached extends TidemarkError {}

/** The list of accounts is empty. Name at least one account. */
export class NoAccounts extends TidemarkError {}

/** Only `bundle` is selected, but block engines accept only bundles, so the transaction has no
 * upstream. Choose another upstream besides `bundle`, or send a bundle. */
export class NoUpstreamChosen extends TidemarkError {}

/** This installation has no node to pass the call on to. Ask the operator to configure a node. */
export class NoUpstreamNode extends TidemarkError {}

/** The node's own health check fails: it is `numSlotsBehind` slots behind the chain, or null if
 * unknown. Wait; reads that do not need the newest state can go to `/historical`. */
export class NodeBehind extends TidemarkError {}

/** The upstream node responded with this error: code, message and data are the node's own. Handle
 * the node's own code and message, as with any Solana node. */
export class NodeError extends TidemarkError {}

/** The finalized state of the nonce account rules the transaction out: it can never land. `cause` is
 * `nonce_moved` (another hash), `nonce_closed`, `nonce_invalid` (not a nonce) or `nonce_authority`
 * (another authority); `movedInSlot` and `movedBy` name the change, if known. Read the nonce
 * account again, sign with its hash and its authority, and send that. */
export class NonceUnusable extends TidemarkError {}

/** No such thing, or it is not the customer's whose token this is. Check the id; a customer's token
 * finds only the customer's own objects. */
export class NotFound extends TidemarkError {}

/** The key has a list of web origins, and the request is from no page of them. Call from a page of
 * an origin on the key's list, or change the list. */
export class OriginNotAllowed extends TidemarkError {}

/** Too many requests wait, or the process is stopping. Wait for `Retry-After` seconds and send the
 * same request again. */
export class Overloaded extends TidemarkError {}

/** An override, or an entry of `overrideLoads`, has no effect on the simulation; the message names
 * it and says why. Remove the override that the message names. */
export class OverrideWithoutEffect extends TidemarkError {}

/** The body is not JSON. Check the body: it is not JSON. */
export class ParseError extends TidemarkError {}

/** This host does not serve this path. Check the path and the host: not every host serves every
 * path. */
export class PathNotServed extends TidemarkError {}

/** `preStateSlot` is above the slot in which the transaction is to run. Use a `preStateSlot` at or
 * below the position's slot. */
export class PreStateTooNew extends TidemarkError {}

/** The queue of unsent transactions is full. Wait a moment, and send the same transaction again: it
 * was not queued. */
export class QueueFull extends TidemarkError {}

/** Redis did not confirm the transaction: it may be queued (`mayBeQueued`). Send it again; it is not
 * queued twice. If nothing was queued, the error is the outage instead: `disk_full`, `redis_full`
 * or `redis_unavailable`, with `mayBeQueued` false. Send the same request again: it is not queued
 * twice. */
export class QueueUnavailable extends TidemarkError {}

/** The key's bucket of tip fetches is empty, or the cap of the UTC day is reached. Wait for
 * `Retry-After` seconds; one fetch can return several addresses. */
export class QuotaExceeded extends TidemarkError {}

/** Slots of the range are missing in the ledger, and the call requested an error in that case.
 * `gaps` lists at most 100 runs of them, lowest first; `truncated` is true if there are more.
 * Request the ranges outside `data.gaps`; another source may have the rest. */
export class RangeHasGaps extends TidemarkError {}

/** The range, or the count, of slots is above the maximum. Split the range over several calls. */
export class RangeTooLarge extends TidemarkError {}

/** The limit of the key, or of the address of a caller without a key, is reached. Wait for
 * `Retry-After` seconds, or use a key of a higher tier. */
export class RateLimited extends TidemarkError {}

/** Redis rejects writes: its disk or memory is full, until the operator frees some space. Wait for
 * `Retry-After` seconds; the operator has to free the disk or memory. */
export class RedisFull extends TidemarkError {}

/** Redis, which has the queues, does not respond. Wait for `Retry-After` seconds, then send the same
 * request again. */
export class RedisUnavailable extends TidemarkError {}

/** Too many calls, of this caller or of all, already wait for the archive of remote history. Wait
 * for some of your calls to finish, and try again. */
export class RemoteHistoryBusy extends TidemarkError {}

/** The archive's data does not match its hashes and indexes, the signatures, or this chain. Use
 * another slot; the operator finds the file in the log. */
export class RemoteHistoryDamaged extends TidemarkError {}

/** The archive of remote history cannot be read at the moment. Try again in a moment; stored blocks
 * are not affected. */
export class RemoteHistoryUnavailable extends TidemarkError {}

/** An internal error: the request failed with an uncaught exception, which is logged. Try again; if
 * it persists, send the operator the `X-Request-Id`. */
export class RequestFailed extends TidemarkError {}

/** The request is not HTTP/1.1. Send HTTP/1.1: request line, headers, body of the announced length. */
export class RequestMalformed extends TidemarkError {}

/** The request was not complete in time. Send the request without pauses; check your connection. */
export class RequestTimedOut extends TidemarkError {}

/** The job's results were deleted: submit it again. Submit the job again, and read its results
 * sooner. */
export class ResultsExpired extends TidemarkError {}

/** The key does not have the operation's scope. Use a key with the scope that `data.required` names. */
export class ScopeMissing extends TidemarkError {}

/** Some sealed data failed its checksum, or is gone. The response and the log name it; the operator
 * can fetch the slots again, or restore them. Use another slot; the operator can fetch or restore
 * this one. */
export class SealedDataDamaged extends TidemarkError {}

/** A signature does not verify. `pubkey` is its key. Sign again: the message was changed, or signed
 * with another key. */
export class SignatureInvalid extends TidemarkError {}

/** A required signature is missing (all zeros). `pubkey` is its key. Also sign with the key that
 * `data.pubkey` names. */
export class SignatureMissing extends TidemarkError {}

/** The caller did not submit a transaction with this signature here, or its fate is not kept any
 * more. Check the signature, and use the key that submitted it. */
export class SignatureUnknown extends TidemarkError {}

/** The simulation crashed its worker process every time. Simulate it alone; if that fails too,
 * report it to the operator. */
export class SimulationLost extends TidemarkError {}

/** The simulation took longer than the limit. Try again in a moment: a busy machine takes longer. */
export class SimulationTimeout extends TidemarkError {}

/** `skipPreflight` must be true: the service does not simulate before sending. Set `skipPreflight`
 * to true; simulateTransaction simulates. */
export class SkipPreflightRequired extends TidemarkError {}

/** The call requests a part of the data and all of it parsed: choose one. Use `dataSlice` with
 * base64, or `jsonParsed` without it. */
export class SliceOfParsedData extends TidemarkError {}

/** The state at the slot is unknown. `tolerateGaps` returns the state from before the gap. Set
 * `tolerateGaps` to use the state from before the gap. */
export class SlotInArchiveGap extends TidemarkError {}

/** The ledger has no block for the slot, and no proof that the slot was skipped. Try again later:
 * the service fetches missing blocks when a source has them. */
export class SlotMissing extends TidemarkError {}

/** The leader produced no block: the parent link of a later block proves it. Use another slot: the
 * leader of this one produced no block. */
export class SlotSkipped extends TidemarkError {}

/** The slot is above the newest archived one: call a live node. `latestSlot` is null while nothing
 * is archived. Use a live node, or wait: `data.latestSlot` is the newest one. */
export class SlotTooNew extends TidemarkError {}

/** The slot is below the archive's window. Use a later slot: getRewindCoverage returns where the
 * archive begins. */
export class SlotTooOld extends TidemarkError {}

/** The slot's bank is unknown: `data.why` is `no_block`, `no_baseline`, `gap_before`,
 * `not_computed`, `signature_count_unknown`, `snapshot_differs` or `another_fork`. See `data.why`;
 * getRewindCoverage has the proven ranges in `proof`. */
export class SlotUnproven extends TidemarkError {}

/** The requested accounts have more data than one response may have. Request fewer accounts before
 * and after the transactions. */
export class SnapshotsTooLarge extends TidemarkError {}

/** WebSockets cannot be opened now: Redis or the database is down. Wait for `Retry-After` seconds,
 * and connect again. */
export class SocketsUnavailable extends TidemarkError {}

/** The archive has no record, at or before the position, of an account that the simulation loads,
 * and cannot know whether it existed. Provide the account in `overrides`. */
export class StateNotRecorded extends TidemarkError {}

/** The database or Redis is down: fates cannot be read. Wait for `Retry-After` seconds, and connect
 * again. */
export class StreamUnavailable extends TidemarkError {}

/** The connection has as many subscriptions as the tier allows. End a subscription, or open another
 * WebSocket. */
export class SubscriptionLimitReached extends TidemarkError {}

/** The connection has no subscription with this number. Use the number that the subscription
 * returned, once. */
export class SubscriptionUnknown extends TidemarkError {}

/** The host belongs to a tier above the key's. Use a host of your key's tier: whoami names them in
 * `hosts`. */
export class TierTooLow extends TidemarkError {}

/** The tip goes to an address that was valid until `expiresAt`. Fetch a new address: GET
 * `/priority/fetchtipaddress`. */
export class TipAddressExpired extends TidemarkError {}

/** Transfers are large enough, but go to addresses that were never issued as tip addresses;
 * `unknownAddresses` lists all of them. Fetch an address: GET `/priority/fetchtipaddress`. */
export class TipAddressUnknown extends TidemarkError {}

/** The tip address cannot be checked while the database is down. Send the same transaction again in
 * a moment: it was not queued. */
export class TipAddressesUnread extends TidemarkError {}

/** A sufficient transfer goes to an address in a lookup table: tip one of the message's own account
 * keys. Remove the tip address from your lookup tables. */
export class TipBehindLookupTable extends TidemarkError {}

/** The transaction has no top-level system transfer of at least the minimum tip. `addresses` are
 * always valid. Add a transfer to a tip address to the transaction's own instructions. */
export class TipMissing extends TidemarkError {}

/** The transfer to a valid tip address is below the minimum. Transfers are not added up. Raise the
 * transfer to `data.required` lamports. */
export class TipTooSmall extends TidemarkError {}

/** The proxy in front reports that the key was sent without TLS: anyone on the way could read it.
 * Use an `https` or `wss` URL, and replace the key that was sent without TLS. */
export class TlsRequired extends TidemarkError {}

/** The call names too many accounts. Split the list over several calls. */
export class TooManyAccounts extends TidemarkError {}

/** The call requests more accounts than the transaction has, as on the standard node. Name no more
 * accounts than the transaction has. */
export class TooManyAddresses extends TidemarkError {}

/** Too many expensive calls of this key, or of this address without a key, already wait; or so many
 * requests without a key wait that another would take more than 10 s. Wait for some of your calls
 * to finish before you send more. */
export class TooManyAtOnce extends TidemarkError {}

/** The call names too many bundles. Split the list over several calls. */
export class TooManyBundles extends TidemarkError {}

/** The client's address, or all clients together, have reached the maximum of connections. Close
 * connections, or use one for many requests, and try again. */
export class TooManyConnections extends TidemarkError {}

/** The call names too many signatures. Split the list over several calls, or use the stream. */
export class TooManyFates extends TidemarkError {}

/** The key has as many open jobs as its tier allows: wait for one, or cancel it. Wait for a job to
 * end, or cancel one. */
export class TooManyJobs extends TidemarkError {}

/** With `idl`, the accounts belong to too many programs. Split the list over several calls, or leave
 * `idl` out. */
export class TooManyPrograms extends TidemarkError {}

/** The call names too many signatures. Split the list over several calls. */
export class TooManySignatures extends TidemarkError {}

/** The job requests more simulations than the key's tier allows. Split the job: `data` has the
 * maximum of your tier. */
export class TooManySimulations extends TidemarkError {}

/** The call requests more accounts of one transaction than it can have. Name no more accounts than
 * the transaction has. */
export class TooManySnapshots extends TidemarkError {}

/** The key, or the address without a key, has as many open WebSockets as its tier allows. Close a
 * WebSocket, or use one for several subscriptions. */
export class TooManySockets extends TidemarkError {}

/** Too many streams of fates are open, of the key or in total. Close a stream; one carries the fates
 * of all your submissions. */
export class TooManyStreams extends TidemarkError {}

/** The slot's block has no transaction with this index. Use an index below the block's number of
 * transactions. */
export class TransactionIndexOutOfRange extends TidemarkError {}

/** The transaction is larger than its version allows. `found` and `maximum` are in bytes. Make it
 * smaller, or use version 1, which may have 4,096 bytes. */
export class TransactionTooLarge extends TidemarkError {}

/** The text is not a transaction; `at` is its place in the params. Check `encoding`: the default is
 * base58. */
export class TransactionUndecodable extends TidemarkError {}

/** The TTL is above that of the longest TTL class. Request at most `max_ttl_seconds`; tipinfo lists
 * the classes. */
export class TtlTooLong extends TidemarkError {}

/** The page begins at both a cursor and a transaction. Give a cursor or a transaction to begin at,
 * not both. */
export class TwoStarts extends TidemarkError {}

/** /metrics requires the token of METRICS_TOKEN, not an API key. Send the token of METRICS_TOKEN as
 * `Authorization: Bearer …`. */
export class Unauthorized extends TidemarkError {}

/** The TTL class has no open batch. Normal for moments; an alarm opens if it lasts. Wait for
 * `Retry-After` seconds, or use another class. */
export class Unavailable extends TidemarkError {}

/** No archived slot has a transaction with this signature. Check the signature; the transaction must
 * have landed and be archived. */
export class UnknownSignature extends TidemarkError {}

/** The caller's tier has no upstream with this name. Choose from `data.selectable`. */
export class UnknownUpstream extends TidemarkError {}

/** The response contains a versioned transaction, and the caller did not say that it can read one.
 * Set `maxSupportedTransactionVersion` to 1. */
export class UnsupportedTransactionVersion extends TidemarkError {}

/** The network does not support transactions of this version yet. Sign it as a transaction of
 * version 1 or older. */
export class UnsupportedVersion extends TidemarkError {}

/** The upstream node's response is too large to pass on: request less. Request less: use a filter, a
 * `dataSlice` or a shorter range. */
export class UpstreamAnswerTooLarge extends TidemarkError {}

/** The upstream node's response is not JSON-RPC; `found` is its HTTP status. Try again; if it
 * persists, report it to the operator. */
export class UpstreamAnswerUnreadable extends TidemarkError {}

/** Too many calls already wait for the upstream node; nothing was passed on. Send the same call
 * again in a moment: nothing was passed on. */
export class UpstreamBusy extends TidemarkError {}

/** The upstream node took too long. It may or may not have done what the call asks. Before you send
 * a transaction again, check whether it was sent. */
export class UpstreamTimeout extends TidemarkError {}

/** The upstream node does not listen, or dropped the connection. Try again in a moment;
 * `/historical` and `/rewind` need no node. */
export class UpstreamUnreachable extends TidemarkError {}

/** The selectable upstreams cannot be read while the database is down. Send it again in a moment, or
 * without choosing upstreams. */
export class UpstreamsUnread extends TidemarkError {}

/** It was changed since it was read: `If-Match` names another version. Read it again, and send the
 * change with the new `ETag` in `If-Match`. */
export class VersionChanged extends TidemarkError {}

/** A change needs the header `If-Match`, so that it does not undo another one. Send the `ETag` of a
 * GET in the header `If-Match`. */
export class VersionRequired extends TidemarkError {}

/** The slot has only the last write of each account, and the account was written after the position:
 * its state there is unknown. Use the end of the slot as the position, or another slot. */
export class WritesIncomplete extends TidemarkError {}

export const BY_REASON: Readonly<Record<string, typeof TidemarkError>> = {
  accounts_too_large: AccountsTooLarge,
  action_refused: ActionRefused,
  address_not_allowed: AddressNotAllowed,
  answer_too_large: AnswerTooLarge,
  archive_damaged: ArchiveDamaged,
  archive_store_unavailable: ArchiveStoreUnavailable,
  bad_cursor: BadCursor,
  bad_job: BadJob,
  bad_limit: BadLimit,
  bad_override: BadOverride,
  bad_pagination_token: BadPaginationToken,
  bad_position: BadPosition,
  bad_query: BadQuery,
  bad_tip_query: BadTipQuery,
  base58_not_supported: Base58NotSupported,
  base58_unsupported: Base58Unsupported,
  batch_above_limit: BatchAboveLimit,
  block_cleaned_up: BlockCleanedUp,
  block_not_available: BlockNotAvailable,
  blockhash_expired: BlockhashExpired,
  blockhash_not_found: BlockhashNotFound,
  body_malformed: BodyMalformed,
  body_too_large: BodyTooLarge,
  body_unreadable: BodyUnreadable,
  bundle_duplicates: BundleDuplicates,
  bundle_empty: BundleEmpty,
  bundle_id_malformed: BundleIdMalformed,
  bundle_nonce_twice: BundleNonceTwice,
  bundle_only_not_served: BundleOnlyNotServed,
  bundle_simulation_failed: BundleSimulationFailed,
  bundle_too_large: BundleTooLarge,
  bundle_unknown: BundleUnknown,
  bundles_off: BundlesOff,
  chain_not_followed: ChainNotFollowed,
  client_reference_taken: ClientReferenceTaken,
  commitment_unsupported: CommitmentUnsupported,
  configs_mismatch: ConfigsMismatch,
  content_type_unsupported: ContentTypeUnsupported,
  count_out_of_range: CountOutOfRange,
  data_too_long_for_base58: DataTooLongForBase58,
  database_busy: DatabaseBusy,
  database_full: DatabaseFull,
  database_read_only: DatabaseReadOnly,
  database_unavailable: DatabaseUnavailable,
  disk_full: DiskFull,
  empty_range: EmptyRange,
  encoding_required: EncodingRequired,
  engine_fault: EngineFault,
  fates_unavailable: FatesUnavailable,
  filter_transaction_not_found: FilterTransactionNotFound,
  filter_unsupported: FilterUnsupported,
  filtered_account: FilteredAccount,
  forwarded_address_unreadable: ForwardedAddressUnreadable,
  from_signature_unknown: FromSignatureUnknown,
  handshake_invalid: HandshakeInvalid,
  handshake_malformed: HandshakeMalformed,
  head_moved: HeadMoved,
  head_too_large: HeadTooLarge,
  host_required: HostRequired,
  host_unknown: HostUnknown,
  http_method_not_allowed: HttpMethodNotAllowed,
  idempotency_key_reused: IdempotencyKeyReused,
  internal_error: InternalError,
  invalid_fields: InvalidFields,
  invalid_params: InvalidParams,
  invalid_request: InvalidRequest,
  job_not_found: JobNotFound,
  key_expired: KeyExpired,
  key_malformed: KeyMalformed,
  key_required: KeyRequired,
  key_revoked: KeyRevoked,
  key_suspended: KeySuspended,
  key_unknown: KeyUnknown,
  landing_behind: LandingBehind,
  landing_stalled: LandingStalled,
  ledger_empty: LedgerEmpty,
  limit_invalid: LimitInvalid,
  method_not_allowed: MethodNotAllowed,
  method_not_found: MethodNotFound,
  min_context_slot_not_reached: MinContextSlotNotReached,
  monthly_bytes_reached: MonthlyBytesReached,
  monthly_quota_reached: MonthlyQuotaReached,
  no_accounts: NoAccounts,
  no_upstream_chosen: NoUpstreamChosen,
  no_upstream_node: NoUpstreamNode,
  node_behind: NodeBehind,
  node_error: NodeError,
  nonce_unusable: NonceUnusable,
  not_found: NotFound,
  origin_not_allowed: OriginNotAllowed,
  overloaded: Overloaded,
  override_without_effect: OverrideWithoutEffect,
  parse_error: ParseError,
  path_not_served: PathNotServed,
  pre_state_too_new: PreStateTooNew,
  queue_full: QueueFull,
  queue_unavailable: QueueUnavailable,
  quota_exceeded: QuotaExceeded,
  range_has_gaps: RangeHasGaps,
  range_too_large: RangeTooLarge,
  rate_limited: RateLimited,
  redis_full: RedisFull,
  redis_unavailable: RedisUnavailable,
  remote_history_busy: RemoteHistoryBusy,
  remote_history_damaged: RemoteHistoryDamaged,
  remote_history_unavailable: RemoteHistoryUnavailable,
  request_failed: RequestFailed,
  request_malformed: RequestMalformed,
  request_timed_out: RequestTimedOut,
  results_expired: ResultsExpired,
  scope_missing: ScopeMissing,
  sealed_data_damaged: SealedDataDamaged,
  signature_invalid: SignatureInvalid,
  signature_missing: SignatureMissing,
  signature_unknown: SignatureUnknown,
  simulation_lost: SimulationLost,
  simulation_timeout: SimulationTimeout,
  skip_preflight_required: SkipPreflightRequired,
  slice_of_parsed_data: SliceOfParsedData,
  slot_in_archive_gap: SlotInArchiveGap,
  slot_missing: SlotMissing,
  slot_skipped: SlotSkipped,
  slot_too_new: SlotTooNew,
  slot_too_old: SlotTooOld,
  slot_unproven: SlotUnproven,
  snapshots_too_large: SnapshotsTooLarge,
  sockets_unavailable: SocketsUnavailable,
  state_not_recorded: StateNotRecorded,
  stream_unavailable: StreamUnavailable,
  subscription_limit_reached: SubscriptionLimitReached,
  subscription_unknown: SubscriptionUnknown,
  tier_too_low: TierTooLow,
  tip_address_expired: TipAddressExpired,
  tip_address_unknown: TipAddressUnknown,
  tip_addresses_unread: TipAddressesUnread,
  tip_behind_lookup_table: TipBehindLookupTable,
  tip_missing: TipMissing,
  tip_too_small: TipTooSmall,
  tls_required: TlsRequired,
  too_many_accounts: TooManyAccounts,
  too_many_addresses: TooManyAddresses,
  too_many_at_once: TooManyAtOnce,
  too_many_bundles: TooManyBundles,
  too_many_connections: TooManyConnections,
  too_many_fates: TooManyFates,
  too_many_jobs: TooManyJobs,
  too_many_programs: TooManyPrograms,
  too_many_signatures: TooManySignatures,
  too_many_simulations: TooManySimulations,
  too_many_snapshots: TooManySnapshots,
  too_many_sockets: TooManySockets,
  too_many_streams: TooManyStreams,
  transaction_index_out_of_range: TransactionIndexOutOfRange,
  transaction_too_large: TransactionTooLarge,
  transaction_undecodable: TransactionUndecodable,
  ttl_too_long: TtlTooLong,
  two_starts: TwoStarts,
  unauthorized: Unauthorized,
  unavailable: Unavailable,
  unknown_signature: UnknownSignature,
  unknown_upstream: UnknownUpstream,
  unsupported_transaction_version: UnsupportedTransactionVersion,
  unsupported_version: UnsupportedVersion,
  upstream_answer_too_large: UpstreamAnswerTooLarge,
  upstream_answer_unreadable: UpstreamAnswerUnreadable,
  upstream_busy: UpstreamBusy,
  upstream_timeout: UpstreamTimeout,
  upstream_unreachable: UpstreamUnreachable,
  upstreams_unread: UpstreamsUnread,
  version_changed: VersionChanged,
  version_required: VersionRequired,
  writes_incomplete: WritesIncomplete,
};
