"""How a call of gRPC ends."""

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16

_NAMES = {
    value: name for name, value in list(globals().items()) if name.isupper() and name[0] != "_"
}


class GrpcStatus(Exception):
    """How a call ended: `code` is a gRPC status, `text` what the server said."""

    def __init__(self, code: int, text: str) -> None:
        name = _NAMES.get(code, str(code))
        super().__init__(f"{name}: {text}" if text else name)
        self.code = code
        self.text = text
