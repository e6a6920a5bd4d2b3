"""Numbers in text files that no broker writes: an entry that Kafka's parser refuses is not an entry, in every format."""

from __future__ import annotations

from pathlib import Path

import pytest

from invoke import kafkalog

TOO_BIG = {
    "recovery-point-offset-checkpoint": ("t 2147483648 1", "t -2147483649 1", f"t 0 {2**63}", f"t 0 -{2**63 + 1}"),
    "leader-epoch-checkpoint": ("2147483648 1", f"1 {2**63}", "-9999999999999999999 1"),
}
FORMS = ("kafka", "table", "ndjson", "json", "csv", "arrow", "parquet")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", TOO_BIG)
def test_a_number_that_does_not_fit_is_a_finding(name: str, form: str, tmp_path: Path) -> None:
    """A warning for each, and the other lines are rows, whatever the format."""
    path = tmp_path / "in" / name
    path.parent.mkdir()
    good = "t 7 2147483647" if "offset" in name else "7 2147483647"
    path.write_text("\n".join(["0", str(len(TOO_BIG[name]) + 1), *TOO_BIG[name], good, ""]))
    ended = kafkalog("dump", "--format", form, *(() if form == "kafka" else ("-o", tmp_path / "out")), path)

    assert ended.status == 0, ended.err
    if form == "ndjson":
        rows = kafkalog("dump", "--format", form, path).rows
        assert sum(row["table"] == "findings" for row in rows) == len(TOO_BIG[name])
        assert sum(row["table"] != "findings" for row in rows) == 1
