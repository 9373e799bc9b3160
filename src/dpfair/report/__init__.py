"""One self-contained page about a fitted model: what was asked, promised, paid and assumed."""

from dpfair.report.page import render_report, write_report

__all__ = ["render_report", "write_report"]
