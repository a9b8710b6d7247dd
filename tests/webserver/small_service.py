"""A master with two workers in processes of their own: small_service.py PORT. It says on which port
it listens; `/` answers with the process's id, `/held` after a file named HELD has gone; it writes
the id to ARRIVED first.
"""

import logging
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from socket import socket
from typing import Any

from webserver.master import Master, Place, listen
from webserver.worker import Worker, run_worker


def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    if environ["PATH_INFO"] == "/held":
        Path(os.environ["ARRIVED"]).write_text(f"{os.getpid()}\n")
        while Path(os.environ["HELD"]).exists():
            time.sleep(0.01)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [str(os.getpid()).encode()]


def serve(sockets: Sequence[socket], place: Place) -> None:
    run_worker(Worker(application, on_progress=place.progress, load=place.load), sockets)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    sockets = listen("127.0.0.1", int(sys.argv[1]))
    print(sockets[0].getsockname()[1], flush=True)
    sys.exit(Master(sockets, serve, workers=2).run())
