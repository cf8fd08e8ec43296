"""Why a server has ended before it answered."""

import pytest

from wigwag.doctor.process_checks.start import Start
from wigwag.doctor.process_checks.start_failures import Ending, explain_end
from wigwag.transports.stdio_client import StdioServerParameters

pytestmark = pytest.mark.anyio

ENVIRON = 'File "<frozen os>", line 717, in __getitem__\n'


def ending(stderr: str, exit_code: int = 1, command: str = "zoo") -> Ending:
    start = Start.of(StdioServerParameters(command, env={"LION_KEY": "wrong"}))
    return Ending(start=start, exit_code=exit_code, stderr=stderr, seconds=0.25)


@pytest.mark.parametrize(
    ("stderr", "code", "told"),
    [
        ("ModuleNotFoundError: No module named 'yaml_of_zoo'", "missing-module", "yaml_of_zoo"),
        ("/usr/bin/python3: No module named zoo.main", "missing-module", "zoo.main"),
        ("Error: Cannot find module '/srv/zoo/index.js'", "script-not-found", "/srv/zoo/index.js"),
        ("Error: Cannot find module 'express'", "missing-module", "npm install"),
        ("Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'zod' imported from", "missing-module",
         "'zod'"),
        ("python: can't open file '/srv/zoo.py': [Errno 2] No such file", "script-not-found",
         "/srv/zoo.py"),
        ('  File "/srv/zoo.py", line 3\n    x = = 1\nSyntaxError: invalid syntax', "crash-at-start",
         "in /srv/zoo.py, line 3"),
        (f"{ENVIRON}KeyError: 'ZOO'", "environment-variable-absent", '{"ZOO": "..."}'),
        ("KeyError: 'ZOO'", "crash-at-start", "last words"),
        ("Error: GITHUB_TOKEN environment variable is not set", "environment-variable-absent",
         "GITHUB_TOKEN"),
        ("Please set the `BRAVE_API_KEY` variable", "environment-variable-absent", "BRAVE_API_KEY"),
        ("LION_KEY is missing", "environment-variable-absent", "look at its value"),
        ("1 validation error for Settings\napi_key\n  Field required [type=missing]",
         "environment-variable-absent", "API_KEY"),
        ("Error: listen EADDRINUSE: address already in use :::3000", "port-in-use", "port"),
        ("npm error code E404\nnpm error 404 Not Found - GET", "package-not-found", "name"),
        ("No solution found: zoo was not found in the package registry", "package-not-found",
         "name"),
        ("npm error code EAI_AGAIN", "package-not-fetched", "HTTPS_PROXY"),
        ("Cannot connect to the Docker daemon at unix:///var/run", "docker-not-running", "Docker"),
        ("the input device is not a TTY", "wants-a-terminal", "`-t`"),
        ("PermissionError: [Errno 13] Permission denied: '/root/x'", "permission-denied",
         "/root/x"),
        ("segfault", "crash-at-start", "last words"),
        ("ModuleNotFoundError: No module named 'mcp.server'; 'mcp' is not a package",
         "missing-module", "rename that file, most likely the server's own or one beside it"),
        ("was compiled against a different Node.js version using NODE_MODULE_VERSION 115. "
         "This version of Node.js requires NODE_MODULE_VERSION 127.", "crash-at-start",
         "npm rebuild"),
        ("Error [ERR_PACKAGE_PATH_NOT_EXPORTED]: './x' is not defined by \"exports\"",
         "crash-at-start", "last words"),
        ("Error: Missing argument 'DB_PATH'.", "crash-at-start", "not given: DB_PATH"),
        ("zoo: error: the following arguments are required: --cage, KEY_FILE", "crash-at-start",
         "not given: --cage, KEY_FILE"),
        ("Error: Missing option '--key' (env var: 'ZOO_KEY').", "environment-variable-absent",
         "ZOO_KEY"),
    ],
)  # fmt: skip
async def test_its_last_words_tell(stderr: str, code: str, told: str) -> None:
    found = await explain_end(ending(stderr))
    assert (found.code, found.severity) == (code, "error")
    assert told in f"{found.what} {found.change}"
    assert stderr.splitlines()[-1].strip() in found.evidence


@pytest.mark.parametrize(
    ("exit_code", "code", "told"),
    [
        (0, "exits-at-once", "must be called and awaited"),
        (-11, "crash-at-start", "native packages"),
        (-9, "crash-at-start", "memory"),
        (127, "crash-at-start", "absolute path"),
        (-200, "crash-at-start", "start it by hand, `zoo`"),
    ],
)
async def test_its_exit_code_tells(exit_code: int, code: str, told: str) -> None:
    found = await explain_end(ending("", exit_code))
    assert found.code == code
    assert told in found.change
    assert "without a word" in found.evidence


async def test_a_module_is_called_by_the_name_it_is_installed_by() -> None:
    found = await explain_end(ending("ModuleNotFoundError: No module named 'cv2.zoo'"))
    assert "pip install opencv-python" in found.change
