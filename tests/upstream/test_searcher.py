"""The client of a block engine's gRPC, with engines that answer anything, restart, or hang."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import grpc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.keypair import Keypair

from tests.examples import examples
from tests.localnet_process import new_localnet
from tests.patience import PATIENCE_SECONDS
from upstream.http.errors import BadAddress
from upstream.searcher import SearcherEngine
from upstream.submitting import SubmitError


class _Anything(grpc.GenericRpcHandler):
    """Answers every call with these bytes."""

    def __init__(self, answer: Callable[[str], bytes]) -> None:
        self._answer = answer

    def service(self, details: Any) -> Any:
        name = details.method.rpartition("/")[2]
        if name == "SubscribeBundleResults":
            return grpc.unary_stream_rpc_method_handler(
                lambda _data, _c: iter([self._answer(name)])
            )
        return grpc.unary_unary_rpc_method_handler(lambda _data, _context: self._answer(name))


@contextmanager
def engine(answer: Callable[[str], bytes]) -> Iterator[str]:
    from concurrent.futures import ThreadPoolExecutor

    server = grpc.server(ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((_Anything(answer),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"grpc://127.0.0.1:{port}"
    finally:
        server.stop(None)


async def sent(client: SearcherEngine) -> str | SubmitError:
    answered: asyncio.Future[str | SubmitError] = asyncio.get_running_loop().create_future()
    client.start_bundle([b"wire"], answered.set_result)
    async with asyncio.timeout(PATIENCE_SECONDS):
        return await answered


def test_any_answer_is_a_result_or_an_error() -> None:
    current = [b""]
    with engine(lambda _name: current[0]) as url:

        @settings(max_examples=examples(40), deadline=None)
        @given(answer=st.binary(max_size=60), proves=st.booleans())
        def anything(answer: bytes, proves: bool) -> None:
            current[0] = answer

            async def ask() -> None:
                client = SearcherEngine(url, seconds=5, keypair=Keypair() if proves else None)
                try:
                    assert isinstance(await sent(client), (str, SubmitError))
                    with suppress(SubmitError):
                        await client.tip_accounts()
                    await client.warm()
                    await asyncio.sleep(0)
                finally:
                    await client.close()

            asyncio.run(ask())

        anything()


def test_an_engine_that_forgot_its_tokens_is_shown_the_key_again() -> None:
    with new_localnet() as localnet:
        localnet.start("--block-engine-auth")

        async def ask() -> None:
            url = f"grpc://{localnet.searcher_address}"
            client = SearcherEngine(url, seconds=PATIENCE_SECONDS, keypair=Keypair())
            try:
                await client.warm()
                assert len(await client.tip_accounts()) == 8
                localnet.kill()
                with pytest.raises(SubmitError):
                    await SearcherEngine(url, seconds=1).tip_accounts()
                await asyncio.to_thread(localnet.start, "--block-engine-auth")
                async with asyncio.timeout(PATIENCE_SECONDS):
                    while True:
                        try:
                            assert len(await client.tip_accounts()) == 8
                            break
                        except SubmitError as error:
                            assert "UNAUTHENTICATED" not in str(error)
                            await asyncio.sleep(0.1)
            finally:
                await client.close()

        asyncio.run(ask())


@pytest.mark.parametrize(
    "url",
    [
        "http://x:1",
        "grpc://",
        "grpc://x:99999",
        "grpc://x:1/path",
        "grpc://user@x:1",
        "grpc://x:1?q",
    ],
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(BadAddress):
        SearcherEngine(url, seconds=1)
