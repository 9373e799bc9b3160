"""scripts/audit.py starts, and says which sections there are."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "audit.py"


def test_an_unknown_section_is_refused_with_the_list_of_sections():
    run = subprocess.run([sys.executable, SCRIPT, "mutant"], capture_output=True, text=True)
    assert run.returncode == 2
    assert run.stderr.startswith("Expected some of mechanisms, replay, mutants")
