// Generated: the calls of the management API, a class for each resource.
import type { Caller, Versioned, WriteOptions } from "../calling.js";
import type * as types from "./types.js";

export class Alarms {
  constructor(private readonly caller: Caller) {}

  /** Lists alarms, newest first. */
  list(query: { rule?: string; severity?: "critical" | "warning"; open?: boolean; limit?: bigint | number } = {}, signal?: AbortSignal): AsyncGenerator<types.ManagedAlarm> {
    return this.caller.pages<types.ManagedAlarm>(`/manage/v1/alarms`, query, signal);
  }

  /** Reads an alarm. */
  get(id: bigint | number, signal?: AbortSignal): Promise<Versioned<types.ManagedAlarm>> {
    return this.caller.get<Versioned<types.ManagedAlarm>>(`/manage/v1/alarms/${id}`, {}, signal);
  }

  /** Acknowledges an open alarm. */
  acknowledge(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedAlarm>> {
    return this.caller.write<Versioned<types.ManagedAlarm>>("POST", `/manage/v1/alarms/${id}/acknowledge`, undefined, options);
  }
}

export class Audit {
  constructor(private readonly caller: Caller) {}

  /** Lists entries of the audit log, newest first. */
  list(query: { who?: string; verb?: string; subjectType?: string; subjectId?: string; since?: string; until?: string; limit?: bigint | number } = {}, signal?: AbortSignal): AsyncGenerator<types.ManagedAuditEntry> {
    return this.caller.pages<types.ManagedAuditEntry>(`/manage/v1/audit`, query, signal);
  }

  /** Reads an entry of the audit log. */
  get(id: bigint | number, signal?: AbortSignal): Promise<Versioned<types.ManagedAuditEntry>> {
    return this.caller.get<Versioned<types.ManagedAuditEntry>>(`/manage/v1/audit/${id}`, {}, signal);
  }
}

export class Coverage {
  constructor(private readonly caller: Caller) {}

  /** What the ledger and the archive have, as getLedgerCoverage and getRewindCoverage say. */
  read(query: { fromSlot?: bigint | number; toSlot?: bigint | number; maxGaps?: bigint | number } = {}, signal?: AbortSignal): Promise<Versioned<types.ManagedCoverage>> {
    return this.caller.get<Versioned<types.ManagedCoverage>>(`/manage/v1/coverage`, query, signal);
  }
}

export class Customers {
  constructor(private readonly caller: Caller) {}

  /** Lists customers, newest first. */
  list(query: { name?: string; email?: string; limit?: bigint | number } = {}, signal?: AbortSignal): AsyncGenerator<types.ManagedCustomer> {
    return this.caller.pages<types.ManagedCustomer>(`/manage/v1/customers`, query, signal);
  }

  /** Adds a customer. */
  create(body: types.ManagedCustomerBody, options: WriteOptions = {}): Promise<Versioned<types.ManagedCustomer>> {
    return this.caller.write<Versioned<types.ManagedCustomer>>("POST", `/manage/v1/customers`, body, options);
  }

  /** Deletes a customer who never had a key: usage is kept. */
  delete(id: bigint | number, options: WriteOptions = {}): Promise<void> {
    return this.caller.write<void>("DELETE", `/manage/v1/customers/${id}`, undefined, options);
  }

  /** Reads a customer. */
  get(id: bigint | number, signal?: AbortSignal): Promise<Versioned<types.ManagedCustomer>> {
    return this.caller.get<Versioned<types.ManagedCustomer>>(`/manage/v1/customers/${id}`, {}, signal);
  }

  /** Changes a customer. */
  change(id: bigint | number, body: types.PatchedManagedCustomerBody, options: WriteOptions & { version: string }): Promise<Versioned<types.ManagedCustomer>> {
    return this.caller.write<Versioned<types.ManagedCustomer>>("PATCH", `/manage/v1/customers/${id}`, body, options);
  }
}

export class Deliveries {
  constructor(private readonly caller: Caller) {}

