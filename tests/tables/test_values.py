"""A row of a table is made of values by name, none too few and none too many."""

from __future__ import annotations

import pytest

from kafkalog.tables import TABLES


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
