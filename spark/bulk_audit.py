"""What spark-submit is given: the audit of whole clusters' disks. ``--help`` lists the options."""

from kafkalog_cli.main import main
from kafkalog_cli.submit_audit import bulk_audit

if __name__ == "__main__":
    main(bulk_audit)
