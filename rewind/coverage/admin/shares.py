"""How the archive's pages say a share."""


def percent_of(share: float | None) -> str:
    if share is None:
        return "-"
    if 0 < share < 0.001:
        return "below 0.001%"
    # Never rounded up to all, nor down to none.
    shown = f"{share:.3f}".rstrip("0").rstrip(".")
    return "above 99.999%" if shown == "100" and share < 100 else f"{shown}%"
