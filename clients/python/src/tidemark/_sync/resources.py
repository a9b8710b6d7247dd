"""Generated: the calls of the management API, a class for each resource."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Literal

from tidemark import management_types as types
from tidemark._sync.caller import Caller
from tidemark.values import UNSET, Unset, body_of, query_of


class Alarms:
    """Alarms."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(
        self,
        *,
        rule: str | None = None,
        severity: Literal["critical", "warning"] | None = None,
        open: bool | None = None,
        page_size: int | None = None,
    ) -> Iterator[types.Alarm]:
        """Lists alarms, newest first.

        page_size: entries of a page: 50 by default, at most 500
        """
        for each in self._caller.pages(
            "/manage/v1/alarms",
            types.Alarm,
            query_of(rule=rule, severity=severity, open=open, limit=page_size),
        ):
            yield each

    def get(self, alarm_id: int) -> types.Alarm:
        """Reads an alarm."""
        answer: types.Alarm = self._caller.get(f"/manage/v1/alarms/{alarm_id}", types.Alarm)
        return answer

    def acknowledge(
        self, alarm_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.Alarm:
        """Acknowledges an open alarm.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.Alarm = self._caller.write(
            "POST",
            f"/manage/v1/alarms/{alarm_id}/acknowledge",
            types.Alarm,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer


class Audit:
    """Audit."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(
        self,
        *,
        who: str | None = None,
        verb: str | None = None,
        subject_type: str | None = None,
        subject_id: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        page_size: int | None = None,
    ) -> Iterator[types.AuditEntry]:
        """Lists entries of the audit log, newest first.

        page_size: entries of a page: 50 by default, at most 500
        """
        for each in self._caller.pages(
            "/manage/v1/audit",
            types.AuditEntry,
            query_of(
                who=who,
                verb=verb,
                subjectType=subject_type,
                subjectId=subject_id,
                since=since,
                until=until,
                limit=page_size,
            ),
        ):
            yield each

    def get(self, audit_id: int) -> types.AuditEntry:
        """Reads an entry of the audit log."""
        answer: types.AuditEntry = self._caller.get(
            f"/manage/v1/audit/{audit_id}", types.AuditEntry
        )
        return answer


