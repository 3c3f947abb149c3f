"""Reads what a check wrote of each plant, and prints what is in it as JSON, one line for a plant."""

import json
import sys
from pathlib import Path

from junitparser import Error, Failure, JUnitXml, Skipped, TestSuite
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as Log

KINDS = {Error: "error", Failure: "failure", Skipped: "skipped"}


def cases(path):
    found = JUnitXml.fromfile(path)
    suites = [found] if isinstance(found, TestSuite) else list(found)
    rows = []
    for suite in suites:
        own = list(suite)
        told = [suite.tests, suite.failures, suite.errors, suite.skipped]
        for case in own:
            kinds = [KINDS[type(result)] for result in case.result]
            rows.append([case.classname, case.name, *kinds])
        kinds = [row[2] for row in rows if len(row) > 2]
        counted = [kinds.count(kind) for kind in ("failure", "error", "skipped")]
        assert told == [len(own), *counted], (told, counted)
    return rows


def metrics(path):
    families = text_string_to_metric_families(path.read_text(encoding="utf-8"))
    samples = [sample for family in families for sample in family.samples]
    return [[sample.name, sample.labels, sample.value] for sample in samples]


def results(path):
    log = Log.model_validate_json(path.read_text(encoding="utf-8"))
    (run,) = log.runs
    rules = [rule.id for rule in run.tool.driver.rules]
    for result in run.results:
        assert result.ruleId in rules, result.ruleId
    places = [[place.physicalLocation for place in own.locations] for own in run.results]
    lines = [[place.region.startLine for place in own] for own in places]
    return [
        [own.ruleId, own.level.value, own.message.text, *line]
        for own, line in zip(run.results, lines)
    ]


for name in sys.argv[1:]:
    folder = Path(name)
    found = {
        "cases": cases(folder / "junit.xml"),
        "results": results(folder / "out.sarif"),
        "metrics": metrics(folder / "out.prom") if (folder / "out.prom").exists() else [],
    }
    print(json.dumps(found))
