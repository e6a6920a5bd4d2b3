"""The folds: transactions, gaps and sequences over columns of batches; knows no files."""

from __future__ import annotations

import os

from kafkalog.format import interpreted

if os.environ.get("KAFKALOG_PURE"):
    loops = interpreted("txn.loops", f"{__name__}.loops")
    state_loops = interpreted("txn.state_loops", f"{__name__}.state_loops")
