"""What happened in the corpus, as clients and brokers said it: by hand from each case's ``truth.json`` and ``expect.json``.

None of it was read from an audit. Times are the moments at which clients had their answers, by the same machine's clock.
"""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["OF_REMEDIES", "TOLD", "Told"]


class Told(NamedTuple):
    """An incident of a case: what, where, whose, which offsets, since when (ms), and words of what to do now."""

    case: str
    kind: str
    cause: str
    partitions: tuple[str, ...]
    ids: tuple[str, ...]
    offsets: tuple[int, int] | None
    since: int | None
    command: str | None
    lost: int | None = None


_ABORT: Final = "kafka-transactions.sh --bootstrap-server HOST:PORT abort"


def _hangs(
    case: str, cause: str, place: str, name: str | None, first: int, last: int, since: int | None
) -> Told:  # fmt: skip
    topic, _, number = place.rpartition("-")
    command = f"{_ABORT} --topic {topic} --partition {number} --start-offset {first}"
    return Told(
        case, "consumers-stopped", cause, (place,), () if name is None else (name,), (first, last), since, command
    )


TOLD: Final = (
    # Late data: the produce request was answered at this time.
    _hangs("k4-f-hanging-late-produce-tv0", "data-after-marker", "tickets-tickets.26-0", "payments-trades.85-0", 4, 6,
           1795251318122),
    _hangs("k4-f-hanging-late-produce-tv0", "data-after-marker", "tickets-tickets.26-1", "stock-trades.56-1", 21, 21,
           1795251318270),
    _hangs("k4-f-hanging-late-produce-tv0", "producer-unknown", "clicks-coupons.10-1", None, 0, 1, 1795251318273),
    _hangs("k4-f-hanging-late-produce-tv1", "data-after-marker", "stock-clicks.62-0", "trades-coupons.48-0", 17, 17,
           1795251315820),
    _hangs("k4-f-hanging-late-produce-tv1", "data-after-marker", "stock-clicks.62-1", "wallets-orders.36-1", 22, 22,
           1795251315860),
    _hangs("k4-f-hanging-late-produce-tv1", "producer-unknown", "wallets-claims.80-1", None, 0, 1, 1795251315916),
    _hangs("k4-f-hanging-late-produce-tv2", "data-after-marker", "refunds-parcels.54-0", "meters-payments.61-0", 22, 24,
           1795251297273),
    _hangs("k4-f-hanging-late-produce-tv2", "data-after-marker", "refunds-parcels.54-1", "payments-quotes.50-1", 34, 36,
           1795251297301),
    _hangs("k4-f-hanging-late-produce-tv2", "producer-unknown", "parcels-riders.8-1", None, 0, 1, 1795251297304),
    _hangs("k4-f-hanging-unregistered-while-ongoing", "partition-not-registered", "tickets-clicks.10-1",
           "claims-refunds.3", 0, 1, 1795251342991),
    _hangs("k4-f-hanging-unregistered-while-ongoing-tv2", "partition-not-registered", "coupons-wallets.51-1",
           "coupons-fares.50", 0, 1, 1795251333619),
    _hangs("k4-g-admin-abort", "data-after-marker", "fares-wallets.60-2", "tickets-meters.6", 3, 3, 1795251438287),
    _hangs("k4-g-admin-abort-tv2", "data-after-marker", "coupons-payments.76-2", "refunds-seats.38", 3, 3, 1795251428134),
    # Older brokers' recorder wrote no times.
    _hangs("v2.8-hanging", "data-after-marker", "ledger-0", "tx-a", 9, 10, None),
    _hangs("v2.8-hanging", "data-after-marker", "ledger-1", "tx-b", 13, 14, None),
    _hangs("v2.8-hanging", "partition-not-registered", "ledger-2", "tx-c", 0, 3, None),
    _hangs("v3.3-hanging", "data-after-marker", "ledger-0", "tx-a", 9, 13, None),
    _hangs("v3.3-hanging", "data-after-marker", "ledger-1", "tx-b", 11, 12, None),
    _hangs("v3.3-hanging", "partition-not-registered", "ledger-2", "tx-c", 0, 4, None),
    _hangs("v3.3-hanging-operator", "data-after-marker", "ledger-1", "tx-b", 11, 12, None),
    _hangs("v3.3-hanging-operator", "partition-not-registered", "ledger-2", "tx-c", 0, 4, None),
    _hangs("v3.9-hanging", "data-after-marker", "ledger-0", "tx-a", 7, 11, None),
    _hangs("v3.9-hanging", "data-after-marker", "ledger-1", "tx-b", 13, 15, None),
    _hangs("v3.9-hanging", "partition-not-registered", "ledger-2", "tx-c", 0, 1, None),
    _hangs("v3.9-hanging-operator", "data-after-marker", "ledger-1", "tx-b", 13, 15, None),
    _hangs("v3.9-hanging-operator", "partition-not-registered", "ledger-2", "tx-c", 0, 1, None),
    _hangs("k4-m-expired-ids", "id-expired", "payments-audit.20-0", "meters-audit.30-0", 11, 11, 1795251864555),
    # Two transactions, one committed and one aborted while their partition had no leader: one cause.
    Told("k4-f-marker-leaderless", "consumers-stopped", "no-leader", ("quotes-orders.76-1",),
         ("claims-claims.77-1", "payments-parcels.22-4"), (9, 10), 1795251802644,
         f"{_ABORT} --topic quotes-orders.76 --partition 1 --start-offset 10"),
    Told("k4-f-marker-leaderless-44", "consumers-stopped", "no-leader", ("invoices-seats.7-1",),
         ("coupons-stock.0-5", "clicks-stock.70-6"), (9, 12), 1795251800762,
         f"{_ABORT} --topic invoices-seats.7 --partition 1 --start-offset 11"),
    # Their broker was killed, and the other one was up.
    Told("k4-f-marker-pending", "consumers-stopped", "leader-lost",
         ("__transaction_state-0", "__transaction_state-2", "coupons-meters.71-1"),
         ("orders-stock.28-4", "claims-riders.4-5"), None, 1795251854102, None),
    Told("k4-f-marker-pending-tv0", "consumers-stopped", "leader-lost",
         ("__transaction_state-0", "__transaction_state-2", "orders-coupons.90-1"),
         ("refunds-audit.85-0", "parcels-invoices.70-4"), None, 1795251846399, None),
    # Broker 3 was elected uncleanly; broker 2 alone has what ledger-fares.57 and coupons-clicks.60 wrote after it died.
    Told("k4-k-unclean-election", "records-lost", "unclean-election", ("trades-coupons.95-0",),
         ("coupons-clicks.60", "ledger-fares.57"), (6, 15), 1795252924840,
         f"{_ABORT} --topic trades-coupons.95 --partition 0 --start-offset 4", 7),
    # Markers that no coordinator decided: an administrator's, and a bare socket's.
    Told("k4-g-admin-abort", "transaction-torn", "administrator", ("meters-parcels.10-0",), ("claims-seats.21",), (2, 3),
         1795251443432, "kafkalog extract --incident "),
    Told("k4-g-foreign-markers", "transaction-torn", "administrator", ("invoices-parcels.28-1",), ("ledger-fares.1",),
         (0, 1), 1795251764629, "kafkalog extract --incident "),
    Told("k4-g-foreign-markers", "transaction-torn", "foreign-marker", ("invoices-parcels.28-2",), ("parcels-meters.15",),
         (0, 1), 1795251764722, "kafkalog extract --incident "),
    Told("k4-g-foreign-markers-tv2", "transaction-torn", "administrator", ("parcels-clicks.29-1",), ("trades-tickets.67",),
         (0, 1), 1795251764716, "kafkalog extract --incident "),
    Told("k4-g-foreign-markers-tv2", "transaction-torn", "foreign-marker", ("parcels-clicks.29-2",), ("claims-quotes.9",),
         (0, 1), 1795251764753, "kafkalog extract --incident "),
    Told("k4-g-admin-abort-tv2", "transaction-torn", "administrator", ("wallets-trades.82-0",), ("seats-invoices.85",),
         (2, 3), 1795251433985, "kafkalog extract --incident "),
    Told("k4-f-misattributed", "wrong-fate", "late-data", ("refunds-audit.25-1",), ("fares-wallets.50",), (4, 7),
         None, "kafkalog extract --incident "),
    Told("k4-f-misattributed-epoch", "wrong-fate", "late-data", ("coupons-invoices.62-1",), ("coupons-seats.22",), (4, 7),
         None, "kafkalog extract --incident "),
    # Writers that were fenced while they had a transaction open, and what clients that were killed left.
    Told("k4-d-fencing-tv0", "writer-fenced", "takeover", ("meters-payments.94-0", "meters-payments.94-1"),
         ("payments-invoices.54",), None, 1795251386232, None),
    Told("k4-d-fencing-tv0", "writer-fenced", "takeover", ("meters-payments.94-1",), ("claims-stock.50",), (6, 7), None, None),
    Told("k4-d-fencing-tv0", "transactions-aborted", "client", ("meters-payments.94-0",), ("payments-invoices.54",),
         (10, 10), 1795251386629, None),
    Told("k4-d-fencing-tv2", "writer-fenced", "takeover", ("payments-parcels.5-0", "payments-parcels.5-1"),
         ("coupons-riders.44",), None, 1795251393925, None),
    Told("k4-d-fencing-tv2", "writer-fenced", "takeover", ("payments-parcels.5-1",), ("invoices-coupons.93",), (6, 7),
         None, None),
    Told("k4-d-fencing-tv2", "transactions-aborted", "client", ("payments-parcels.5-0",), ("coupons-riders.44",), (10, 10),
         1795251394191, None),
    Told("k4-d-fencing-tv2-400", "writer-fenced", "takeover", ("riders-orders.94-0", "riders-orders.94-1"),
         ("parcels-trades.10",), None, 1795251377572, None),
    Told("k4-d-fencing-tv2-400", "writer-fenced", "takeover", ("riders-orders.94-1",), ("seats-ledger.96",), (6, 7), None,
         None),
    Told("k4-e-timeout-tv2", "transactions-aborted", "timeout", ("refunds-invoices.82-0", "refunds-invoices.82-1"),
         ("fares-quotes.13",), None, 1795251424106, None),
    Told("k4-e-timeout-tv2", "transactions-aborted", "timeout", ("refunds-invoices.82-0", "refunds-invoices.82-1"),
         ("meters-clicks.48",), None, 1795251424106, None),
    Told("k4-e-timeout-tv0", "transactions-aborted", "timeout", ("sensors-seats.50-0", "sensors-seats.50-1"),
         ("refunds-trades.39",), None, 1795251413609, None),
    Told("k4-e-timeout-tv0", "transactions-aborted", "timeout", ("sensors-seats.50-0", "sensors-seats.50-1"),
         ("clicks-wallets.19",), None, 1795251413609, None),
    Told("k4-g-admin-abort-tv2", "transactions-aborted", "administrator", ("coupons-payments.76-0", "coupons-payments.76-1"),
         ("refunds-seats.38",), None, None, None),
    Told("k4-g-admin-abort-tv2", "transactions-aborted", "administrator", ("wallets-trades.82-0",), (), (0, 0), None, None),
    Told("k4-g-admin-abort", "transactions-aborted", "administrator", ("fares-wallets.60-0", "fares-wallets.60-1"),
         ("tickets-meters.6",), None, None, None),
    Told("k4-g-admin-abort", "transactions-aborted", "administrator", ("meters-parcels.10-0",), (), (0, 0), None, None),
    *(
        Told(f"{version}-txn-java-running", kind, cause, places, (name,), None, None, None)
        for version, fenced, dead in (
            ("v2.8", ("orders-0", "orders-1", "orders-2"), ("orders-0", "orders-1")),
            ("v3.3", ("orders-0", "orders-1", "orders-2"), ("orders-0", "orders-1", "orders-2")),
            ("v3.6", ("orders-0", "orders-1", "orders-2"), ("orders-0", "orders-1", "orders-2")),
            ("v3.9", ("orders-1", "orders-2"), ("orders-0", "orders-1")),
        )
        for kind, cause, places, name in (
            ("writer-fenced", "takeover", fenced, "tx-fence"),
            ("transactions-aborted", "timeout", dead, "tx-dead"),
        )
    ),
)  # fmt: skip

