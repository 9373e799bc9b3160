"""Check FILE, an output of ``dpfair ledger export``, without dpfair."""

import hashlib
import json
import sys
from fractions import Fraction
from pathlib import Path

head, spent, budget = "0" * 64, Fraction(0), Fraction(0)
for number, line in enumerate(Path(sys.argv[1]).read_text().splitlines()):
    row = json.loads(line)
    body = json.loads(row["body"])
    head = hashlib.sha256((head + row["body"]).encode()).hexdigest()
    budget = Fraction(body["epsilon"]) if number == 0 else budget
    before, spent = spent, Fraction(body.get("spent", spent))
    if row["seq"] != number or row["hash"] != head or not before <= spent <= budget:
        sys.exit(f"Row {number} does not follow from the rows before it.")
print(f"{spent} of {budget} is spent; compare the head with your own: {head}")
