"""What came of a replay, in a sentence."""

from rewind.replay.services.replays.results import Json, ReplayedTransaction, ReplayResult


def outcome_of(result: ReplayResult, *, is_altered: bool) -> str:
    """Of all transactions together, beside what the chain recorded."""
    how = "with the changes" if is_altered else "in the replay"
    if len(result.transactions) == 1:
        return _of_one(result.transactions[0], how)
    ran = [each.replayed for each in result.transactions]
    failed = next(
        (number for number, meta in enumerate(ran, 1) if meta and meta["err"] is not None), None
    )
    if failed is not None:
        return f"Transaction {failed} of {len(ran)} fails {how}: the bundle does not land."
    other = [number for number, each in enumerate(result.transactions, 1) if each.differs]
    if not other:
        return f"All {len(ran)} transactions end {how} as the chain recorded."
    named = ", ".join(map(str, other))
    which = f"transaction {named} differs" if len(other) == 1 else f"transactions {named} differ"
    return f"All {len(ran)} transactions succeed {how}; {which} from the record."


def _of_one(each: ReplayedTransaction, how: str) -> str:
    then, now = _fate(each.recorded), _fate(each.replayed)
    if then is None:
        return f"It {'fails' if now else 'succeeds'} {how}; the chain's outcome is not recorded."
    if then and not now:
        return f"It failed on chain, and succeeds {how}."
    if now and not then:
        return f"It succeeded on chain, and fails {how}."
    if not each.differs:
        return f"It ends {how} as the chain recorded."
    if not then:
        return f"It succeeds {how} as on chain, with differences."
    same = each.recorded and each.replayed and each.recorded["err"] == each.replayed["err"]
    return f"It fails {how} {'with the same error' if same else 'with another error'}."


def _fate(meta: Json | None) -> bool | None:
    """Whether it failed; None where nothing is recorded."""
    return None if meta is None else meta["err"] is not None
