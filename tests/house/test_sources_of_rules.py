"""Each rule of ARCHITECTURE.md says whose it is: a KIP's, a Kafka class's, or kafkalog's own."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Final

import pytest

from official import ROOT

pytestmark = pytest.mark.lint

TEXT: Final = (ROOT / "ARCHITECTURE.md").read_text()
# A KIP, an issue of Kafka's, or a class of its sources: words that begin with capitals, two or more of them.
KAFKAS: Final = re.compile(r"\bKIP-\d+|\bKAFKA-\d+|\b(?:[A-Z][a-z]+){2,}\b")
# What Kafka has no rule about, by the function or its file, and why.
OWN: Final = {
    "kernel/fold.py:States.in_order": "brokers accept gaps: which are legal is kafkalog's question",
    "auditing/partition/gaps.py": "brokers accept gaps: which are legal is kafkalog's question",
    "auditing/partition/joined.py": "a broker has one log and no scans of its parts",
    "segments/damage.py": "Kafka's tools stop at damage",
    "segments/resync.py": "Kafka's tools stop at damage",
    "kernel/headers.py:may_follow": "Kafka's tools stop at damage",
    "kernel/headers.py:pass_over": "Kafka's tools stop at damage",
    "columns/sorted_rows.py": "a search among rows",
    "folds/fold.py": "a search among rows",
    "folds/fates.py:Fates.of": "it joins other rules' answers",
    "queries/given_logs.py": "it joins other rules' answers",
    "queries/shared_records.py": "consumers read one replica: who compares several is kafkalog",
    "bundles/cuts.py": "brokers make no bundles",
    "bundles/bundle_inputs.py": "brokers make no bundles",
    "queries/evidence.py": "brokers make no bundles",
    "auditing/partition/visible.py:visible_records": "it counts what visible_batches gives",
    "kafkalog/exit_status.py": "exit statuses are kafkalog's",
    "auditing/incidents/verdict.py": "words, sentences and exit statuses are kafkalog's",
    "reports/first_screen.py:first_screen": "what is shown first is kafkalog's",
    "cli/kafkalog_cli/options.py": "exit statuses are kafkalog's",
    "cli/kafkalog_cli/output.py": "brokers write none of these outputs",
    "kafkalog/provenance.py": "brokers write none of these outputs",
    "cli/kafkalog_cli/render/showing.py": "output formats are kafkalog's",
    "cli/kafkalog_cli/main.py": "exit statuses are kafkalog's",
    "log_dirs/nodes.py:is_copy": "brokers have no copies of their directories",
    "log_dirs/nodes.py:join_misfits": "brokers stop at the wrong line",
    "auditing/topics/placement.py": "a broker has all of its directories, or stops",
    "auditing/side_files/log_ends.py": "a broker takes the end that it finds",
    "kafkalog/settle.py": "severities are kafkalog's",
    "catalogue/reasons.py": "severities are kafkalog's",
    "kafkalog/certainty.py": "no broker reads a copy of its files",
    "auditing/transactions/live_copy.py": "no broker reads a copy of its files",
    "auditing/transactions/surroundings.py": "no broker reads a copy of its files",
    "auditing/starting/restorable.py": "it joins other rules' answers",
    "auditing/incidents/incident.py": "incidents are kafkalog's",
    "auditing/incidents/runner.py": "incidents are kafkalog's",
    "auditing/incidents/held_bytes.py": "incidents are kafkalog's",
    "auditing/incidents/outages.py": "incidents are kafkalog's",
    "catalogue/incident_kinds.py": "incidents are kafkalog's",
    "redaction/passing_fields.py": "what is a secret is kafkalog's question",
    "redaction/side_bytes.py": "what is a secret is kafkalog's question",
    "redaction/keyed_bytes.py": "brokers write contents as they are",
    "redaction/new_names.py:NewNames.of": "brokers rename nothing",
    "reports/lanes.py": "the timeline is kafkalog's",
    "auditing/pipeline/kept_scans.py": "scans are kafkalog's",
    "auditing/partition/scan_message.py": "scans are kafkalog's",
    "auditing/verification/verifying.py": "two states of evidence are compared",
    "over_time/changes.py": "two audits are compared",
    "over_time/diff.py:compare_bytes": "two audits are compared",
    "kafkalog/few_of_many.py": "how many are shown is kafkalog's",
}


def rules() -> list[str]:
    """List the functions that the table of rules names, each once."""
    section = TEXT.partition("## Where a rule is")[2].partition("\nLater steps")[0]
    return list(dict.fromkeys(re.findall(r"`([\w./]+\.py:[\w.]+)`", section)))


def docstring(rule: str) -> str:
    """Return a rule's docstring, of a method with its class's."""
    path, _, name = rule.partition(":")
    file = next(place for base in (ROOT / "kafkalog", ROOT) if (place := Path(base, path)).exists())
    node: ast.Module | ast.ClassDef | ast.FunctionDef = ast.parse(file.read_text())
    said = ""
    for part in name.split("."):
        found = [one for one in node.body if isinstance(one, ast.ClassDef | ast.FunctionDef) and one.name == part]
        assert found, rule
        node = found[0]
        said += ast.get_docstring(node) or ""
    return said


def classes() -> set[str]:
    """List the classes of kafkalog itself, which are no source of a rule."""
    files = [file for base in ("kafkalog", "cli", "spark") for file in (ROOT / base).rglob("*.py")]
    return {node.name for file in files for node in ast.parse(file.read_text()).body if isinstance(node, ast.ClassDef)}


def is_own(rule: str) -> bool:
    """Say whether the list has a rule, or its file."""
    return rule in OWN or rule.partition(":")[0] in OWN


def test_the_table_names_rules() -> None:
    """The tests below have something to look at."""
    assert len([rule for rule in rules() if not is_own(rule)]) > 20


@pytest.mark.parametrize("rule", [rule for rule in rules() if not is_own(rule)])
def test_a_rule_names_what_it_follows(rule: str) -> None:
    """Its docstring has a KIP, an issue or a class of Kafka's; kafkalog's own rules are in the list, with why."""
    named = set(KAFKAS.findall(docstring(rule)))

    assert named - classes(), f"{rule}: which KIP or class of Kafka does it follow?"


def test_the_list_has_no_other_rules() -> None:
    """What is no rule any more leaves the list of kafkalog's own."""
    known = {*rules(), *(rule.partition(":")[0] for rule in rules())}

    assert OWN.keys() - known == set()
