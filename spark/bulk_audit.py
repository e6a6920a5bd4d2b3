"""What spark-submit is given: the audit of whole clusters' disks. ``--help`` lists the options."""

from kafkalog_cli.bulk import bulk_audit
from kafkalog_cli.main import main

if __name__ == "__main__":
    main(bulk_audit)
