"""Starting tasks."""

import asyncio
import sys

from wigwag.runtime.tasks import start_task


def test_a_task_has_run_up_to_its_first_wait_where_python_can() -> None:
    async def work() -> int:
        return 1

    async def main() -> tuple[bool, int]:
        task = start_task(work(), asyncio.get_running_loop())
        return task.done(), await task

    assert asyncio.run(main()) == (sys.version_info >= (3, 12), 1)
