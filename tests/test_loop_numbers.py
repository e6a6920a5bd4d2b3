"""The folds' loops number their cells twice: in Python, and as C's constants in a ``.pxd``."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalog.kernel import fold, interpreted, states


def _constants(path: Path) -> dict[str, int]:
    """Read the names and values of all ``cdef enum`` of a ``.pxd``."""
    found: dict[str, int] = {}
    number = 0
    for line in path.read_text().splitlines():
        name, _, said = line.strip().partition(" = ")
        if name == "cdef enum:":
            number = 0
        elif line.startswith("    "):
            found[name] = number = int(said or number)
            number += 1
    return found


@pytest.mark.parametrize("module", [fold, states], ids=["loops", "state_loops"])
def test_both_forms_have_the_same_numbers(module: object) -> None:
    """A number of the ``.pxd`` is the one that the interpreted form has under that name."""
    name = getattr(module, "__name__", "").removeprefix("kafkalog.kernel.")
    plain = interpreted(name, f"tests_numbers_{name}")
    found = _constants(Path(plain.__file__ or "").with_suffix(".pxd"))

    assert len(found) > 15
    assert found == {constant: getattr(plain, constant) for constant in found}
