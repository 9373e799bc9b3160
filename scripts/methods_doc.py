"""Write docs/methods.md: what there is to choose from, by the tables of the package."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from dpfair.audit.catalogue import small_model
from dpfair.audit.sample import sample_schema
from dpfair.cli.methods import described
from dpfair.cli.settings import methods_from_tables
from dpfair.datasets import DATASETS
from dpfair.fairness.notions import NOTIONS
from dpfair.learners import LEARNERS
from dpfair.methods import METHODS
from dpfair.methods.base import PrivateClassifier
from dpfair.methods.other_rules import OtherRules
from dpfair.privacy.accountants import ACCOUNTANTS

PAGE = Path(__file__).parents[1] / "docs" / "methods.md"
INTRODUCTION = """\
# What there is to choose from

`dpfair methods` lists the methods and learners, and `dpfair methods NAME` the settings of one.
`python scripts/methods_doc.py` writes this page from the tables of the package.

A method *certifies* if it bounds the gap between groups. *One release* means that `frontier` and
`with_rule` find other rules at no cost, and *any learner* that it takes a `learner`. All of them
can be saved, verified, reported, searched and audited.
"""


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """The whole page."""
    able = methods_from_tables()
    methods = [
        (f"`{kind.__name__}`", name if name in able else "", *_abilities(kind), _sentence(kind))
        for name, kind in METHODS.items()
    ]
    learners = [(f"`{kind.__name__}`", name, _sentence(kind)) for name, kind in LEARNERS.items()]
    notions = [
        (f"`{name}`", notion.title, " and ".join(s.plural for s in notion.statistics))
        for name, notion in NOTIONS.items()
    ]
    accountants = ACCOUNTANTS.values()
    parts = [
        INTRODUCTION,
        "## Methods\n",
        _table(
            ("in Python", "`--method`", "private", "certifies", "one release", "any learner", ""),
            methods,
        ),
        "## Learners\n",
        _table(("in Python", "`--learner`", ""), learners),
        "## Notions of fairness\n",
        _table(("`notion`", "", "compares"), notions),
        "## Accountants\n",
        _table(
            ("name", "an upper bound", "needs the extra"),
            [(f"`{a.name}`", "yes" if a.is_bound else "no", a.extra or "") for a in accountants],
        ),
        "## Data sets\n",
        _table(("name", ""), [(f"`{name}`", data.title) for name, data in DATASETS.items()]),
    ]
    return "\n".join(parts)


def _abilities(kind: type[PrivateClassifier]) -> Iterator[str]:
    private = not small_model(kind, sample_schema()).leaks(sample_schema())
    certifies = kind.fairness is not PrivateClassifier.fairness
    learner = "learner" in kind().get_params(deep=False)
    for able in (private, certifies, issubclass(kind, OtherRules), learner):
        yield "yes" if able else ""


def _sentence(kind: type[Any]) -> str:
    return str(described("", kind)["description"])


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *map(list, rows)]
    return "".join(re.sub(" +", " ", f"| {' | '.join(line)} |\n") for line in lines)


if __name__ == "__main__":
    main()
