"""solana-client, yellowstone-grpc-client and solana-tpu-client-next: the whole way with one URL;
and the lander's TPU client at solana-streamer's port, which is what leaders run.
"""

import asyncio
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from solders.keypair import Keypair

from tests.patience import PATIENCE_SECONDS as PATIENCE
from tests.upstream.tpu_ports import SENDER, state_of, wire
from upstream.tpu import TpuClient
from upstream.tpu_connection import Limits
from upstream.tpu_socket import Address

from .conftest import HERE, Target, needed, whole_way

pytestmark = pytest.mark.clients
COUNT = 2_000


@pytest.fixture(scope="module")
def programs(built: Callable[..., Path]) -> Path:
    """The folder of the compiled programs `way` and `port`."""
    needed("cargo")
    rust = HERE / "rust"
    sources = [str(each.relative_to(rust)) for each in sorted(rust.glob("src/**/*.rs"))]
    command = ["cargo", "build", "--locked"]
    return built("rust", ["Cargo.toml", "Cargo.lock", *sources], command, []) / "target/debug"


def test_rust_goes_its_whole_way(target: Target, programs: Path) -> None:
    whole_way([str(programs / "way")], target)


@contextmanager
def port_of(program: Path, *staked: str) -> Iterator[tuple[Address, "subprocess.Popen[str]"]]:
    process = subprocess.Popen([program, *staked], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield ("127.0.0.1", int(process.stdout.readline())), process
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("staked", [True, False])
def test_the_tpu_client_at_a_leader_s_own_port(programs: Path, staked: bool) -> None:
    """Each transaction comes once, with its bytes; with a stake and without."""
    wires = [wire(number) for number in range(1, COUNT + 1)]
    identities = [str(SENDER.pubkey())] if staked else [str(Keypair().pubkey())]

    async def send(address: Address) -> None:
        client = TpuClient(SENDER, limits=Limits(send_seconds=PATIENCE, waiting=COUNT))
        try:
            async with asyncio.timeout(2 * PATIENCE):
                await asyncio.gather(*(client.send(address, each) for each in wires))
            counts = state_of(client, address).counts
            assert (counts["sent"], counts["acked"]) == (COUNT, COUNT)
            assert counts["connections"] == 1
        finally:
            await client.close()

    with port_of(programs / "port", *identities) as (address, process):
        asyncio.run(send(address))
        assert process.stdout is not None
        came = [bytes.fromhex(process.stdout.readline()) for _ in wires]
    assert sorted(came) == sorted(wires)
