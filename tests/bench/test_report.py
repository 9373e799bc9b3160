"""The page says what the rounds took, and no more."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from benchmarks.bench import cells, growth, probe, summary
from benchmarks.bench.report import write_page
from benchmarks.bench.sections import SECTIONS, Sizes
from benchmarks.bench.summary import ratios

FIT = next(section for section in SECTIONS if section.name == "fit")
OURS, LOGISTIC, THEIRS, SGD, TREES = (contender.title for contender in FIT.contenders)
CONTENDERS = Path(__file__).resolve().parents[2] / "benchmarks" / "bench" / "contenders"


def taken(cpu: float, peak: float = 1e6) -> dict[str, float]:
    return {"cpu": cpu, "wall": cpu, "peak": peak, "units": 10}


def results(*, probes=(1.0, 1.0, 1.0)):
    return {
        "probes": list(probes),
        "rounds": [
            {OURS: taken(1.0), THEIRS: taken(2.0), SGD: taken(0.5)},
            {OURS: taken(2.0), THEIRS: taken(8.0), SGD: taken(1.0)},
        ],
        "skipped": {TREES: "No module named 'trees'", LOGISTIC: "stopped"},
    }


def page(tmp_path, *sizes) -> str:
    found = dict(zip(("10000", "100000"), sizes, strict=False))
    stored = {"fit": {"environment": {"processor": "abacus"}, "sizes": found}}
    write_page(stored, tmp_path / "performance.md")
    return (tmp_path / "performance.md").read_text("utf-8")


def test_ratios_are_within_a_round():
    assert ratios(results(), THEIRS, OURS, "cpu") == [2.0, 4.0]


def test_the_table_has_medians_ranges_and_ratios(tmp_path):
    text = page(tmp_path, results())
    assert f"| {THEIRS} | 5.00 s (2.00–8.00) | 3.00 (2.00–4.00) | 1.00 MB (1.00–1.00) |" in text
    assert "* processor: abacus" in text
    assert f"Not measured: {TREES}: No module named 'trees'." in text
    assert f"| {TREES}" not in text


def test_what_others_do_with_less_is_listed(tmp_path):
    lost = page(tmp_path, results()).split("## What others do with less")[1].split("\n## ")[0]
    assert f"{SGD} takes 0.50 times the CPU time" in lost
    assert THEIRS not in lost


def test_a_machine_that_drifts_gets_no_verdict(tmp_path):
    text = page(tmp_path, results(probes=(1.0, 1.3, 1.0)))
    assert f"| {THEIRS} | 5.00 s (2.00–8.00) | machine drifted | 1.00 MB" in text
    assert "times the CPU time" not in text


def test_growth_is_plotted(tmp_path):
    text = page(tmp_path, results(), results())
    assert "(performance/fit-cpu.svg)" in text
    plot = (tmp_path / "performance" / "fit-cpu.svg").read_text("utf-8")
    assert plot.count("<circle") == 3 * (2 + 1)  # a point per size, and one beside the name


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.name)
def test_every_contender_is_a_function_of_its_module(section):
    assert section.sizes(Sizes())
    for contender in section.contenders:
        module, function = contender.source.split(":")
        text = (CONTENDERS / f"{module}.py").read_text("utf-8")
        assert f"\ndef {function}(inputs: Inputs)" in text


@pytest.mark.parametrize("module", [cells, growth, probe, summary], ids=lambda m: m.__name__)
def test_examples(module):
    assert doctest.testmod(module).failed == 0
