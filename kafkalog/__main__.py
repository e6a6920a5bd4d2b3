"""``python -m kafkalog`` is the command ``kafkalog``."""

import sys

if not sys.flags.safe_path:
    del sys.path[0]  # the folder in which it was started: what lies there is evidence, not code

from kafkalog_cli.start import main  # the path comes first

main()
