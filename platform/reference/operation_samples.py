"""An operation's example as code in four languages, for the reader's host."""

from dataclasses import replace
from typing import Any, Literal

from reference import client_samples
from reference.examples import GET_EXAMPLES, request_of
from reference.languages import Request, Sample, samples
from reference.pages import Operation

_READS: dict[str, Literal["json", "text", "lines"]] = {
    "application/json": "json",
    "text/event-stream": "lines",
}


def samples_of(operation: Operation, base: str, values: dict[str, Any]) -> list[Sample]:
    """The operation's example with these values, sent to `base`: with Tidemark's clients where they
    have the method.
    """
    found = samples(request(operation, base, values))
    if not has_clients(operation):
        return found
    params = request_of(operation.path, operation.name, values)
    texts = client_samples.texts(operation.path, operation.name, params, base)
    return [replace(each, text=texts.get(each.id, each.text)) for each in found]


def has_clients(operation: Operation) -> bool:
    """Whether Tidemark's clients have the method; what is asked by GET is shown as that."""
    return not operation.is_get and client_samples.have(operation.path, operation.name)


def request(operation: Operation, base: str, values: dict[str, Any]) -> Request:
    """The operation's example as a request."""
    if operation.is_get:
        path = GET_EXAMPLES[operation.path]
        return Request(
            base + path,
            secret=operation.secret,
            scheme="Bearer " if operation.secret == "METRICS_TOKEN" else "",
            reads=_READS.get(operation.content_type, "text"),
        )
    params = request_of(operation.path, operation.name, values)
    body = {"jsonrpc": "2.0", "id": 1, "method": operation.name, "params": params}
    return Request(base + operation.path, body, secret="KEY")
