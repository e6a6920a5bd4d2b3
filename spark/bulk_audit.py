"""What spark-submit is given: the audit of whole clusters' disks. ``--help`` lists the options."""

import sys

try:
    from kafkalog_cli.main import main
    from kafkalog_cli.submit import bulk_audit
except ImportError as error:
    print(f"kafkalog: error: the driver lacks the Python package {error.name}: see docs/bulk-audit.md", file=sys.stderr)
    sys.exit(3)

if __name__ == "__main__":
    main(bulk_audit)
