"""``python -m kafkalog_cli`` is the command ``kafkalog``."""

from kafkalog_cli.start import main

main()
