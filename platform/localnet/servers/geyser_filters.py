"""What a message of localnet is to a subscriber, by the filters of its request."""

from collections.abc import Iterator

from localnet.servers.geyser_messages import (
    BlockMessage,
    BlockMetaMessage,
    Message,
    SlotMessage,
)
from upstream.geyser.request_filters import Filters, named
from upstream.geyser.sent_messages import AccountMessage, EntryMessage, TransactionMessage


def updates(filters: Filters, message: Message) -> Iterator[tuple[bytes, bytes]]:
    """(filters, body) of every update that the message is to this subscriber."""
    match message:
        case AccountMessage():
            names = [name for name, each in filters.accounts if each.matches(message.write)]
            if names:
                yield named(*names), message.body(filters.slices)
        case SlotMessage():
            names = [
                name
                for name, each in filters.slots
                if each.matches(message.status.value, filters.commitment)
            ]
            if names:
                yield named(*names), message.body
        case TransactionMessage():
            names = [name for name, each in filters.transactions if each.matches(message)]
            if names:
                yield named(*names), message.body
            names = [name for name, each in filters.statuses if each.matches(message)]
            if names:
                yield named(*names), message.status_body
        case EntryMessage():
            if filters.entries:
                yield named(*(name for name, _ in filters.entries)), message.body
        case BlockMessage():
            for name, each in filters.blocks:
                yield named(name), message.body(each, filters.slices)
        case BlockMetaMessage():
            if filters.blocks_meta:
                yield named(*(name for name, _ in filters.blocks_meta)), message.body
