"""The incidents of a bulk audit: the driver makes them as a local audit does, of the few rows that matter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Final

import pyarrow as pa

from kafkalog.auditing.incidents import incidents_of, known_of_tables
from kafkalog.auditing.pipeline import LogPlace
from kafkalog.auditing.transactions import Surroundings, partition_row
from kafkalog.findings import Finding
from kafkalog.log.clusters import Cluster
from kafkalog.log.rows import finding_rows
from kafkalog.tables.notable import NOTABLE
from kafkalog_spark.executor import JudgedFrame
from kafkalog_spark.judged_tables import EXPLAINED, LOST

__all__ = ["OF_TASKS", "incident_rows"]

OF_TASKS: Final = (NOTABLE.name, EXPLAINED, LOST)

Row = tuple[Any, ...]


def incident_rows(
    judged: JudgedFrame, clusters: Sequence[Cluster], logs: Sequence[LogPlace], around: Mapping[int, Surroundings],
    findings: Mapping[int, list[Finding]],
) -> list[Row]:  # fmt: skip
    """Return the rows of the table ``incidents`` of all clusters."""
    collected: dict[tuple[str, int], list[Row]] = {}
    for key, contents in judged.kinds.items():
        rows = collected.setdefault(key, [])
        for content in contents:
            with pa.ipc.open_stream(content) as reader:
                for batch in reader:
                    rows += zip(*(column.to_pylist() for column in batch.columns), strict=True)
    known = []
    for number, cluster in enumerate(clusters):
        reported = [*_of_nodes(cluster), *finding_rows(findings[number]), *collected.get((EXPLAINED, number), ())]
        of_cluster = [partition_row(one) for log, one in zip(logs, judged.logs, strict=True) if log.cluster == number]
        notable = collected.get((NOTABLE.name, number), ())
        one = around[number]
        known.append(
            known_of_tables(
                cluster.cluster_id, reported, of_cluster, notable, collected.get((LOST, number), ()),
                one.coordinator, one.metadata, cluster.nodes, one.now,
            )
        )  # fmt: skip
    return [incident.row() for incident in incidents_of(known)]


def _of_nodes(cluster: Cluster) -> Iterable[Row]:
    return chain.from_iterable(finding_rows(node.findings, node.node_id) for node in cluster.nodes)
