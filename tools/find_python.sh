#!/bin/sh
# Prints the first Python on this machine that runs and has one of the versions asked for, the
# versions tried in the order given:
#
#     tools/find_python.sh 3.13 3.12
#
# Looked at for each version: python3, python3.X, and what pyenv has installed. A name on PATH proves
# nothing (pyenv leaves shims there for versions that are not active), so every candidate is run.
# Prints nothing and exits 1 when there is none.
set -u

version_of() {
    "$1" -c 'import sys, venv, ensurepip; print("%d.%d" % sys.version_info[:2])' 2>/dev/null
}

for wanted in "$@"; do
    for candidate in python3 "python$wanted" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$wanted".*/bin/python; do
        if [ "$(version_of "$candidate")" = "$wanted" ]; then
            command -v "$candidate"
            exit 0
        fi
    done
done
exit 1