class Coverage:
    """Coverage."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def read(
        self,
        *,
        from_slot: int | None = None,
        to_slot: int | None = None,
        max_gaps: int | None = None,
    ) -> types.Coverage:
        """What the ledger and the archive have, as getLedgerCoverage and getRewindCoverage say."""
        answer: types.Coverage = self._caller.get(
            "/manage/v1/coverage",
            types.Coverage,
            query_of(fromSlot=from_slot, toSlot=to_slot, maxGaps=max_gaps),
        )
        return answer


class Customers:
    """Customers."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(
        self, *, name: str | None = None, email: str | None = None, page_size: int | None = None
    ) -> Iterator[types.Customer]:
        """Lists customers, newest first.

        page_size: entries of a page: 50 by default, at most 500
        """
        for each in self._caller.pages(
            "/manage/v1/customers",
            types.Customer,
            query_of(name=name, email=email, limit=page_size),
        ):
            yield each

    def create(
        self,
        *,
        name: str,
        alert_mails: bool | Unset = UNSET,
        email: Any | Unset = UNSET,
        notes: str | Unset = UNSET,
        idempotency_key: str | None = None,
    ) -> types.Customer:
        """Adds a customer.

        alert_mails: mail to the address above what concerns the keys: expiry, quota, suspension
        email: gets the mails about this customer's keys
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.Customer = self._caller.write(
            "POST",
            "/manage/v1/customers",
            types.Customer,
            body_of(alertMails=alert_mails, email=email, name=name, notes=notes),
            idempotency_key=idempotency_key,
        )
        return answer

    def delete(self, customer_id: int, *, version: str | None = None) -> None:
        """Deletes a customer who never had a key: usage is kept.

        version: the `version` that it must still have
        """
        self._caller.write("DELETE", f"/manage/v1/customers/{customer_id}", None, version=version)

    def get(self, customer_id: int) -> types.Customer:
        """Reads a customer."""
        answer: types.Customer = self._caller.get(
            f"/manage/v1/customers/{customer_id}", types.Customer
        )
        return answer

    def change(
        self,
        customer_id: int,
        *,
        version: str,
        alert_mails: bool | Unset = UNSET,
        email: Any | Unset = UNSET,
        name: str | Unset = UNSET,
        notes: str | Unset = UNSET,
    ) -> types.Customer:
        """Changes a customer.

        alert_mails: mail to the address above what concerns the keys: expiry, quota, suspension
        email: gets the mails about this customer's keys
        version: the `version` of what was read; `*` changes any
        """
        answer: types.Customer = self._caller.write(
            "PATCH",
            f"/manage/v1/customers/{customer_id}",
            types.Customer,
            body_of(alertMails=alert_mails, email=email, name=name, notes=notes),
            version=version,
        )
        return answer


class Deliveries:
    """Deliveries."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(
        self,
        *,
        webhook: int | None = None,
        rule: int | None = None,
        state: Literal["delivered", "failed", "waiting"] | None = None,
        page_size: int | None = None,
    ) -> Iterator[types.Delivery]:
        """Lists deliveries of events, newest first.

        page_size: entries of a page: 50 by default, at most 500
        """
        for each in self._caller.pages(
            "/manage/v1/deliveries",
            types.Delivery,
            query_of(webhook=webhook, rule=rule, state=state, limit=page_size),
        ):
            yield each

    def get(self, delivery_id: int) -> types.Delivery:
        """Reads a delivery of an event."""
        answer: types.Delivery = self._caller.get(
            f"/manage/v1/deliveries/{delivery_id}", types.Delivery
        )
        return answer

    def redeliver(
        self, delivery_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.Delivery:
        """Delivers an event again, with the same webhook-id.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.Delivery = self._caller.write(
            "POST",
            f"/manage/v1/deliveries/{delivery_id}/redeliver",
            types.Delivery,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer


class ArchiveGaps:
    """Archive gaps."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(
        self,
        *,
        state: Literal["closed", "given_up", "open"] | None = None,
        cause: str | None = None,
        slot: int | None = None,
        page_size: int | None = None,
    ) -> Iterator[types.ArchiveGap]:
        """Lists gaps, newest first.

        page_size: entries of a page: 50 by default, at most 500
        """
        for each in self._caller.pages(
            "/manage/v1/gaps/archive",
            types.ArchiveGap,
            query_of(state=state, cause=cause, slot=slot, limit=page_size),
        ):
            yield each

    def get(self, archive_gap_id: int) -> types.ArchiveGap:
        """Reads a gap."""
        answer: types.ArchiveGap = self._caller.get(
            f"/manage/v1/gaps/archive/{archive_gap_id}", types.ArchiveGap
        )
        return answer

    def give_up(
        self, archive_gap_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.ArchiveGap:
        """Stops attempts on an open gap. It is closed if its slots arrive after all.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.ArchiveGap = self._caller.write(
            "POST",
            f"/manage/v1/gaps/archive/{archive_gap_id}/give-up",
            types.ArchiveGap,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer

    def retry(
        self, archive_gap_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.ArchiveGap:
        """Makes an open gap due now, even if it was given up.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.ArchiveGap = self._caller.write(
            "POST",
            f"/manage/v1/gaps/archive/{archive_gap_id}/retry",
            types.ArchiveGap,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer


class LedgerGaps:
    """Ledger gaps."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(
        self,
        *,
        state: Literal["closed", "given_up", "open"] | None = None,
        cause: str | None = None,
        slot: int | None = None,
        page_size: int | None = None,
    ) -> Iterator[types.LedgerGap]:
        """Lists gaps, newest first.

        page_size: entries of a page: 50 by default, at most 500
        """
        for each in self._caller.pages(
            "/manage/v1/gaps/ledger",
            types.LedgerGap,
            query_of(state=state, cause=cause, slot=slot, limit=page_size),
        ):
            yield each

    def get(self, ledger_gap_id: int) -> types.LedgerGap:
        """Reads a gap."""
        answer: types.LedgerGap = self._caller.get(
            f"/manage/v1/gaps/ledger/{ledger_gap_id}", types.LedgerGap
        )
        return answer

    def give_up(
        self, ledger_gap_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.LedgerGap:
        """Stops attempts on an open gap. It is closed if its slots arrive after all.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.LedgerGap = self._caller.write(
            "POST",
            f"/manage/v1/gaps/ledger/{ledger_gap_id}/give-up",
            types.LedgerGap,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer

    def retry(
        self, ledger_gap_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.LedgerGap:
        """Makes an open gap due now, even if it was given up.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.LedgerGap = self._caller.write(
            "POST",
            f"/manage/v1/gaps/ledger/{ledger_gap_id}/retry",
            types.LedgerGap,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer


class Keys:
    """Keys."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(
        self,
        *,
        customer: int | None = None,
        tier: str | None = None,
        state: Literal["active", "expired", "expiring", "revoked", "suspended"] | None = None,
        environment: str | None = None,
        name: str | None = None,
        page_size: int | None = None,
    ) -> Iterator[types.Key]:
        """Lists API keys, newest first.

        page_size: entries of a page: 50 by default, at most 500
        """
        for each in self._caller.pages(
            "/manage/v1/keys",
            types.Key,
            query_of(
                customer=customer,
                tier=tier,
                state=state,
                environment=environment,
                name=name,
                limit=page_size,
            ),
        ):
            yield each

    def create(
        self,
        *,
        name: str,
        calls_per_month: int | Unset | None = UNSET,
        customer: int | Unset = UNSET,
        environment: str | Unset = UNSET,
        expires_at: datetime | Unset | None = UNSET,
        like: int | Unset = UNSET,
        methods: Sequence[str] | Unset = UNSET,
        networks: Sequence[str] | Unset = UNSET,
        notes: str | Unset = UNSET,
        origins: Sequence[str] | Unset = UNSET,
        requests_per_second: float | Unset | None = UNSET,
        scopes: Sequence[Literal["priority", "bundle", "rewind", "historical", "simulate", "proxy"]]
        | Unset = UNSET,
        tier: str | Unset = UNSET,
        idempotency_key: str | None = None,
    ) -> types.IssuedKey:
        """Issues a key. Only this response has its secret.

        name: what the key is for
        calls_per_month: null applies its tier's limit
        methods: methods that the key may call; empty allows all methods of its scopes
        networks: CIDR list: addresses that may use the key; empty allows any address
        origins: only pages of these web origins may use the key; empty allows any page and
          program
        requests_per_second: calls per second; null applies its tier's limit, which is the
          maximum
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.IssuedKey = self._caller.write(
            "POST",
            "/manage/v1/keys",
            types.IssuedKey,
            body_of(
                callsPerMonth=calls_per_month,
                customer=customer,
                environment=environment,
                expiresAt=expires_at,
                like=like,
                methods=methods,
                name=name,
                networks=networks,
                notes=notes,
                origins=origins,
                requestsPerSecond=requests_per_second,
                scopes=scopes,
                tier=tier,
            ),
            idempotency_key=idempotency_key,
        )
        return answer

    def get(self, key_id: int) -> types.Key:
        """Reads an API key."""
        answer: types.Key = self._caller.get(f"/manage/v1/keys/{key_id}", types.Key)
        return answer

    def change(
        self,
        key_id: int,
        *,
        version: str,
        calls_per_month: int | Unset | None = UNSET,
        environment: str | Unset = UNSET,
        expires_at: datetime | Unset | None = UNSET,
        methods: Sequence[str] | Unset = UNSET,
        name: str | Unset = UNSET,
        networks: Sequence[str] | Unset = UNSET,
        notes: str | Unset = UNSET,
        origins: Sequence[str] | Unset = UNSET,
        requests_per_second: float | Unset | None = UNSET,
        scopes: Sequence[Literal["priority", "bundle", "rewind", "historical", "simulate", "proxy"]]
        | Unset = UNSET,
        tier: str | Unset = UNSET,
    ) -> types.Key:
        """Changes what a key may do, without changing its secret. Applies within two seconds.

        calls_per_month: null applies its tier's limit
        methods: methods that the key may call; empty allows all methods of its scopes
        name: what the key is for
        networks: CIDR list: addresses that may use the key; empty allows any address
        origins: only pages of these web origins may use the key; empty allows any page and
          program
        requests_per_second: calls per second; null applies its tier's limit, which is the
          maximum
        version: the `version` of what was read; `*` changes any
        """
        answer: types.Key = self._caller.write(
            "PATCH",
            f"/manage/v1/keys/{key_id}",
            types.Key,
            body_of(
                callsPerMonth=calls_per_month,
                environment=environment,
                expiresAt=expires_at,
                methods=methods,
                name=name,
                networks=networks,
                notes=notes,
                origins=origins,
                requestsPerSecond=requests_per_second,
                scopes=scopes,
                tier=tier,
            ),
            version=version,
        )
        return answer

    def end_overlap(
        self, key_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.Key:
        """Ends the overlap of a rotation: the old key stops working within two seconds.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.Key = self._caller.write(
            "POST",
            f"/manage/v1/keys/{key_id}/overlap/end",
            types.Key,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer

    def extend_overlap(
        self,
        key_id: int,
        *,
        more_hours: int,
        version: str | None = None,
        idempotency_key: str | None = None,
    ) -> types.Key:
        """Extends the overlap of a rotation.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.Key = self._caller.write(
            "POST",
            f"/manage/v1/keys/{key_id}/overlap/extend",
            types.Key,
            body_of(moreHours=more_hours),
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer

    def resume(
        self, key_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.Key:
        """Resumes a suspended key.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.Key = self._caller.write(
            "POST",
            f"/manage/v1/keys/{key_id}/resume",
            types.Key,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer

    def revoke(
        self, key_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.Key:
        """Revokes a key: calls with it are answered 401 within two seconds, for good.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.Key = self._caller.write(
            "POST",
            f"/manage/v1/keys/{key_id}/revoke",
            types.Key,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer

    def rotate(
        self,
        key_id: int,
        *,
        overlap_hours: int | Unset = UNSET,
        version: str | None = None,
        idempotency_key: str | None = None,
    ) -> types.IssuedKey:
        """Issues a successor with the same rights. The old key works for the overlap.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.IssuedKey = self._caller.write(
            "POST",
            f"/manage/v1/keys/{key_id}/rotate",
            types.IssuedKey,
            body_of(overlapHours=overlap_hours),
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer

    def suspend(
        self, key_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.Key:
        """Suspends a key: calls with it are answered 403 within two seconds, until it is
        resumed.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.Key = self._caller.write(
            "POST",
            f"/manage/v1/keys/{key_id}/suspend",
            types.Key,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer


class Members:
    """Members."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(
        self,
        *,
        customer: int | None = None,
        role: Literal["developer", "owner", "reader"] | None = None,
        email: str | None = None,
        page_size: int | None = None,
    ) -> Iterator[types.Member]:
        """Lists members, newest first.

        page_size: entries of a page: 50 by default, at most 500
        """
        for each in self._caller.pages(
            "/manage/v1/members",
            types.Member,
            query_of(customer=customer, role=role, email=email, limit=page_size),
        ):
            yield each

    def create(
        self,
        *,
        email: str,
        role: Literal["owner", "developer", "reader"],
        customer: int | Unset = UNSET,
        idempotency_key: str | None = None,
    ) -> types.MemberWithLink:
        """Invites a member.

        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.MemberWithLink = self._caller.write(
            "POST",
            "/manage/v1/members",
            types.MemberWithLink,
            body_of(customer=customer, email=email, role=role),
            idempotency_key=idempotency_key,
        )
        return answer

    def delete(self, member_id: int, *, version: str | None = None) -> None:
        """Removes a member, whose sessions end.

        version: the `version` that it must still have
        """
        self._caller.write("DELETE", f"/manage/v1/members/{member_id}", None, version=version)

    def get(self, member_id: int) -> types.Member:
        """Reads a member."""
        answer: types.Member = self._caller.get(f"/manage/v1/members/{member_id}", types.Member)
        return answer

    def change(
        self,
        member_id: int,
        *,
        version: str,
        role: Literal["owner", "developer", "reader"] | Unset = UNSET,
    ) -> types.Member:
        """Changes a member's role.

        version: the `version` of what was read; `*` changes any
        """
        answer: types.Member = self._caller.write(
            "PATCH",
            f"/manage/v1/members/{member_id}",
            types.Member,
            body_of(role=role),
            version=version,
        )
        return answer

    def activate(
        self, member_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.Member:
        """Lets a deactivated member sign in again. For root keys.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.Member = self._caller.write(
            "POST",
            f"/manage/v1/members/{member_id}/activate",
            types.Member,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer

    def deactivate(
        self, member_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.Member:
        """Deactivates a member: sessions end, and sign-ins are refused. For root keys.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.Member = self._caller.write(
            "POST",
            f"/manage/v1/members/{member_id}/deactivate",
            types.Member,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer

    def invite_again(
        self, member_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.MemberWithLink:
        """Invites a member without a password again; earlier links become invalid.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.MemberWithLink = self._caller.write(
            "POST",
            f"/manage/v1/members/{member_id}/invite",
            types.MemberWithLink,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer

    def password_link(
        self, member_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.MemberWithLink:
        """Makes a link to a new password for a member who has one. For root keys.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.MemberWithLink = self._caller.write(
            "POST",
            f"/manage/v1/members/{member_id}/password-link",
            types.MemberWithLink,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer

    def unbind_provider(
        self, member_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.Member:
        """Unbinds a member from the account at the sign-in provider. All sessions end, and the
        next account with the member's verified e-mail address is bound instead. For root
        keys.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.Member = self._caller.write(
            "POST",
            f"/manage/v1/members/{member_id}/provider/unbind",
            types.Member,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer

    def reset_second_factor(
        self, member_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.Member:
        """Removes a member's second factor, with its recovery codes. All sessions end. Verify
        first that the member asked for it. For root keys.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.Member = self._caller.write(
            "POST",
            f"/manage/v1/members/{member_id}/second-factor/reset",
            types.Member,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer

    def sign_out(
        self, member_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.Member:
        """Ends all sessions of a member, who can sign in again. For root keys.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.Member = self._caller.write(
            "POST",
            f"/manage/v1/members/{member_id}/sign-out",
            types.Member,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer


class Rules:
    """Rules."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(
        self,
        *,
        customer: int | None = None,
        webhook: int | None = None,
        trigger: Literal[
            "account", "landing_share", "mention", "program", "submission", "tip_spend"
        ]
        | None = None,
        enabled: bool | None = None,
        page_size: int | None = None,
    ) -> Iterator[types.Rule]:
        """Lists event rules, newest first.

        page_size: entries of a page: 50 by default, at most 500
        """
        for each in self._caller.pages(
            "/manage/v1/rules",
            types.Rule,
            query_of(
                customer=customer,
                webhook=webhook,
                trigger=trigger,
                enabled=enabled,
                limit=page_size,
            ),
        ):
            yield each

    def create(
        self,
        *,
        name: str,
        trigger: Literal[
            "submission", "landing_share", "tip_spend", "account", "program", "mention"
        ],
        condition: types.RuleCondition | Unset = UNSET,
        customer: int | Unset = UNSET,
        mails: bool | Unset = UNSET,
        webhook: int | Unset | None = UNSET,
        idempotency_key: str | None = None,
    ) -> types.Rule:
        """Adds an event rule, enabled, for what happens from now on.

        mails: whether the events are mailed to the customer
        webhook: the customer's webhook that gets the events, whatever types it has chosen
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.Rule = self._caller.write(
            "POST",
            "/manage/v1/rules",
            types.Rule,
            body_of(
                condition=condition,
                customer=customer,
                mails=mails,
                name=name,
                trigger=trigger,
                webhook=webhook,
            ),
            idempotency_key=idempotency_key,
        )
        return answer

    def delete(self, rule_id: int, *, version: str | None = None) -> None:
        """Deletes an event rule with its events and the record of their deliveries.

        version: the `version` that it must still have
        """
        self._caller.write("DELETE", f"/manage/v1/rules/{rule_id}", None, version=version)

    def get(self, rule_id: int) -> types.Rule:
        """Reads an event rule."""
        answer: types.Rule = self._caller.get(f"/manage/v1/rules/{rule_id}", types.Rule)
        return answer

    def change(
        self,
        rule_id: int,
        *,
        version: str,
        condition: types.RuleCondition | Unset = UNSET,
        mails: bool | Unset = UNSET,
        name: str | Unset = UNSET,
        webhook: int | Unset | None = UNSET,
    ) -> types.Rule:
        """Changes an event rule; its trigger stays.

        mails: whether the events are mailed to the customer
        webhook: the customer's webhook that gets the events, whatever types it has chosen
        version: the `version` of what was read; `*` changes any
        """
        answer: types.Rule = self._caller.write(
            "PATCH",
            f"/manage/v1/rules/{rule_id}",
            types.Rule,
            body_of(condition=condition, mails=mails, name=name, webhook=webhook),
            version=version,
        )
        return answer

    def disable(
        self, rule_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.Rule:
        """Disables an event rule; what it published is still delivered.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.Rule = self._caller.write(
            "POST",
            f"/manage/v1/rules/{rule_id}/disable",
            types.Rule,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer

    def enable(
        self, rule_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.Rule:
        """Enables an event rule, for what happens from now on.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.Rule = self._caller.write(
            "POST",
            f"/manage/v1/rules/{rule_id}/enable",
            types.Rule,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer

    def replay(
        self,
        rule_id: int,
        *,
        since: datetime,
        states: Sequence[Literal["delivered", "failed"]] | Unset = UNSET,
        until: datetime | Unset = UNSET,
        version: str | None = None,
        idempotency_key: str | None = None,
    ) -> types.Replayed:
        """Sends deliveries of an event rule again, in order and with the same webhook-ids.

        states: by default both
        until: by default now
        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.Replayed = self._caller.write(
            "POST",
            f"/manage/v1/rules/{rule_id}/replay",
            types.Replayed,
            body_of(since=since, states=states, until=until),
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer

    def test(
        self, rule_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.Rule:
        """Sends an example of an event rule's events to its recipients, with `test` set.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.Rule = self._caller.write(
            "POST",
            f"/manage/v1/rules/{rule_id}/test",
            types.Rule,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer


class Submissions:
    """Submissions."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(
        self,
        *,
        key: int | None = None,
        state: Literal["expired", "failed", "landed", "received", "refused", "sent"] | None = None,
        kind: Literal["bundle", "sweep", "transaction"] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        page_size: int | None = None,
    ) -> Iterator[types.Submission]:
        """Lists submissions, newest first.

        page_size: entries of a page: 50 by default, at most 500
        """
        for each in self._caller.pages(
            "/manage/v1/submissions",
            types.Submission,
            query_of(key=key, state=state, kind=kind, since=since, until=until, limit=page_size),
        ):
            yield each

    def get(self, submission_id: int) -> types.Submission:
        """Reads a submission."""
        answer: types.Submission = self._caller.get(
            f"/manage/v1/submissions/{submission_id}", types.Submission
        )
        return answer


class Tiers:
    """Tiers."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(self, *, page_size: int | None = None) -> Iterator[types.Tier]:
        """Lists tiers, newest first.

        page_size: entries of a page: 50 by default, at most 500
        """
        for each in self._caller.pages("/manage/v1/tiers", types.Tier, query_of(limit=page_size)):
            yield each

    def create(
        self,
        *,
        name: str,
        rank: int,
        bundles_burst: int | Unset = UNSET,
        bundles_per_second: float | Unset | None = UNSET,
        calls_per_month: int | Unset | None = UNSET,
        landing_weight: int | Unset = UNSET,
        requests_burst: int | Unset = UNSET,
        requests_per_second: float | Unset | None = UNSET,
        simulation_jobs: int | Unset = UNSET,
        simulations_per_job: int | Unset = UNSET,
        stream_bytes_per_month: int | Unset | None = UNSET,
        stream_connections: int | Unset = UNSET,
        stream_notifications_per_second: int | Unset | None = UNSET,
        stream_subscriptions: int | Unset = UNSET,
        tip_fetches_burst: int | Unset = UNSET,
        tip_fetches_daily_cap: int | Unset | None = UNSET,
        tip_fetches_per_second: float | Unset | None = UNSET,
        idempotency_key: str | None = None,
    ) -> types.Tier:
        """Adds a tier.

        rank: opens hosts of this rank and below: basic 10, ultra 20, elite 30, epic 40
        bundles_burst: bundles that may come at once after a pause
        bundles_per_second: bundles per second; empty means no limit
        calls_per_month: calls that one key may make in a calendar month (UTC); empty means no
          limit
        landing_weight: share of the landers' work while submissions wait: with 4, four of this
          tier are sent for one of a tier with 1
        requests_burst: calls that may come at once after a pause
        requests_per_second: calls per second; empty means no limit
        simulation_jobs: batch simulation jobs of one key that may be open at once; 0 is none
        simulations_per_job: simulations that one batch job may ask for
        stream_bytes_per_month: bytes of notifications to one key in a calendar month (UTC);
          empty means no limit
        stream_connections: WebSockets that one key (or address without a key) may have open; 0
          is none
        stream_notifications_per_second: notifications per second to one key, over ten seconds;
          empty means no limit
        stream_subscriptions: subscriptions of one WebSocket
        tip_fetches_burst: tip-address fetches that may come at once after a pause
        tip_fetches_daily_cap: tip-address fetches a UTC day; empty means no limit
        tip_fetches_per_second: tip-address fetches per second; empty means no limit
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.Tier = self._caller.write(
            "POST",
            "/manage/v1/tiers",
            types.Tier,
            body_of(
                bundlesBurst=bundles_burst,
                bundlesPerSecond=bundles_per_second,
                callsPerMonth=calls_per_month,
                landingWeight=landing_weight,
                name=name,
                rank=rank,
                requestsBurst=requests_burst,
                requestsPerSecond=requests_per_second,
                simulationJobs=simulation_jobs,
                simulationsPerJob=simulations_per_job,
                streamBytesPerMonth=stream_bytes_per_month,
                streamConnections=stream_connections,
                streamNotificationsPerSecond=stream_notifications_per_second,
                streamSubscriptions=stream_subscriptions,
                tipFetchesBurst=tip_fetches_burst,
                tipFetchesDailyCap=tip_fetches_daily_cap,
                tipFetchesPerSecond=tip_fetches_per_second,
            ),
            idempotency_key=idempotency_key,
        )
        return answer

    def delete(self, tier_id: int, *, version: str | None = None) -> None:
        """Deletes a tier without keys.

        version: the `version` that it must still have
        """
        self._caller.write("DELETE", f"/manage/v1/tiers/{tier_id}", None, version=version)

    def get(self, tier_id: int) -> types.Tier:
        """Reads a tier."""
        answer: types.Tier = self._caller.get(f"/manage/v1/tiers/{tier_id}", types.Tier)
        return answer

    def change(
        self,
        tier_id: int,
        *,
        version: str,
        bundles_burst: int | Unset = UNSET,
        bundles_per_second: float | Unset | None = UNSET,
        calls_per_month: int | Unset | None = UNSET,
        landing_weight: int | Unset = UNSET,
        name: str | Unset = UNSET,
        rank: int | Unset = UNSET,
        requests_burst: int | Unset = UNSET,
        requests_per_second: float | Unset | None = UNSET,
        simulation_jobs: int | Unset = UNSET,
        simulations_per_job: int | Unset = UNSET,
        stream_bytes_per_month: int | Unset | None = UNSET,
        stream_connections: int | Unset = UNSET,
        stream_notifications_per_second: int | Unset | None = UNSET,
        stream_subscriptions: int | Unset = UNSET,
        tip_fetches_burst: int | Unset = UNSET,
        tip_fetches_daily_cap: int | Unset | None = UNSET,
        tip_fetches_per_second: float | Unset | None = UNSET,
    ) -> types.Tier:
        """Changes a tier's limits, for all of its keys within two seconds.

        bundles_burst: bundles that may come at once after a pause
        bundles_per_second: bundles per second; empty means no limit
        calls_per_month: calls that one key may make in a calendar month (UTC); empty means no
          limit
        landing_weight: share of the landers' work while submissions wait: with 4, four of this
          tier are sent for one of a tier with 1
        rank: opens hosts of this rank and below: basic 10, ultra 20, elite 30, epic 40
        requests_burst: calls that may come at once after a pause
        requests_per_second: calls per second; empty means no limit
        simulation_jobs: batch simulation jobs of one key that may be open at once; 0 is none
        simulations_per_job: simulations that one batch job may ask for
        stream_bytes_per_month: bytes of notifications to one key in a calendar month (UTC);
          empty means no limit
        stream_connections: WebSockets that one key (or address without a key) may have open; 0
          is none
        stream_notifications_per_second: notifications per second to one key, over ten seconds;
          empty means no limit
        stream_subscriptions: subscriptions of one WebSocket
        tip_fetches_burst: tip-address fetches that may come at once after a pause
        tip_fetches_daily_cap: tip-address fetches a UTC day; empty means no limit
        tip_fetches_per_second: tip-address fetches per second; empty means no limit
        version: the `version` of what was read; `*` changes any
        """
        answer: types.Tier = self._caller.write(
            "PATCH",
            f"/manage/v1/tiers/{tier_id}",
            types.Tier,
            body_of(
                bundlesBurst=bundles_burst,
                bundlesPerSecond=bundles_per_second,
                callsPerMonth=calls_per_month,
                landingWeight=landing_weight,
                name=name,
                rank=rank,
                requestsBurst=requests_burst,
                requestsPerSecond=requests_per_second,
                simulationJobs=simulation_jobs,
                simulationsPerJob=simulations_per_job,
                streamBytesPerMonth=stream_bytes_per_month,
                streamConnections=stream_connections,
                streamNotificationsPerSecond=stream_notifications_per_second,
                streamSubscriptions=stream_subscriptions,
                tipFetchesBurst=tip_fetches_burst,
                tipFetchesDailyCap=tip_fetches_daily_cap,
                tipFetchesPerSecond=tip_fetches_per_second,
            ),
            version=version,
        )
        return answer


class TipBatches:
    """Tip batches."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(
        self,
        *,
        ttl_class: int | None = None,
        state: Literal["closed", "open", "prepared"] | None = None,
        swept: bool | None = None,
        page_size: int | None = None,
    ) -> Iterator[types.TipBatch]:
        """Lists batches of tip addresses, newest first.

        page_size: entries of a page: 50 by default, at most 500
        """
        for each in self._caller.pages(
            "/manage/v1/tip-batches",
            types.TipBatch,
            query_of(ttlClass=ttl_class, state=state, swept=swept, limit=page_size),
        ):
            yield each

    def get(self, tip_batche_id: int) -> types.TipBatch:
        """Reads a batch of tip addresses."""
        answer: types.TipBatch = self._caller.get(
            f"/manage/v1/tip-batches/{tip_batche_id}", types.TipBatch
        )
        return answer

    def sweep(
        self, tip_batche_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.TipBatch:
        """Orders a sweep of a closed batch: its balances are read and swept within seconds, or
        when its addresses have expired.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.TipBatch = self._caller.write(
            "POST",
            f"/manage/v1/tip-batches/{tip_batche_id}/sweep",
            types.TipBatch,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer


class TipSweeps:
    """Tip sweeps."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(
        self,
        *,
        state: Literal["expired", "failed", "landed", "planned"] | None = None,
        page_size: int | None = None,
    ) -> Iterator[types.TipSweep]:
        """Lists sweeps, newest first.

        page_size: entries of a page: 50 by default, at most 500
        """
        for each in self._caller.pages(
            "/manage/v1/tip-sweeps", types.TipSweep, query_of(state=state, limit=page_size)
        ):
            yield each

    def get(self, tip_sweep_id: int) -> types.TipSweep:
        """Reads a sweep."""
        answer: types.TipSweep = self._caller.get(
            f"/manage/v1/tip-sweeps/{tip_sweep_id}", types.TipSweep
        )
        return answer


class Tips:
    """Tips."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(
        self,
        *,
        kind: Literal["other", "sweep", "tip"] | None = None,
        key: int | None = None,
        slot: int | None = None,
        page_size: int | None = None,
    ) -> Iterator[types.Tip]:
        """Lists entries of the tip ledger, newest first.

        page_size: entries of a page: 50 by default, at most 500
        """
        for each in self._caller.pages(
            "/manage/v1/tips", types.Tip, query_of(kind=kind, key=key, slot=slot, limit=page_size)
        ):
            yield each

    def get(self, tip_id: int) -> types.Tip:
        """Reads an entry of the tip ledger."""
        answer: types.Tip = self._caller.get(f"/manage/v1/tips/{tip_id}", types.Tip)
        return answer


class TtlClasses:
    """Ttl classes."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(self, *, page_size: int | None = None) -> Iterator[types.TtlClass]:
        """Lists TTL classes, newest first.

        page_size: entries of a page: 50 by default, at most 500
        """
        for each in self._caller.pages(
            "/manage/v1/ttl-classes", types.TtlClass, query_of(limit=page_size)
        ):
            yield each

    def create(
        self,
        *,
        ttl_seconds: int,
        window_seconds: int,
        batch_size: int | Unset = UNSET,
        is_default: bool | Unset = UNSET,
        idempotency_key: str | None = None,
    ) -> types.TtlClass:
        """Adds a TTL class.

        ttl_seconds: how long an address lives; a fetch takes the smallest class that is long
          enough
        window_seconds: how long addresses of one batch are issued before the next batch opens
        batch_size: addresses per batch; a batch with none left before its window ends is closed
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.TtlClass = self._caller.write(
            "POST",
            "/manage/v1/ttl-classes",
            types.TtlClass,
            body_of(
                batchSize=batch_size,
                isDefault=is_default,
                ttlSeconds=ttl_seconds,
                windowSeconds=window_seconds,
            ),
            idempotency_key=idempotency_key,
        )
        return answer

    def delete(self, ttl_class_id: int, *, version: str | None = None) -> None:
        """Deletes a TTL class that has not issued any address.

        version: the `version` that it must still have
        """
        self._caller.write(
            "DELETE", f"/manage/v1/ttl-classes/{ttl_class_id}", None, version=version
        )

    def get(self, ttl_class_id: int) -> types.TtlClass:
        """Reads a TTL class."""
        answer: types.TtlClass = self._caller.get(
            f"/manage/v1/ttl-classes/{ttl_class_id}", types.TtlClass
        )
        return answer

    def change(
        self,
        ttl_class_id: int,
        *,
        version: str,
        batch_size: int | Unset = UNSET,
        is_default: bool | Unset = UNSET,
        ttl_seconds: int | Unset = UNSET,
        window_seconds: int | Unset = UNSET,
    ) -> types.TtlClass:
        """Changes a TTL class.

        batch_size: addresses per batch; a batch with none left before its window ends is closed
        ttl_seconds: how long an address lives; a fetch takes the smallest class that is long
          enough
        window_seconds: how long addresses of one batch are issued before the next batch opens
        version: the `version` of what was read; `*` changes any
        """
        answer: types.TtlClass = self._caller.write(
            "PATCH",
            f"/manage/v1/ttl-classes/{ttl_class_id}",
            types.TtlClass,
            body_of(
                batchSize=batch_size,
                isDefault=is_default,
                ttlSeconds=ttl_seconds,
                windowSeconds=window_seconds,
            ),
            version=version,
        )
        return answer

    def prepare(
        self, ttl_class_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.TtlClass:
        """Prepares one more batch of addresses.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.TtlClass = self._caller.write(
            "POST",
            f"/manage/v1/ttl-classes/{ttl_class_id}/prepare",
            types.TtlClass,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer

    def rotate(
        self, ttl_class_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.TtlClass:
        """Closes the open batch now and opens the next prepared one.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.TtlClass = self._caller.write(
            "POST",
            f"/manage/v1/ttl-classes/{ttl_class_id}/rotate",
            types.TtlClass,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer

    def sweep(
        self, ttl_class_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.TtlClass:
        """Orders sweeps of the expired batches to the treasury.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.TtlClass = self._caller.write(
            "POST",
            f"/manage/v1/ttl-classes/{ttl_class_id}/sweep",
            types.TtlClass,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer


class Upstreams:
    """Upstreams."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(self, *, page_size: int | None = None) -> Iterator[types.Upstream]:
        """Lists upstreams, newest first.

        page_size: entries of a page: 50 by default, at most 500
        """
        for each in self._caller.pages(
            "/manage/v1/upstreams", types.Upstream, query_of(limit=page_size)
        ):
            yield each

    def create(
        self,
        *,
        kind: Literal["leaders", "node", "block_engine"],
        name: str,
        is_enabled: bool | Unset = UNSET,
        own_tip_lamports: int | Unset = UNSET,
        tiers: Sequence[str] | Unset = UNSET,
        timeout_ms: int | Unset = UNSET,
        url: str | Unset = UNSET,
        weight: int | Unset = UNSET,
        idempotency_key: str | None = None,
    ) -> types.Upstream:
        """Adds an upstream.

        name: callers choose by it; `bundle` is reserved
        own_tip_lamports: block engines: what we tip the engine ourselves, by a transaction of
          our own behind the bundle's; 0 leaves it to the bundle
        url: of the node that reports the leaders, of the node, or of the block engine; empty:
          those of the followed chain (the block engine: localnet's)
        weight: of a hundred submissions that choose no upstream, so many go this way too
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.Upstream = self._caller.write(
            "POST",
            "/manage/v1/upstreams",
            types.Upstream,
            body_of(
                isEnabled=is_enabled,
                kind=kind,
                name=name,
                ownTipLamports=own_tip_lamports,
                tiers=tiers,
                timeoutMs=timeout_ms,
                url=url,
                weight=weight,
            ),
            idempotency_key=idempotency_key,
        )
        return answer

    def delete(self, upstream_id: int, *, version: str | None = None) -> None:
        """Deletes an upstream.

        version: the `version` that it must still have
        """
        self._caller.write("DELETE", f"/manage/v1/upstreams/{upstream_id}", None, version=version)

    def get(self, upstream_id: int) -> types.Upstream:
        """Reads an upstream."""
        answer: types.Upstream = self._caller.get(
            f"/manage/v1/upstreams/{upstream_id}", types.Upstream
        )
        return answer

    def change(
        self,
        upstream_id: int,
        *,
        version: str,
        is_enabled: bool | Unset = UNSET,
        kind: Literal["leaders", "node", "block_engine"] | Unset = UNSET,
        name: str | Unset = UNSET,
        own_tip_lamports: int | Unset = UNSET,
        tiers: Sequence[str] | Unset = UNSET,
        timeout_ms: int | Unset = UNSET,
        url: str | Unset = UNSET,
        weight: int | Unset = UNSET,
    ) -> types.Upstream:
        """Changes an upstream. Landers follow within two seconds.

        name: callers choose by it; `bundle` is reserved
        own_tip_lamports: block engines: what we tip the engine ourselves, by a transaction of
          our own behind the bundle's; 0 leaves it to the bundle
        url: of the node that reports the leaders, of the node, or of the block engine; empty:
          those of the followed chain (the block engine: localnet's)
        weight: of a hundred submissions that choose no upstream, so many go this way too
        version: the `version` of what was read; `*` changes any
        """
        answer: types.Upstream = self._caller.write(
            "PATCH",
            f"/manage/v1/upstreams/{upstream_id}",
            types.Upstream,
            body_of(
                isEnabled=is_enabled,
                kind=kind,
                name=name,
                ownTipLamports=own_tip_lamports,
                tiers=tiers,
                timeoutMs=timeout_ms,
                url=url,
                weight=weight,
            ),
            version=version,
        )
        return answer

    def reset_breaker(
        self, upstream_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.Upstream:
        """Resets the circuit breaker: the upstream is tried again at once.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.Upstream = self._caller.write(
            "POST",
            f"/manage/v1/upstreams/{upstream_id}/breaker/reset",
            types.Upstream,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer

    def disable(
        self, upstream_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.Upstream:
        """Disables an upstream: nothing more is sent to it.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.Upstream = self._caller.write(
            "POST",
            f"/manage/v1/upstreams/{upstream_id}/disable",
            types.Upstream,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer

    def drain(
        self, upstream_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.Upstream:
        """Drains an upstream: new submissions go elsewhere, earlier ones continue.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.Upstream = self._caller.write(
            "POST",
            f"/manage/v1/upstreams/{upstream_id}/drain",
            types.Upstream,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer

    def enable(
        self, upstream_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.Upstream:
        """Enables an upstream: it takes new submissions.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.Upstream = self._caller.write(
            "POST",
            f"/manage/v1/upstreams/{upstream_id}/enable",
            types.Upstream,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer


class Usage:
    """Usage."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def read(
        self,
        *,
        span: Literal["1h", "24h", "7d", "month", "30d", "90d"] | None = None,
        from_: str | None = None,
        to: str | None = None,
        key: int | None = None,
        customer: int | None = None,
        keyless: bool | None = None,
        method: str | None = None,
        status: str | None = None,
    ) -> types.Usage:
        """Calls over time, by method and outcome, and by key.

        span: 24h by default
        from_: UTC: 2026-01-31T14:05
        to: UTC, exclusive; a day is meant whole
        """
        answer: types.Usage = self._caller.get(
            "/manage/v1/usage",
            types.Usage,
            query_of(
                span=span,
                to=to,
                key=key,
                customer=customer,
                keyless=keyless,
                method=method,
                status=status,
                **{"from": from_},
            ),
        )
        return answer

    def csv(
        self,
        *,
        span: Literal["1h", "24h", "7d", "month", "30d", "90d"] | None = None,
        from_: str | None = None,
        to: str | None = None,
        key: int | None = None,
        customer: int | None = None,
        keyless: bool | None = None,
        method: str | None = None,
        status: str | None = None,
        of: Literal["steps", "methods", "rows"] | None = None,
    ) -> str:
        """The same as CSV: calls by step, by method, or every row by key, method and day.

        span: 24h by default
        from_: UTC: 2026-01-31T14:05
        to: UTC, exclusive; a day is meant whole
        of: calls by step, by method, or every row
        """
        answer: str = self._caller.text(
            "/manage/v1/usage/csv",
            query_of(
                span=span,
                to=to,
                key=key,
                customer=customer,
                keyless=keyless,
                method=method,
                status=status,
                of=of,
                **{"from": from_},
            ),
        )
        return answer


class Webhooks:
    """Webhooks."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(
        self,
        *,
        customer: int | None = None,
        enabled: bool | None = None,
        page_size: int | None = None,
    ) -> Iterator[types.Webhook]:
        """Lists webhooks, newest first.

        page_size: entries of a page: 50 by default, at most 500
        """
        for each in self._caller.pages(
            "/manage/v1/webhooks",
            types.Webhook,
            query_of(customer=customer, enabled=enabled, limit=page_size),
        ):
            yield each

    def create(
        self,
        *,
        name: str,
        url: str,
        customer: int | Unset | None = UNSET,
        kinds: Sequence[str] | Unset = UNSET,
        idempotency_key: str | None = None,
    ) -> types.WebhookWithSecret:
        """Adds a webhook, enabled, with a new secret.

        kinds: the events to deliver; empty means all
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.WebhookWithSecret = self._caller.write(
            "POST",
            "/manage/v1/webhooks",
            types.WebhookWithSecret,
            body_of(customer=customer, kinds=kinds, name=name, url=url),
            idempotency_key=idempotency_key,
        )
        return answer

    def delete(self, webhook_id: int, *, version: str | None = None) -> None:
        """Deletes a webhook with the record of its deliveries.

        version: the `version` that it must still have
        """
        self._caller.write("DELETE", f"/manage/v1/webhooks/{webhook_id}", None, version=version)

    def get(self, webhook_id: int) -> types.Webhook:
        """Reads a webhook."""
        answer: types.Webhook = self._caller.get(f"/manage/v1/webhooks/{webhook_id}", types.Webhook)
        return answer

    def change(
        self,
        webhook_id: int,
        *,
        version: str,
        kinds: Sequence[str] | Unset = UNSET,
        name: str | Unset = UNSET,
        url: str | Unset = UNSET,
    ) -> types.Webhook:
        """Changes a webhook.

        kinds: the events to deliver; empty means all
        version: the `version` of what was read; `*` changes any
        """
        answer: types.Webhook = self._caller.write(
            "PATCH",
            f"/manage/v1/webhooks/{webhook_id}",
            types.Webhook,
            body_of(kinds=kinds, name=name, url=url),
            version=version,
        )
        return answer

    def disable(
        self, webhook_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.Webhook:
        """Disables a webhook; waiting deliveries are given up.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.Webhook = self._caller.write(
            "POST",
            f"/manage/v1/webhooks/{webhook_id}/disable",
            types.Webhook,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer

    def enable(
        self, webhook_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.Webhook:
        """Enables a webhook for new events, and clears its failures.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.Webhook = self._caller.write(
            "POST",
            f"/manage/v1/webhooks/{webhook_id}/enable",
            types.Webhook,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer

    def rotate(
        self, webhook_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.WebhookWithSecret:
        """Makes a new secret; for a day requests are signed with the old one as well.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.WebhookWithSecret = self._caller.write(
            "POST",
            f"/manage/v1/webhooks/{webhook_id}/rotate",
            types.WebhookWithSecret,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer

    def test(
        self, webhook_id: int, *, version: str | None = None, idempotency_key: str | None = None
    ) -> types.Webhook:
        """Posts an event of the kind `test` within seconds.

        version: the `version` that it must still have
        idempotency_key: a call that is made again with it gets the same response; a new one by
          default
        """
        answer: types.Webhook = self._caller.write(
            "POST",
            f"/manage/v1/webhooks/{webhook_id}/test",
            types.Webhook,
            version=version,
            idempotency_key=idempotency_key,
        )
        return answer


class Resources:
    """Every resource of the management API."""

    alarms: Alarms
    audit: Audit
    coverage: Coverage
    customers: Customers
    deliveries: Deliveries
    archive_gaps: ArchiveGaps
    ledger_gaps: LedgerGaps
    keys: Keys
    members: Members
    rules: Rules
    submissions: Submissions
    tiers: Tiers
    tip_batches: TipBatches
    tip_sweeps: TipSweeps
    tips: Tips
    ttl_classes: TtlClasses
    upstreams: Upstreams
    usage: Usage
    webhooks: Webhooks

    def __init__(self, caller: Caller) -> None:
        self.alarms = Alarms(caller)
        self.audit = Audit(caller)
        self.coverage = Coverage(caller)
        self.customers = Customers(caller)
        self.deliveries = Deliveries(caller)
        self.archive_gaps = ArchiveGaps(caller)
        self.ledger_gaps = LedgerGaps(caller)
        self.keys = Keys(caller)
        self.members = Members(caller)
        self.rules = Rules(caller)
        self.submissions = Submissions(caller)
        self.tiers = Tiers(caller)
        self.tip_batches = TipBatches(caller)
        self.tip_sweeps = TipSweeps(caller)
        self.tips = Tips(caller)
        self.ttl_classes = TtlClasses(caller)
        self.upstreams = Upstreams(caller)
        self.usage = Usage(caller)
        self.webhooks = Webhooks(caller)
