"""What spark-submit is given: what holds the bytes of whole clusters' disks. ``--help`` lists the options."""

from kafkalog_cli.main import main
from kafkalog_cli.submit_space import bulk_space

if __name__ == "__main__":
    main(bulk_space)
