"""What spark-submit is given: what holds the bytes of whole clusters' disks. ``--help`` lists the options."""

from kafkalog_cli.bulk import bulk_space
from kafkalog_cli.main import main

if __name__ == "__main__":
    main(bulk_space)
