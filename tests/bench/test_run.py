"""One section runs from its command to its page."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_a_quick_run_writes_results_and_a_page(tmp_path):
    command = [sys.executable, "-m", "benchmarks.bench", "--quick", "--sections", "private-fit"]
    subprocess.run([*command, "--folder", str(tmp_path)], cwd=ROOT, check=True)
    page = (tmp_path / "quick" / "performance.md").read_text("utf-8")
    stored = json.loads((tmp_path / "quick" / "results" / "private-fit.json").read_text())
    [[rows, results]] = stored["sizes"].items()
    [taken] = results["rounds"]
    ours = taken["dpfair, PrivateLogisticRegression"]
    assert rows == "2000"
    assert 0 < ours["cpu"] < 60
    assert "| dpfair, PrivateLogisticRegression | " in page
    # It is measured, or the page says why not.
    for title, reason in results["skipped"].items():
        assert f"Not measured: {title}: {reason}." in page
    assert {*taken, *results["skipped"]} == {
        "dpfair, PrivateLogisticRegression",
        "diffprivlib, LogisticRegression",
    }
