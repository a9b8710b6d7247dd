"""HTTP/2 where one side says that it goes away (GOAWAY): its streams go on until they are done.

h2 would close the connection at once (its issue 1181).
"""

from h2.config import H2Configuration
from h2.connection import (
    ConnectionInputs,
    ConnectionState,
    H2Connection,
    H2ConnectionStateMachine,
)
from h2.events import Event


class _States(H2ConnectionStateMachine):
    def process_input(self, input_: ConnectionInputs) -> list[Event]:
        is_open = self.state in {ConnectionState.CLIENT_OPEN, ConnectionState.SERVER_OPEN}
        if input_ is ConnectionInputs.RECV_GOAWAY and is_open:
            return []
        return super().process_input(input_)


class DrainingConnection(H2Connection):
    """h2's connection, which goes on after the other side's GOAWAY until one of them closes it."""

    def __init__(self, config: H2Configuration) -> None:
        super().__init__(config)
        self.state_machine = _States()

    def clear_outbound_data_buffer(self) -> None:
        """Called at GOAWAY; what waits here is still wanted, such as answers to pings."""
