"""The emulator's process: ``python -m demo.emulator_process``. It ends when its standard input closes.

It listens on loopback, on a port that the operating system picks, and prints that port as its first line.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading


def main() -> None:
    """Serve until the parent is gone."""
    listener = socket.create_server(("127.0.0.1", 0))
    # The emulator reads its own address from the environment when it is imported.
    os.environ["GATEWAY_PORT"] = str(listener.getsockname()[1])
    from hypercorn.asyncio import serve
    from hypercorn.config import Config
    from ministack.app import app

    from demo import gaps
    from demo.gaps.control import with_control

    gaps.apply()
    config = Config()
    config.bind = [f"fd://{listener.fileno()}"]
    threading.Thread(target=_end_with_parent, daemon=True).start()
    print(os.environ["GATEWAY_PORT"], flush=True)
    asyncio.run(serve(with_control(app), config))  # type: ignore[arg-type]


def _end_with_parent() -> None:
    """Wait until the parent is gone, however it ended, and go with it; there is nothing to save."""
    sys.stdin.read()
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
