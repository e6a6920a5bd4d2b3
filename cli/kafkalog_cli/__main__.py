"""``python -m kafkalog_cli`` is the command ``kafkalog``."""

from kafkalog_cli.main import main

main()
