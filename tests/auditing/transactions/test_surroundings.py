"""How the files of a log and of the state topic belong together."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafkalog.auditing.transactions.surroundings import AuditOptions, Surroundings
from kafkalog.bundles.bundle_inputs import FromBundle
from kafkalog.certainty import Inputs


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize("state_clean", [True, False])
@pytest.mark.parametrize("snapshot", [True, False])
def test_brokers_were_stopped_only_if_all_of_them_were(is_clean: bool, state_clean: bool, snapshot: bool) -> None:
    """A log has its end if its own broker and those of the state topic were stopped cleanly."""
    around = Surroundings(AuditOptions(snapshot=snapshot), False, 0, 0, 0, state_clean=state_clean)
    node: Any = SimpleNamespace(clean_shutdown=is_clean, bundle=FromBundle())
    directory: Any = SimpleNamespace(is_remote_alone=False, log="/d/t-0")
    otherwise = Inputs.ONE_MOMENT if snapshot else Inputs.COPIED

    assert around.inputs(node, directory) is (Inputs.STOPPED if is_clean and state_clean else otherwise)
