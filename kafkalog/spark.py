"""What Spark runs, under the library's name: ``kafkalog_spark``, which needs pyspark.

No module of the library imports it, as none imports pyspark.
"""

from __future__ import annotations

from kafkalog_spark import AuditOptions, BulkAudit, JobPlan, Narrowing, StorageOptions, audit, read

__all__ = ["AuditOptions", "BulkAudit", "JobPlan", "Narrowing", "StorageOptions", "audit", "read"]
