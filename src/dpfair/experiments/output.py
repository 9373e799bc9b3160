"""The reproduction on paper: CSV and JSON rows, Markdown, and one HTML page with plots."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path

from dpfair.datasets import DATASETS
from dpfair.experiments.plot import scatter
from dpfair.experiments.summary import RowResult, TableResult

__all__ = ["NAMES", "markdown", "write_outputs"]

NAMES = ("rows.csv", "rows.json", "tables.md", "tables.html")


def write_outputs(results: Sequence[TableResult], folder: Path, title: str) -> list[Path]:
    """Write rows.csv, rows.json, tables.md and tables.html."""
    rows = [row.to_json() for result in results for row in result.rows]
    paths = [folder / name for name in NAMES]
    with paths[0].open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    paths[1].write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    paths[2].write_text(f"# {title}\n\n{markdown(results)}", encoding="utf-8")
    paths[3].write_text(_page(results, title), encoding="utf-8")
    return paths


def markdown(results: Sequence[TableResult]) -> str:
    """Every table, ours beside the published numbers."""
    blocks = []
    for result in results:
        lines = [f"## {heading(result)}", "", remark(result), "", *_markdown_rows(result.rows), ""]
        blocks.append("\n".join(lines))
    return "\n".join(blocks)


def heading(result: TableResult) -> str:
    """What a table is about."""
    table = result.table
    name = DATASETS[table.dataset].title
    accountant = {"prv": "PRV", "rdp": "moments", "gdp": "GDP"}[table.accountant]
    return f"{name}, epsilon' = {table.epsilon:g}, {accountant} accountant"


def remark(result: TableResult) -> str:
    """What the noise costs, and what saying no to everybody would score."""
    said = [f"Always saying no: {result.majority:.4f}."]
    if result.noise_epsilons:
        costs = ", ".join(f"{n} {e:.3f}" for n, e in result.noise_epsilons.items())
        said.append(
            f"Algorithm 2's training noise (std {result.table.noise_std:g}) costs epsilon: {costs}."
        )
    if result.person_epsilon is not None:
        said.append(f"A person owns two rows of this file: {result.person_epsilon:.1f} per person.")
    return " ".join(said)


def label(row: RowResult) -> str:
    """The name of a row."""
    return "Algorithm 2" if row.method == "algorithm2" else f"DP-FERMI, lambda {row.weight:g}"


def cells(row: RowResult) -> list[str]:
    """A row in print."""
    return [
        label(row),
        f"{row.published_accuracy:.4f} / {row.published_gap:.4f}",
        f"{row.accuracy:.4f} ± {row.accuracy_se:.4f} / {row.gap:.4f} ± {row.gap_se:.4f}",
        f"{row.accuracy_errors:+.1f} / {row.gap_errors:+.1f}",
        row.verdict,
    ]


HEADER = ("method", "published", "ours (accuracy / gap)", "difference in standard errors", "")


def _markdown_rows(rows: Sequence[RowResult]) -> list[str]:
    lines = [f"| {' | '.join(HEADER)} |", "|---|---|---|---|---|"]
    return lines + [f"| {' | '.join(cells(row))} |" for row in rows]


def _page(results: Sequence[TableResult], title: str) -> str:
    style = resources.files("dpfair.report").joinpath("page.css").read_text("utf-8")
    sections = []
    for number, result in enumerate(results, start=1):
        head = "".join(f"<th>{escape(name)}</th>" for name in HEADER)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells(row)) + "</tr>"
            for row in result.rows
        )
        sections.append(
            f"<section><h2><span>{number}</span> {escape(heading(result))}</h2>"
            f"<p>{escape(remark(result))}</p>{scatter(result.rows)}"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></section>"
        )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{style}</style></head>'
        f"<body><main><header><h1>{escape(title)}</h1></header>{''.join(sections)}</main></body></html>\n"
    )
