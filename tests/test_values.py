"""Each column's value is written once: rows and Arrow are made of the same values, by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from dumped import dumped
from kafkalog.findings import Finding
from kafkalog.segments import blocks
from kafkalog.segments.arrow import segment_as_arrow
from kafkalog.segments.segment import segment_chunks
from kafkalog.segments.selection import Selection
from kafkalog.tables import TABLES, Table
from kafkalog.tables.arrow import arrow_batches, arrow_schema
from kafkalog.tables.dump_tables import BATCHES, RECORDS
from official import FIXTURES

SEGMENTS = sorted(FIXTURES.glob("*/data*/*/*.log"))


def test_every_declared_column_has_one_value() -> None:
    """A column without a value, a value without a column, or two of a name would be an error in every segment."""
    texts = ["key", "key_base64", "value", "value_base64", "headers"]

    assert sorted(["file", *blocks.BATCH]) == sorted(BATCHES.names)
    assert sorted(["file", *blocks.RECORD, *blocks.BATCH_VALUES, *blocks.MESSAGE, *texts]) == sorted(RECORDS.names)


def test_a_row_comes_in_the_order_of_its_declaration() -> None:
    """Whoever makes a row names its cells, in any order."""
    table = TABLES["offset_index"]

    assert table.of(position=4, offset=3, file="f", entry=0) == ("f", 0, 3, 4)


@pytest.mark.parametrize("cells", [{"file": 1, "entry": 2, "offset": 3}, dict.fromkeys("abcd", 0)], ids=repr)
def test_a_cell_too_few_or_of_another_name_is_an_error(cells: dict[str, int]) -> None:
    """Nothing is written under a name that it does not belong to."""
    with pytest.raises(TypeError, match=r"table offset_index: columns missing or not declared: .*position"):
        TABLES["offset_index"].of(**cells)


def test_a_cell_too_many_is_an_error() -> None:
    """Or a value could be lost without a word."""
    with pytest.raises(TypeError, match=r"not declared: size$"):
        TABLES["offset_index"].of(file=1, entry=2, offset=3, position=4, size=5)


@pytest.mark.parametrize("selection", [Selection(), Selection(first_offset=3, last_offset=9)], ids=["all", "some"])
@pytest.mark.parametrize("table", [BATCHES, RECORDS], ids=lambda table: table.name)
def test_arrow_holds_what_the_rows_hold(table: Table, selection: Selection) -> None:
    """In every segment that a broker wrote: all magics, codecs, markers and damage."""
    pytest.importorskip("pyarrow")
    schema = arrow_schema(table)
    for path in map(str, SEGMENTS):
        rows = (item[1] for item in _rows(path, table, selection))
        made = segment_as_arrow(path, segment_chunks(path), table, schema, selection)

        assert _listed(made) == _listed(arrow_batches(rows, schema)), path


def _rows(path: str, table: Table, selection: Selection) -> Iterator[tuple[Table, tuple[Any, ...]]]:
    for item in dumped(path, segment_chunks(path), {table.name}, selection):
        if not isinstance(item, Finding):
            yield item


def _listed(batches: Iterable[Any]) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.to_pylist()]