# What was done with brokers in fixtures/remedies, from each case's story, its commands and what consumers got: a
# read_committed consumer of fork-dead-leader got offsets 0-1 only, an administrator aborted at 3 (8 and 10) elsewhere.
OF_REMEDIES: Final = (
    Told("fork-dead-leader", "records-lost", "unclean-election", ("t-0",), ("id-p", "id-q"), None, None,
         f"{_ABORT} --topic t --partition 0 --start-offset 3"),
    Told("fork-after-abort", "records-lost", "unclean-election", ("t-0",), ("id-p",), None, None, None),
    Told("fork-after-abort", "transaction-torn", "administrator", ("t-0",), ("id-q",), (3, 4), None, "kafkalog extract --incident "),
    Told("leaderless-aborted", "transaction-torn", "administrator", ("t-1",), ("id-0",), (8, 9), None, "kafkalog extract --incident "),
    Told("leaderless-aborted", "wrong-fate", "late-data", ("t-1",), ("id-4",), (12, 14), None, "kafkalog extract --incident "),
    Told("late-data-aborted", "transactions-aborted", "administrator", ("late-0",), ("id-0",), (4, 5), None, None),
    Told("late-data-aborted", "transactions-aborted", "administrator", ("late-1",), ("id-1",), (4, 5), None, None),
)  # fmt: skip
