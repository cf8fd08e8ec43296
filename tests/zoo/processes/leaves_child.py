"""Leaves a program behind that it has started."""

import subprocess
import sys

from manners import serve

quiet = subprocess.DEVNULL
keeper = [sys.executable, "-S", "-c", "import threading; threading.Event().wait()"]
subprocess.Popen(keeper, stdin=quiet, stdout=quiet, stderr=quiet)
serve()
