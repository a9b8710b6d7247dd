"""SQL on submissions that another customer had submitted before: they are sent once, and shared."""

# What a key submitted besides the key of the row: `c` says when, `k` is that key, `s` the row.
NOTED = (
    "priority_cosubmitter c JOIN access_apikey k ON k.id = c.key_id"
    " JOIN priority_submission s ON s.signature = c.name"
)
# Of these, one for each customer that is not the row's: that of its first key.
IS_FIRST = (
    "NOT EXISTS (SELECT FROM access_apikey o"
    "  WHERE o.id = s.key_id AND o.customer_id = k.customer_id)"
    " AND NOT EXISTS (SELECT FROM priority_cosubmitter e JOIN access_apikey o ON o.id = e.key_id"
    "  WHERE e.name = c.name AND e.id < c.id AND o.customer_id = k.customer_id)"
)


def bundle_of(customer: str, row: str = "s") -> str:
    """SQL: the id of the bundle in which the customer submitted the transaction of the row, null
    for one that it sent alone. The row is in one bundle, perhaps another customer's; other bundles
    with the transaction keep its signature, and one bundle may be of several customers.
    """
    owner = "SELECT o.customer_id FROM access_apikey o WHERE o.id = b.key_id"
    # Correlated, so that no plan reads all that a customer noted.
    noted = (
        "SELECT o.customer_id FROM priority_cosubmitter n JOIN access_apikey o ON o.id = n.key_id"
        " WHERE n.name = decode(b.bundle_id, 'hex')"
    )
    held = f"(b.signatures IS NOT NULL AND b.signatures @> ARRAY[{row}.signature::bytea])"
    return (
        "COALESCE((SELECT b.bundle_id FROM priority_bundle b"
        f" WHERE b.id = {row}.bundle_id AND {customer} = ({owner})),"
        # Rare: not read where the row is in no bundle, for then none has it.
        f" CASE WHEN {row}.bundle_id IS NOT NULL THEN"
        " (SELECT (array_agg(b.bundle_id ORDER BY b.id))[1] FROM priority_bundle b"
        f" WHERE (b.id = {row}.bundle_id OR {held})"
        f" AND {customer} IN ({owner} UNION ALL {noted})) END)"
    )
