"""The table of incidents: what happened, since when, to whom, what is lost, what to do now."""

from __future__ import annotations

from typing import Final

from kafkalog.tables import words
from kafkalog.tables.declared import Column, Table

__all__ = ["CAUSES", "CERTAINTIES", "CLOCKS", "INCIDENTS", "KINDS"]

KINDS: Final = (
    "consumers-stopped",  # an open transaction holds the last stable offset
    "records-lost",  # an unclean election, a truncation, a lost segment, a log cut short
    "start-empties",  # what is whole now, the next start loses
    "records-unreadable",  # damage, or batches that no broker writes
    "retention-blocked",  # a transaction or a setting keeps old records
    "transaction-torn",  # it ended differently in its partitions
    "wrong-fate",  # records that the marker of another transaction ended
    "writer-fenced",  # another producer took over the transactional id
    "transactions-aborted",
    "cleaner-stopped",
    "clocks-wrong",  # timestamps that brokers read as other times
    "remote-store-behind",
    "side-files-wrong",  # indexes, snapshots and checkpoints that are not the log's
    "start-goes-wrong",  # a broker stops at its next start, or drops what is here
    "mirror-differs",  # from its source
    "replicas-diverged",
    "replicas-disagree",  # what a cleaner removed on one never came to another
    "copy-incomplete",
    "copy-skewed",  # files of different moments
    "disks-mixed",  # log directories of one node of which one is said to be another's
    "clusters-mixed",
    "too-many-to-judge",  # open transactions, or findings of one code
    "output-damaged",  # of kafkalog itself
)
CERTAINTIES: Final = tuple(words.CERTAINTIES)
CLOCKS: Final = (
    "broker",
    "producer",  # a producer's own clock: it may be wrong by any amount
)
# Of consumers-stopped: the cause of the transactions, as in the table `transactions`, or another.
CAUSES: Final = (*(cause for cause in words.OPEN_CAUSES if cause != "replica-behind"), *words.INCIDENT_CAUSES)

INCIDENTS: Final = Table(
    "incidents",
    "something that happened, with all that one cause brought about",
    (
        Column("id", "string", "the same for the same incident in another copy"),
        Column("kind", "string", "what happened; see kafkalog explain KIND", words=KINDS),
        Column("cause", "string", "why, in one word", words=CAUSES),
        Column("severity", "string", "how bad it is", words=("note", "warning", "error")),
        Column("certainty", "string", "how certain it is; only for `proved` is a remedy given", words=CERTAINTIES),
        Column("cluster_id", "string", "the cluster, from meta.properties; null if that file is missing"),
        Column("since_ms", "int64", "since when; null if no file shows it", "ms"),
        Column(
            "since_until_ms", "int64", "with it, it began some time from `since_ms` to this; null where `since_ms` is"
            " the time", "ms",
        ),
        Column("since_clock", "string", "whose clock `since_ms` is; null without it", words=CLOCKS),
        Column("until_ms", "int64", "until when; null if it still holds where the files end", "ms"),
        Column("until_clock", "string", "whose clock `until_ms` is; null without it", words=CLOCKS),
        Column("title", "string", "the incident in a sentence"),
        Column("partitions", "json", "the partitions, as topic-partition; the first 100", shape='["string"]'),
        Column("partitions_total", "int64", "how many partitions there are"),
        Column("transactional_ids", "json", "the transactional ids; the first 100", shape='["string"]'),
        Column("transactional_ids_total", "int64", "how many transactional ids there are"),
        Column("producer_ids", "json", "the producer ids; the first 100", shape='["int64"]'),
        Column("producer_ids_total", "int64", "how many producer ids there are"),
        Column(
            "parts", "json", "its transactions in each partition, where they are known one by one; the first 100:"
            " transactional_id, producer_id, topic, partition, first_offset, last_offset, records (0 where"
            " there is only the marker), the fate that was decided: committed, aborted, open, none, or"
            " unknown; and of one that hangs or may, whether its records have to be sent again once it was ended"
            " (yes, no, if-missed, if-committed, ask, ask-writers), why, and why it is not certain that it hangs",
            shape='[{"transactional_id": "string?", "producer_id": "int64", "topic": "string", "partition": "int64",'
            ' "first_offset": "int64", "last_offset": "int64?", "records": "int64?", "fate": "string",'
            ' "write_again": "string?", "because": "string?", "doubt": "string?"}]',
        ),
        Column("transactions", "int64", "how many transactions are affected; null if it is about none"),
        Column("first_offset", "int64", "the first offset affected; null if several partitions are", least=None),
        Column("last_offset", "int64", "the last offset affected; null if several partitions are, or it has no end",
               least=None),
        Column(
            "records", "int64", "how many records are affected, of missing offsets at least; null if no file shows it"
        ),
        Column(
            "offsets_waiting", "int64", "how many offsets read_committed consumers do not get in its partitions, from"
            " its first there to the end; null if they stop nowhere",
        ),
        Column(
            "lost_records", "int64", "how many records consumers have lost, without control records, of missing ones"
            " those that no replica has, at most one for each offset; null if none is known",
        ),
        Column(
            "lost_by_outcome", "json", "how many of these were committed, aborted, undecided, of no transaction; null"
            " if no file shows it", shape='{"*": "int64"}',
        ),
        Column(
            "kept_in", "json", "where copies of lost records are left: log, node_id, topic, partition, first_offset,"
            " last_offset",
            shape='[{"log": "string", "node_id": "string?", "topic": "string", "partition": "int64",'
            ' "first_offset": "int64", "last_offset": "int64?"}]',
        ),
        Column(
            "groups", "json", "groups with committed offsets in its partitions, if it stops consumers or takes records;"
            " the first 100: group, topic, partition, offset, lag (null without a log so long), and where it stands:"
            " before what happened, in it or past it",
            shape='[{"group": "string", "topic": "string", "partition": "int64", "offset": "int64", "lag": "int64?",'
            ' "stands": "string"}]',
        ),
        Column("groups_total", "int64", "how many of these groups there are, one in two partitions counted twice"),
        Column(
            "events", "json", "what happened, in order; the first 100: time_ms, time_source, file, offset, what",
            shape='[{"time_ms": "int64?", "time_source": "string?", "file": "string?", "offset": "int64?",'
            ' "what": "string"}]',
        ),
        Column("consumers", "json", "what consumers get: read_committed, read_uncommitted", shape='{"*": "string"}'),
        Column("next_steps", "json", "what to do, in order: text, a command or null, and what it is in a plan (save,"
               " ask, check, end, again, instead, groups, look-first; with -too another line of that) or null",
               shape='[{"text": "string", "command": "string?", "kind": "string?"}]'),
        Column("findings", "json", "the ids of the findings that it explains; the first 1,000", shape='["string"]'),
        Column("findings_total", "int64", "how many findings it explains"),
    ),
    answers=("title", "kind", "severity", "since_ms", "lost_records"),
    filled=("id", "kind", "severity", "title", "partitions", "partitions_total", "transactional_ids", "producer_ids",
            "findings"),
)  # fmt: skip
