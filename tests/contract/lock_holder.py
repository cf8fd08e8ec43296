"""Takes a lock of a store in a folder, says so, and keeps it until its input ends.

It is called with the kind of store, the folder and the name of the lock.
"""

import asyncio
import sys
from pathlib import Path

from tests.contract.token_places import STORES


async def main() -> None:
    kind, folder, name = sys.argv[1:]
    store = STORES[kind](Path(folder))
    print("waits", flush=True)
    async with store.lock(name):
        value = int(await store.load("count") or b"0")
        print("inside", flush=True)
        await asyncio.to_thread(sys.stdin.read)
        await store.save("count", b"%d" % (value + 1))


if __name__ == "__main__":
    asyncio.run(main())
