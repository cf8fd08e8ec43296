"""`auth="oauth"` and nothing else: a real browser process, a real port, a real file."""

import asyncio
import os
import shlex
import sys
from pathlib import Path

import pytest

from tests.authorization.authorization_server import AuthorizationServer
from tests.authorization.guarded_url import GuardedUrl
from tests.interaction.connecting import PATIENCE

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(os.name != "posix", reason="BROWSER is a command of a shell"),
]

HERE = Path(__file__).parent


async def run(program: str, url: str, **environment: str) -> str:
    """Run a program to its end, and return what it says."""
    inherited = {k: v for k, v in os.environ.items() if k not in ("CI", "GITHUB_ACTIONS")}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(HERE / program),
        url,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**inherited, **environment},
    )
    async with asyncio.timeout(PATIENCE):
        output, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return output.decode()


async def test_a_browser_comes_up_once_and_never_again(
    issuer: AuthorizationServer, guarded: GuardedUrl, tmp_path: Path
) -> None:
    log, folder = tmp_path / "log", tmp_path / "credentials"
    browser = shlex.join([sys.executable, str(HERE / "browser.py"), str(log)])
    environment = {"BROWSER": f"{browser} %s", "WIGWAG_CREDENTIALS": str(folder)}

    for _ in range(2):
        assert await run("calling_by_default.py", guarded.url, **environment) == "done"

    (opened,) = log.read_text().splitlines()
    assert opened.startswith(f"{issuer.issuer}/authorize?")
    redirect_uri = issuer.queries[0]["redirect_uri"]
    assert redirect_uri.startswith("http://127.0.0.1:")
    assert issuer.counts["token"] == 1
    assert guarded.refusals == 1
    modes = {oct(file.stat().st_mode & 0o777) for file in folder.rglob("*") if file.is_file()}
    assert modes == {"0o600"}
