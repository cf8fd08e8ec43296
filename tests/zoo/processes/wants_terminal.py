"""Wants a terminal."""

import os

os.tcgetpgrp(0)
