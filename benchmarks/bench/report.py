"""Write the page from the stored results alone."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.bench.cells import COLUMNS, DRIFTED, cell
from benchmarks.bench.growth import Curve, growth_plot
from benchmarks.bench.probe import DRIFT, drifted
from benchmarks.bench.rounds import LARGE, MOST_CPU, Results
from benchmarks.bench.sections import SECTIONS, Section
from benchmarks.bench.summary import ratios, values

__all__ = ["read", "store", "write_page"]

Stored = dict[str, Any]
"""``environment``, and ``sizes`` with the results by the number of rows."""

LOGS = {"cpu": ("CPU time", "seconds", 1.0), "peak": ("peak memory", "MB", 1e6)}


def store(folder: Path, section: Section, stored: Stored) -> None:
    """Keep the results of a section."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{section.name}.json").write_text(json.dumps(stored, indent=1), encoding="utf-8")


def read(folder: Path) -> dict[str, Stored]:
    """All results that were kept, in the order of the page."""
    paths = {section.name: folder / f"{section.name}.json" for section in SECTIONS}
    return {n: json.loads(p.read_text("utf-8")) for n, p in paths.items() if p.exists()}


def write_page(found: Mapping[str, Stored], page: Path) -> None:
    """The page, and its plots in a folder beside it of the same name."""
    sections = [section for section in SECTIONS if section.name in found]
    head = (Path(__file__).parent / "page_head.md").read_text("utf-8")
    lines = [head.format(drift=f"{DRIFT:.0%}", drifted=DRIFTED, most=MOST_CPU, large=LARGE)]
    lines += machines(found)
    lines += losses(sections, found)
    plots = page.parent / page.stem
    for section in sections:
        sizes = {int(rows): results for rows, results in found[section.name]["sizes"].items()}
        lines += section_lines(section, sizes)
        if len(sizes) > 1:
            plots.mkdir(parents=True, exist_ok=True)
            for key in LOGS:
                name = f"{section.name}-{key}.svg"
                (plots / name).write_text(plot(section, sizes, key), encoding="utf-8")
                lines.append(f"![{LOGS[key][0]} over rows]({plots.name}/{name})\n")
    page.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def machines(found: Mapping[str, Stored]) -> Iterator[str]:
    """What the results were made with; sections of several runs are listed."""
    runs: dict[str, list[str]] = {}
    for name, stored in found.items():
        facts = "\n".join(f"* {what}: {fact}" for what, fact in stored["environment"].items())
        runs.setdefault(facts, []).append(name)
    for facts, names in runs.items():
        if len(runs) > 1:
            yield f"Sections {', '.join(names)}:\n"
        yield f"{facts}\n"


def losses(sections: list[Section], found: Mapping[str, Stored]) -> Iterator[str]:
    """Everything that took less than dpfair, by the medians."""
    yield "## What others do with less\n"
    lines, refused = [], 0
    for section, rows, results, key in comparisons(sections, found):
        for contender in section.contenders[1:]:
            both = ratios(results, contender.title, section.contenders[0].title, key)
            if not both or contender.part or contender.title.startswith("dpfair"):
                continue
            if key == "cpu" and drifted(results["probes"]):
                refused += 1
            elif (median := statistics.median(both)) < 1:
                what = f"{median:.2f} times the {LOGS[key][0]}"
                lines.append(f"* {section.title}, {rows:,} rows: {contender.title} takes {what}.")
    yield "\n".join(lines or ["Nothing that is stated in these tables."]) + "\n"
    if refused:
        yield f"{refused} ratios are not stated because the {DRIFTED}.\n"


def comparisons(
    sections: list[Section], found: Mapping[str, Stored]
) -> Iterator[tuple[Section, int, Results, str]]:
    """The sections, sizes and quantities in which others are compared with dpfair."""
    for section in sections:
        ours = section.contenders[0].title.startswith("dpfair")
        for key, column in (("cpu", "ratio"), ("peak", "peak ratio")):
            if ours and column in section.shown:
                for rows, results in found[section.name]["sizes"].items():
                    yield section, int(rows), results, key


def section_lines(section: Section, sizes: Mapping[int, Results]) -> Iterator[str]:
    """The heading, the table and why some contenders are missing."""
    yield f"## {section.title}\n"
    counts = [len(results["rounds"]) for results in sizes.values()]
    rounds = "–".join(f"{n}" for n in sorted({min(counts), max(counts)}))
    rounds += " round." if max(counts) == 1 else " rounds."
    tables = section.sizes.__name__ != "adult"
    many = f" Tables of {next(iter(sizes)):,} rows." if tables and len(sizes) == 1 else ""
    per = f" Times are per {section.unit}." if section.unit else ""
    yield f"{section.about}{many}{per} {rounds}\n"
    headings = [COLUMNS[name][0] for name in section.shown]
    growing = len(sizes) > 1
    yield row(["rows"] * growing + ["", *headings])
    yield "|" + "---|" * (growing + 1 + len(headings))
    skipped: dict[str, str] = {}
    for rows, results in sizes.items():
        for contender in section.contenders:
            if contender.title not in results["skipped"]:
                shown = [cell(n, section, results, contender.title) for n in section.shown]
                yield row([f"{rows:,}"] * growing + [contender.title, *shown])
        for title, reason in results["skipped"].items():
            skipped.setdefault(f"{title}: {reason}", f"{rows:,}")
    yield ""
    for text, rows_text in skipped.items():
        yield f"Not measured{f' from {rows_text} rows' if growing else ''}: {text}.\n"


def row(cells: list[str]) -> str:
    """One row of a table."""
    return f"| {' | '.join(cells)} |"


def plot(section: Section, sizes: Mapping[int, Results], key: str) -> str:
    """The medians of all contenders over the rows."""
    title, unit, scale = LOGS[key]
    curves: dict[str, Curve] = {}
    for contender in section.contenders:
        points = [(n, values(results, contender.title, key)) for n, results in sizes.items()]
        medians = [(n, statistics.median(found) / scale) for n, found in points if found]
        curve = [(n, median) for n, median in medians if median > 0]
        if curve:
            curves[contender.title] = curve
    return growth_plot(curves, f"{section.title}: {title}", unit)
