"""``python -m kafkalog_cli`` is the command ``kafkalog``."""

import sys

if not sys.flags.safe_path:
    del sys.path[0]  # as in kafkalog/__main__.py

from kafkalog_cli.start import main

main()
