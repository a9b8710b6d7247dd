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


def bundle_of(key: str) -> str:
    """The id of the bundle of the row `s` if the key's customer submitted that; else null: another
    customer may have sent the same transaction in a bundle.
    """
    customer = "(SELECT customer_id FROM access_apikey WHERE id = {})".format
    return (
        "(SELECT b.bundle_id FROM priority_bundle b WHERE b.id = s.bundle_id"
        f" AND {customer('b.key_id')} = {customer(key)})"
    )