  /** Lists deliveries of events, newest first. */
  list(query: { webhook?: bigint | number; rule?: bigint | number; state?: "delivered" | "failed" | "waiting"; limit?: bigint | number } = {}, signal?: AbortSignal): AsyncGenerator<types.ManagedDelivery> {
    return this.caller.pages<types.ManagedDelivery>(`/manage/v1/deliveries`, query, signal);
  }

  /** Reads a delivery of an event. */
  get(id: bigint | number, signal?: AbortSignal): Promise<Versioned<types.ManagedDelivery>> {
    return this.caller.get<Versioned<types.ManagedDelivery>>(`/manage/v1/deliveries/${id}`, {}, signal);
  }

  /** Delivers an event again, with the same webhook-id. */
  redeliver(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedDelivery>> {
    return this.caller.write<Versioned<types.ManagedDelivery>>("POST", `/manage/v1/deliveries/${id}/redeliver`, undefined, options);
  }
}

export class ArchiveGaps {
  constructor(private readonly caller: Caller) {}

  /** Lists gaps, newest first. */
  list(query: { state?: "closed" | "given_up" | "open"; cause?: string; slot?: bigint | number; limit?: bigint | number } = {}, signal?: AbortSignal): AsyncGenerator<types.ManagedArchiveGap> {
    return this.caller.pages<types.ManagedArchiveGap>(`/manage/v1/gaps/archive`, query, signal);
  }

  /** Reads a gap. */
  get(id: bigint | number, signal?: AbortSignal): Promise<Versioned<types.ManagedArchiveGap>> {
    return this.caller.get<Versioned<types.ManagedArchiveGap>>(`/manage/v1/gaps/archive/${id}`, {}, signal);
  }

