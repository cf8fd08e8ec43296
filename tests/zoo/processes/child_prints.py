"""Starts a program that writes to standard output."""

import subprocess
import sys

from manners import serve

subprocess.run([sys.executable, "-S", "-c", "print('lions fed')"], check=True)
serve()
