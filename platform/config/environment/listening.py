"""The ports that the settings let a run listen on."""

from django.conf import settings

from config.running.ports import Port


def ports_of_a_run(host: str, port: int) -> list[Port]:
    """Everything that `manage.py run` listens on, with HOST and PORT as given."""
    ports = [Port(host, port, ("HOST", "PORT"))]
    if settings.WEBSOCKET_NEXT_PORT:
        ports.append(Port(host, port + 1, ("HOST", "PORT"), 1))
    if settings.GRPC_PORT:
        ports.append(Port(host, settings.GRPC_PORT, ("HOST", "GRPC_PORT")))
    if not settings.LOCALNET:
        return ports
    where = settings.LOCALNET_HOST
    for number, name, offset, udp in (
        (settings.LOCALNET_RPC_PORT, "LOCALNET_RPC_PORT", 0, False),
        (settings.LOCALNET_RPC_PORT + 1, "LOCALNET_RPC_PORT", 1, False),
        (settings.LOCALNET_GEYSER_PORT, "LOCALNET_GEYSER_PORT", 0, False),
        (settings.LOCALNET_TPU_PORT, "LOCALNET_TPU_PORT", 0, True),
        (settings.LOCALNET_BLOCK_ENGINE_PORT, "LOCALNET_BLOCK_ENGINE_PORT", 0, False),
        (settings.LOCALNET_BLOCK_ENGINE_PORT + 1, "LOCALNET_BLOCK_ENGINE_PORT", 1, False),
    ):
        ports.append(Port(where, number, ("LOCALNET_HOST", name), offset, udp))
    return ports