  /** Stops attempts on an open gap. It is closed if its slots arrive after all. */
  giveUp(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedArchiveGap>> {
    return this.caller.write<Versioned<types.ManagedArchiveGap>>("POST", `/manage/v1/gaps/archive/${id}/give-up`, undefined, options);
  }

  /** Makes an open gap due now, even if it was given up. */
  retry(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedArchiveGap>> {
    return this.caller.write<Versioned<types.ManagedArchiveGap>>("POST", `/manage/v1/gaps/archive/${id}/retry`, undefined, options);
  }
}

export class LedgerGaps {
  constructor(private readonly caller: Caller) {}

  /** Lists gaps, newest first. */
  list(query: { state?: "closed" | "given_up" | "open"; cause?: string; slot?: bigint | number; limit?: bigint | number } = {}, signal?: AbortSignal): AsyncGenerator<types.ManagedLedgerGap> {
    return this.caller.pages<types.ManagedLedgerGap>(`/manage/v1/gaps/ledger`, query, signal);
  }

  /** Reads a gap. */
  get(id: bigint | number, signal?: AbortSignal): Promise<Versioned<types.ManagedLedgerGap>> {
    return this.caller.get<Versioned<types.ManagedLedgerGap>>(`/manage/v1/gaps/ledger/${id}`, {}, signal);
  }

  /** Stops attempts on an open gap. It is closed if its slots arrive after all. */
  giveUp(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedLedgerGap>> {
    return this.caller.write<Versioned<types.ManagedLedgerGap>>("POST", `/manage/v1/gaps/ledger/${id}/give-up`, undefined, options);
  }

  /** Makes an open gap due now, even if it was given up. */
  retry(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedLedgerGap>> {
    return this.caller.write<Versioned<types.ManagedLedgerGap>>("POST", `/manage/v1/gaps/ledger/${id}/retry`, undefined, options);
  }
}

export class Keys {
  constructor(private readonly caller: Caller) {}

  /** Lists API keys, newest first. */
  list(query: { customer?: bigint | number; tier?: string; state?: "active" | "expired" | "expiring" | "revoked" | "suspended"; environment?: string; name?: string; limit?: bigint | number } = {}, signal?: AbortSignal): AsyncGenerator<types.ManagedKey> {
    return this.caller.pages<types.ManagedKey>(`/manage/v1/keys`, query, signal);
  }

  /** Issues a key. Only this response has its secret. */
  create(body: types.ManagedNewKey, options: WriteOptions = {}): Promise<Versioned<types.ManagedIssuedKey>> {
    return this.caller.write<Versioned<types.ManagedIssuedKey>>("POST", `/manage/v1/keys`, body, options);
  }

  /** Reads an API key. */
  get(id: bigint | number, signal?: AbortSignal): Promise<Versioned<types.ManagedKey>> {
    return this.caller.get<Versioned<types.ManagedKey>>(`/manage/v1/keys/${id}`, {}, signal);
  }

  /** Changes what a key may do, without changing its secret. Applies within two seconds. */
  change(id: bigint | number, body: types.PatchedManagedKeyChanges, options: WriteOptions & { version: string }): Promise<Versioned<types.ManagedKey>> {
    return this.caller.write<Versioned<types.ManagedKey>>("PATCH", `/manage/v1/keys/${id}`, body, options);
  }

  /** Ends the overlap of a rotation: the old key stops working within two seconds. */
  endOverlap(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedKey>> {
    return this.caller.write<Versioned<types.ManagedKey>>("POST", `/manage/v1/keys/${id}/overlap/end`, undefined, options);
  }

  /** Extends the overlap of a rotation. */
  extendOverlap(id: bigint | number, body: types.ManagedLongerOverlap, options: WriteOptions = {}): Promise<Versioned<types.ManagedKey>> {
    return this.caller.write<Versioned<types.ManagedKey>>("POST", `/manage/v1/keys/${id}/overlap/extend`, body, options);
  }

  /** Resumes a suspended key. */
  resume(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedKey>> {
    return this.caller.write<Versioned<types.ManagedKey>>("POST", `/manage/v1/keys/${id}/resume`, undefined, options);
  }

  /** Revokes a key: calls with it are answered 401 within two seconds, for good. */
  revoke(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedKey>> {
    return this.caller.write<Versioned<types.ManagedKey>>("POST", `/manage/v1/keys/${id}/revoke`, undefined, options);
  }

  /** Issues a successor with the same rights. The old key works for the overlap. */
  rotate(id: bigint | number, body: types.ManagedOverlap = {}, options: WriteOptions = {}): Promise<Versioned<types.ManagedIssuedKey>> {
    return this.caller.write<Versioned<types.ManagedIssuedKey>>("POST", `/manage/v1/keys/${id}/rotate`, body, options);
  }

  /** Suspends a key: calls with it are answered 403 within two seconds, until it is resumed. */
  suspend(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedKey>> {
    return this.caller.write<Versioned<types.ManagedKey>>("POST", `/manage/v1/keys/${id}/suspend`, undefined, options);
  }
}

export class Members {
  constructor(private readonly caller: Caller) {}

  /** Lists members, newest first. */
  list(query: { customer?: bigint | number; role?: "developer" | "owner" | "reader"; email?: string; limit?: bigint | number } = {}, signal?: AbortSignal): AsyncGenerator<types.ManagedMember> {
    return this.caller.pages<types.ManagedMember>(`/manage/v1/members`, query, signal);
  }

  /** Invites a member. */
  create(body: types.ManagedNewMember, options: WriteOptions = {}): Promise<Versioned<types.ManagedMemberWithLink>> {
    return this.caller.write<Versioned<types.ManagedMemberWithLink>>("POST", `/manage/v1/members`, body, options);
  }

  /** Removes a member, whose sessions end. */
  delete(id: bigint | number, options: WriteOptions = {}): Promise<void> {
    return this.caller.write<void>("DELETE", `/manage/v1/members/${id}`, undefined, options);
  }

  /** Reads a member. */
  get(id: bigint | number, signal?: AbortSignal): Promise<Versioned<types.ManagedMember>> {
    return this.caller.get<Versioned<types.ManagedMember>>(`/manage/v1/members/${id}`, {}, signal);
  }

  /** Changes a member's role. */
  change(id: bigint | number, body: types.PatchedManagedMemberChanges, options: WriteOptions & { version: string }): Promise<Versioned<types.ManagedMember>> {
    return this.caller.write<Versioned<types.ManagedMember>>("PATCH", `/manage/v1/members/${id}`, body, options);
  }

  /** Lets a deactivated member sign in again. For root keys. */
  activate(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedMember>> {
    return this.caller.write<Versioned<types.ManagedMember>>("POST", `/manage/v1/members/${id}/activate`, undefined, options);
  }

  /** Deactivates a member: sessions end, and sign-ins are refused. For root keys. */
  deactivate(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedMember>> {
    return this.caller.write<Versioned<types.ManagedMember>>("POST", `/manage/v1/members/${id}/deactivate`, undefined, options);
  }

  /** Invites a member without a password again; earlier links become invalid. */
  inviteAgain(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedMemberWithLink>> {
    return this.caller.write<Versioned<types.ManagedMemberWithLink>>("POST", `/manage/v1/members/${id}/invite`, undefined, options);
  }

  /** Makes a link to a new password for a member who has one. For root keys. */
  passwordLink(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedMemberWithLink>> {
    return this.caller.write<Versioned<types.ManagedMemberWithLink>>("POST", `/manage/v1/members/${id}/password-link`, undefined, options);
  }

  /** Unbinds a member from the account at the sign-in provider. All sessions end, and the next
   * account with the member's verified e-mail address is bound instead. For root keys. */
  unbindProvider(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedMember>> {
    return this.caller.write<Versioned<types.ManagedMember>>("POST", `/manage/v1/members/${id}/provider/unbind`, undefined, options);
  }

  /** Removes a member's second factor, with its recovery codes. All sessions end. Verify first that
   * the member asked for it. For root keys. */
  resetSecondFactor(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedMember>> {
    return this.caller.write<Versioned<types.ManagedMember>>("POST", `/manage/v1/members/${id}/second-factor/reset`, undefined, options);
  }

  /** Ends all sessions of a member, who can sign in again. For root keys. */
  signOut(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedMember>> {
    return this.caller.write<Versioned<types.ManagedMember>>("POST", `/manage/v1/members/${id}/sign-out`, undefined, options);
  }
}

export class Rules {
  constructor(private readonly caller: Caller) {}

  /** Lists event rules, newest first. */
  list(query: { customer?: bigint | number; webhook?: bigint | number; trigger?: "account" | "landing_share" | "mention" | "program" | "submission" | "tip_spend"; enabled?: boolean; limit?: bigint | number } = {}, signal?: AbortSignal): AsyncGenerator<types.ManagedRule> {
    return this.caller.pages<types.ManagedRule>(`/manage/v1/rules`, query, signal);
  }

  /** Adds an event rule, enabled, for what happens from now on. */
  create(body: types.ManagedNewRule, options: WriteOptions = {}): Promise<Versioned<types.ManagedRule>> {
    return this.caller.write<Versioned<types.ManagedRule>>("POST", `/manage/v1/rules`, body, options);
  }

  /** Deletes an event rule with its events and the record of their deliveries. */
  delete(id: bigint | number, options: WriteOptions = {}): Promise<void> {
    return this.caller.write<void>("DELETE", `/manage/v1/rules/${id}`, undefined, options);
  }

  /** Reads an event rule. */
  get(id: bigint | number, signal?: AbortSignal): Promise<Versioned<types.ManagedRule>> {
    return this.caller.get<Versioned<types.ManagedRule>>(`/manage/v1/rules/${id}`, {}, signal);
  }

  /** Changes an event rule; its trigger stays. */
  change(id: bigint | number, body: types.PatchedManagedRuleChanges, options: WriteOptions & { version: string }): Promise<Versioned<types.ManagedRule>> {
    return this.caller.write<Versioned<types.ManagedRule>>("PATCH", `/manage/v1/rules/${id}`, body, options);
  }

  /** Disables an event rule; what it published is still delivered. */
  disable(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedRule>> {
    return this.caller.write<Versioned<types.ManagedRule>>("POST", `/manage/v1/rules/${id}/disable`, undefined, options);
  }

  /** Enables an event rule, for what happens from now on. */
  enable(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedRule>> {
    return this.caller.write<Versioned<types.ManagedRule>>("POST", `/manage/v1/rules/${id}/enable`, undefined, options);
  }

  /** Sends deliveries of an event rule again, in order and with the same webhook-ids. */
  replay(id: bigint | number, body: types.ManagedReplay, options: WriteOptions = {}): Promise<Versioned<types.ManagedReplayed>> {
    return this.caller.write<Versioned<types.ManagedReplayed>>("POST", `/manage/v1/rules/${id}/replay`, body, options);
  }

  /** Sends an example of an event rule's events to its recipients, with `test` set. */
  test(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedRule>> {
    return this.caller.write<Versioned<types.ManagedRule>>("POST", `/manage/v1/rules/${id}/test`, undefined, options);
  }
}

export class Submissions {
  constructor(private readonly caller: Caller) {}

  /** Lists submissions, newest first. */
  list(query: { key?: bigint | number; state?: "expired" | "failed" | "landed" | "received" | "refused" | "sent"; kind?: "bundle" | "sweep" | "transaction"; since?: string; until?: string; limit?: bigint | number } = {}, signal?: AbortSignal): AsyncGenerator<types.ManagedSubmission> {
    return this.caller.pages<types.ManagedSubmission>(`/manage/v1/submissions`, query, signal);
  }

  /** Reads a submission. */
  get(id: bigint | number, signal?: AbortSignal): Promise<Versioned<types.ManagedSubmission>> {
    return this.caller.get<Versioned<types.ManagedSubmission>>(`/manage/v1/submissions/${id}`, {}, signal);
  }
}

export class Tiers {
  constructor(private readonly caller: Caller) {}

  /** Lists tiers, newest first. */
  list(query: { limit?: bigint | number } = {}, signal?: AbortSignal): AsyncGenerator<types.ManagedTier> {
    return this.caller.pages<types.ManagedTier>(`/manage/v1/tiers`, query, signal);
  }

  /** Adds a tier. */
  create(body: types.ManagedTierBody, options: WriteOptions = {}): Promise<Versioned<types.ManagedTier>> {
    return this.caller.write<Versioned<types.ManagedTier>>("POST", `/manage/v1/tiers`, body, options);
  }

  /** Deletes a tier without keys. */
  delete(id: bigint | number, options: WriteOptions = {}): Promise<void> {
    return this.caller.write<void>("DELETE", `/manage/v1/tiers/${id}`, undefined, options);
  }

  /** Reads a tier. */
  get(id: bigint | number, signal?: AbortSignal): Promise<Versioned<types.ManagedTier>> {
    return this.caller.get<Versioned<types.ManagedTier>>(`/manage/v1/tiers/${id}`, {}, signal);
  }

  /** Changes a tier's limits, for all of its keys within two seconds. */
  change(id: bigint | number, body: types.PatchedManagedTierBody, options: WriteOptions & { version: string }): Promise<Versioned<types.ManagedTier>> {
    return this.caller.write<Versioned<types.ManagedTier>>("PATCH", `/manage/v1/tiers/${id}`, body, options);
  }
}

export class TipBatches {
  constructor(private readonly caller: Caller) {}

  /** Lists batches of tip addresses, newest first. */
  list(query: { ttlClass?: bigint | number; state?: "closed" | "open" | "prepared"; swept?: boolean; limit?: bigint | number } = {}, signal?: AbortSignal): AsyncGenerator<types.ManagedTipBatch> {
    return this.caller.pages<types.ManagedTipBatch>(`/manage/v1/tip-batches`, query, signal);
  }

  /** Reads a batch of tip addresses. */
  get(id: bigint | number, signal?: AbortSignal): Promise<Versioned<types.ManagedTipBatch>> {
    return this.caller.get<Versioned<types.ManagedTipBatch>>(`/manage/v1/tip-batches/${id}`, {}, signal);
  }

  /** Orders a sweep of a closed batch: its balances are read and swept within seconds, or when its
   * addresses have expired. */
  sweep(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedTipBatch>> {
    return this.caller.write<Versioned<types.ManagedTipBatch>>("POST", `/manage/v1/tip-batches/${id}/sweep`, undefined, options);
  }
}

export class TipSweeps {
  constructor(private readonly caller: Caller) {}

  /** Lists sweeps, newest first. */
  list(query: { state?: "expired" | "failed" | "landed" | "planned"; limit?: bigint | number } = {}, signal?: AbortSignal): AsyncGenerator<types.ManagedTipSweep> {
    return this.caller.pages<types.ManagedTipSweep>(`/manage/v1/tip-sweeps`, query, signal);
  }

  /** Reads a sweep. */
  get(id: bigint | number, signal?: AbortSignal): Promise<Versioned<types.ManagedTipSweep>> {
    return this.caller.get<Versioned<types.ManagedTipSweep>>(`/manage/v1/tip-sweeps/${id}`, {}, signal);
  }
}

export class Tips {
  constructor(private readonly caller: Caller) {}

  /** Lists entries of the tip ledger, newest first. */
  list(query: { kind?: "other" | "sweep" | "tip"; key?: bigint | number; slot?: bigint | number; limit?: bigint | number } = {}, signal?: AbortSignal): AsyncGenerator<types.ManagedTip> {
    return this.caller.pages<types.ManagedTip>(`/manage/v1/tips`, query, signal);
  }

  /** Reads an entry of the tip ledger. */
  get(id: bigint | number, signal?: AbortSignal): Promise<Versioned<types.ManagedTip>> {
    return this.caller.get<Versioned<types.ManagedTip>>(`/manage/v1/tips/${id}`, {}, signal);
  }
}

export class TtlClasses {
  constructor(private readonly caller: Caller) {}

  /** Lists TTL classes, newest first. */
  list(query: { limit?: bigint | number } = {}, signal?: AbortSignal): AsyncGenerator<types.ManagedTtlClass> {
    return this.caller.pages<types.ManagedTtlClass>(`/manage/v1/ttl-classes`, query, signal);
  }

  /** Adds a TTL class. */
  create(body: types.ManagedTtlClassBody, options: WriteOptions = {}): Promise<Versioned<types.ManagedTtlClass>> {
    return this.caller.write<Versioned<types.ManagedTtlClass>>("POST", `/manage/v1/ttl-classes`, body, options);
  }

  /** Deletes a TTL class that has not issued any address. */
  delete(id: bigint | number, options: WriteOptions = {}): Promise<void> {
    return this.caller.write<void>("DELETE", `/manage/v1/ttl-classes/${id}`, undefined, options);
  }

  /** Reads a TTL class. */
  get(id: bigint | number, signal?: AbortSignal): Promise<Versioned<types.ManagedTtlClass>> {
    return this.caller.get<Versioned<types.ManagedTtlClass>>(`/manage/v1/ttl-classes/${id}`, {}, signal);
  }

  /** Changes a TTL class. */
  change(id: bigint | number, body: types.PatchedManagedTtlClassBody, options: WriteOptions & { version: string }): Promise<Versioned<types.ManagedTtlClass>> {
    return this.caller.write<Versioned<types.ManagedTtlClass>>("PATCH", `/manage/v1/ttl-classes/${id}`, body, options);
  }

  /** Prepares one more batch of addresses. */
  prepare(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedTtlClass>> {
    return this.caller.write<Versioned<types.ManagedTtlClass>>("POST", `/manage/v1/ttl-classes/${id}/prepare`, undefined, options);
  }

  /** Closes the open batch now and opens the next prepared one. */
  rotate(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedTtlClass>> {
    return this.caller.write<Versioned<types.ManagedTtlClass>>("POST", `/manage/v1/ttl-classes/${id}/rotate`, undefined, options);
  }

  /** Orders sweeps of the expired batches to the treasury. */
  sweep(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedTtlClass>> {
    return this.caller.write<Versioned<types.ManagedTtlClass>>("POST", `/manage/v1/ttl-classes/${id}/sweep`, undefined, options);
  }
}

export class Upstreams {
  constructor(private readonly caller: Caller) {}

  /** Lists upstreams, newest first. */
  list(query: { limit?: bigint | number } = {}, signal?: AbortSignal): AsyncGenerator<types.ManagedUpstream> {
    return this.caller.pages<types.ManagedUpstream>(`/manage/v1/upstreams`, query, signal);
  }

  /** Adds an upstream. */
  create(body: types.ManagedUpstreamBody, options: WriteOptions = {}): Promise<Versioned<types.ManagedUpstream>> {
    return this.caller.write<Versioned<types.ManagedUpstream>>("POST", `/manage/v1/upstreams`, body, options);
  }

  /** Deletes an upstream. */
  delete(id: bigint | number, options: WriteOptions = {}): Promise<void> {
    return this.caller.write<void>("DELETE", `/manage/v1/upstreams/${id}`, undefined, options);
  }

  /** Reads an upstream. */
  get(id: bigint | number, signal?: AbortSignal): Promise<Versioned<types.ManagedUpstream>> {
    return this.caller.get<Versioned<types.ManagedUpstream>>(`/manage/v1/upstreams/${id}`, {}, signal);
  }

  /** Changes an upstream. Landers follow within two seconds. */
  change(id: bigint | number, body: types.PatchedManagedUpstreamBody, options: WriteOptions & { version: string }): Promise<Versioned<types.ManagedUpstream>> {
    return this.caller.write<Versioned<types.ManagedUpstream>>("PATCH", `/manage/v1/upstreams/${id}`, body, options);
  }

  /** Resets the circuit breaker: the upstream is tried again at once. */
  resetBreaker(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedUpstream>> {
    return this.caller.write<Versioned<types.ManagedUpstream>>("POST", `/manage/v1/upstreams/${id}/breaker/reset`, undefined, options);
  }

  /** Disables an upstream: nothing more is sent to it. */
  disable(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedUpstream>> {
    return this.caller.write<Versioned<types.ManagedUpstream>>("POST", `/manage/v1/upstreams/${id}/disable`, undefined, options);
  }

  /** Drains an upstream: new submissions go elsewhere, earlier ones continue. */
  drain(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedUpstream>> {
    return this.caller.write<Versioned<types.ManagedUpstream>>("POST", `/manage/v1/upstreams/${id}/drain`, undefined, options);
  }

  /** Enables an upstream: it takes new submissions. */
  enable(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedUpstream>> {
    return this.caller.write<Versioned<types.ManagedUpstream>>("POST", `/manage/v1/upstreams/${id}/enable`, undefined, options);
  }
}

export class Usage {
  constructor(private readonly caller: Caller) {}

  /** Calls over time, by method and outcome, and by key. */
  read(query: { span?: "1h" | "24h" | "7d" | "month" | "30d" | "90d"; from?: string; to?: string; key?: bigint | number; customer?: bigint | number; keyless?: boolean; method?: string; status?: string } = {}, signal?: AbortSignal): Promise<Versioned<types.ManagedUsage>> {
    return this.caller.get<Versioned<types.ManagedUsage>>(`/manage/v1/usage`, query, signal);
  }

  /** The same as CSV: calls by step, by method, or every row by key, method and day. */
  csv(query: { span?: "1h" | "24h" | "7d" | "month" | "30d" | "90d"; from?: string; to?: string; key?: bigint | number; customer?: bigint | number; keyless?: boolean; method?: string; status?: string; of?: "steps" | "methods" | "rows" } = {}, signal?: AbortSignal): Promise<string> {
    return this.caller.text(`/manage/v1/usage/csv`, query, signal);
  }
}

export class Webhooks {
  constructor(private readonly caller: Caller) {}

  /** Lists webhooks, newest first. */
  list(query: { customer?: bigint | number; enabled?: boolean; limit?: bigint | number } = {}, signal?: AbortSignal): AsyncGenerator<types.ManagedWebhook> {
    return this.caller.pages<types.ManagedWebhook>(`/manage/v1/webhooks`, query, signal);
  }

  /** Adds a webhook, enabled, with a new secret. */
  create(body: types.ManagedNewWebhook, options: WriteOptions = {}): Promise<Versioned<types.ManagedWebhookWithSecret>> {
    return this.caller.write<Versioned<types.ManagedWebhookWithSecret>>("POST", `/manage/v1/webhooks`, body, options);
  }

  /** Deletes a webhook with the record of its deliveries. */
  delete(id: bigint | number, options: WriteOptions = {}): Promise<void> {
    return this.caller.write<void>("DELETE", `/manage/v1/webhooks/${id}`, undefined, options);
  }

  /** Reads a webhook. */
  get(id: bigint | number, signal?: AbortSignal): Promise<Versioned<types.ManagedWebhook>> {
    return this.caller.get<Versioned<types.ManagedWebhook>>(`/manage/v1/webhooks/${id}`, {}, signal);
  }

  /** Changes a webhook. */
  change(id: bigint | number, body: types.PatchedManagedWebhookChanges, options: WriteOptions & { version: string }): Promise<Versioned<types.ManagedWebhook>> {
    return this.caller.write<Versioned<types.ManagedWebhook>>("PATCH", `/manage/v1/webhooks/${id}`, body, options);
  }

  /** Disables a webhook; waiting deliveries are given up. */
  disable(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedWebhook>> {
    return this.caller.write<Versioned<types.ManagedWebhook>>("POST", `/manage/v1/webhooks/${id}/disable`, undefined, options);
  }

  /** Enables a webhook for new events, and clears its failures. */
  enable(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedWebhook>> {
    return this.caller.write<Versioned<types.ManagedWebhook>>("POST", `/manage/v1/webhooks/${id}/enable`, undefined, options);
  }

  /** Makes a new secret; for a day requests are signed with the old one as well. */
  rotate(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedWebhookWithSecret>> {
    return this.caller.write<Versioned<types.ManagedWebhookWithSecret>>("POST", `/manage/v1/webhooks/${id}/rotate`, undefined, options);
  }

  /** Posts an event of the kind `test` within seconds. */
  test(id: bigint | number, options: WriteOptions = {}): Promise<Versioned<types.ManagedWebhook>> {
    return this.caller.write<Versioned<types.ManagedWebhook>>("POST", `/manage/v1/webhooks/${id}/test`, undefined, options);
  }
}

/** Every resource of the management API. */
export class Resources {
  readonly alarms: Alarms;
  readonly audit: Audit;
  readonly coverage: Coverage;
  readonly customers: Customers;
  readonly deliveries: Deliveries;
  readonly archiveGaps: ArchiveGaps;
  readonly ledgerGaps: LedgerGaps;
  readonly keys: Keys;
  readonly members: Members;
  readonly rules: Rules;
  readonly submissions: Submissions;
  readonly tiers: Tiers;
  readonly tipBatches: TipBatches;
  readonly tipSweeps: TipSweeps;
  readonly tips: Tips;
  readonly ttlClasses: TtlClasses;
  readonly upstreams: Upstreams;
  readonly usage: Usage;
  readonly webhooks: Webhooks;

  constructor(caller: Caller) {
    this.alarms = new Alarms(caller);
    this.audit = new Audit(caller);
    this.coverage = new Coverage(caller);
    this.customers = new Customers(caller);
    this.deliveries = new Deliveries(caller);
    this.archiveGaps = new ArchiveGaps(caller);
    this.ledgerGaps = new LedgerGaps(caller);
    this.keys = new Keys(caller);
    this.members = new Members(caller);
    this.rules = new Rules(caller);
    this.submissions = new Submissions(caller);
    this.tiers = new Tiers(caller);
    this.tipBatches = new TipBatches(caller);
    this.tipSweeps = new TipSweeps(caller);
    this.tips = new Tips(caller);
    this.ttlClasses = new TtlClasses(caller);
    this.upstreams = new Upstreams(caller);
    this.usage = new Usage(caller);
    this.webhooks = new Webhooks(caller);
  }
}
