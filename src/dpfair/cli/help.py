"""The help of the commands: headings, examples, and names from the tables of methods.

On a terminal typer draws the help with rich; in a pipe it is plain text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from typer.core import TyperCommand, TyperGroup

from dpfair.cli.looks import decorated
from dpfair.cli.settings import either, methods_from_tables

__all__ = ["CommandsInPanels", "HelpFromTables", "example_text"]


def example_text(examples: Iterable[str]) -> str:
    """The end of a command's help; every example is a line of its own.

    >>> example_text(["dpfair demo", "dpfair methods"])
    'Example:\\n\\n  dpfair demo\\n\\n  dpfair methods'
    """
    return "\n\n".join(["Example:", *(f"  {example}" for example in examples)])


class HelpFromTables(TyperCommand):
    """A command whose help may name what tables list: methods, learners, data sets, notions.

    The tables are imported when such a help is shown, because that takes longer than most commands.
    """

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Fill in the names, and choose the looks."""
        for option in self.params:
            text = getattr(option, "help", None)
            if text and "{" in text:
                option.help = text.format_map(_Names())  # type: ignore[attr-defined]
        self.rich_markup_mode = _markup()
        super().format_help(ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Examples as they are: a wrapped command could not be copied."""
        _write_epilog(self.epilog, formatter)


class CommandsInPanels(TyperGroup):
    """A group whose help lists the commands under headings."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Choose the looks."""
        self.rich_markup_mode = _markup()
        super().format_help(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The headings of plain text; rich has its own."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is None or command.hidden:
                continue
            panel = getattr(command, "rich_help_panel", None)
            heading = panel if isinstance(panel, str) else "Commands"
            short = command.get_short_help_str(formatter.width - 20)
            panels.setdefault(heading, []).append((name, short))
        width = max((len(name) for rows in panels.values() for name, _ in rows), default=0)
        for heading, rows in panels.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), short) for name, short in rows])

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Examples as they are."""
        _write_epilog(self.epilog, formatter)


def _write_epilog(epilog: str | None, formatter: Any) -> None:
    if epilog:
        formatter.write_paragraph()
        formatter.write(epilog.replace("\n\n", "\n") + "\n")


def _markup() -> Literal["rich"] | None:
    return "rich" if decorated() else None


class _Names(dict[str, str]):
    """The names of a table, which is imported if a text mentions it."""

    def __missing__(self, table: str) -> str:
        return either(_TABLES[table]())


def _learners() -> Iterable[str]:
    from dpfair.learners import LEARNERS

    return LEARNERS


def _datasets() -> Iterable[str]:
    from dpfair.datasets import DATASETS

    return DATASETS


def _notions() -> Iterable[str]:
    from dpfair.fairness.notions import NOTIONS

    return NOTIONS


_TABLES = {
    "methods": methods_from_tables,
    "learners": _learners,
    "datasets": _datasets,
    "notions": _notions,
}
