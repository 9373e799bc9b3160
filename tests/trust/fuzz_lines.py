"""Random CSV files of quotes, separators, line ends and other bytes: one line is one record.

``python -m trust.fuzz_lines 20000`` in ``tests`` reads that many files.
"""

from __future__ import annotations

import csv
import random
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from dpfair.data import read
from dpfair.data.file_form import FileForm
from dpfair.errors import DpfairError

__all__ = ["examine_lines", "fuzz_lines", "random_lines", "reference"]

# What a reader may stumble over; long text, since readers look at many bytes at once.
TOKENS = [
    *(b'"', b'""', b",", b'","', b'",', b',"', b'"\r', b"\r", b"\0", b"\xff", b"\xe2\x80"),
    *(b"\xe2\x80\xa8", b"\xc2\x85", b"\x0b\x0c", b"\x85", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"#"),
    *(b"a", b"7", b" ", b"'", b"\\", b"\t", b";", "\u00e9".encode(), b"null", b"x" * 70),
]
QUOTED = re.compile(rb'"((?:[^"]|"")*)"(?=,|\Z)')
WELL_FORMED = re.compile(rb'(?:(?:"(?:[^"\r\0]|"")*"|[^",\r\0]+)(?:,(?!\Z)|\Z))+')
Row = tuple[str | None, ...]


def reference(line: bytes, width: int) -> Row:
    """What the line says, cell by cell."""
    line = line.removesuffix(b"\r")
    cells: list[str | None] = []
    place = 0
    while place <= len(line) and len(cells) < width:
        quoted = QUOTED.match(line, place)
        end = quoted.end() if quoted else line.find(b",", place) % (len(line) + 1)
        text = quoted[1].replace(b'""', b'"') if quoted else line[place:end]
        if not quoted and end < len(line):
            text = text.removesuffix(b"\r")
        missing = not quoted and (not text or b'"' in text)
        cells.append(None if missing else text.decode(errors="replace"))
        place = end + 1
    return (*cells, *[None] * (width - len(cells)))


def random_line(rng: random.Random, width: int) -> bytes:
    """Well-formed cells, a soup of tokens, or cells of which one is spoilt."""
    kind = rng.random()
    if kind < 0.3:
        return b"".join(rng.choices(TOKENS, k=rng.randint(0, 8)))
    cells = [b"".join(rng.choices(TOKENS[18:], k=rng.randint(0, 2))) for _ in range(width)]
    for place in range(width):
        if rng.random() < 0.3:
            inner = rng.choice([cells[place], b"a,b", b"", b'say ""x""', b"a\rb", b"\0"])
            cells[place] = b'"' + inner + b'"'
    if kind > 0.8:
        cells[rng.randrange(width)] += rng.choice(TOKENS)
    return b",".join(cells)


def random_lines(rng: random.Random) -> tuple[list[bytes], int]:
    """Lines without the newline, and the number of columns."""
    width, count = rng.randint(1, 5), rng.choice([1, 2, 3, 5, 8, 40])
    lines = [random_line(rng, width) for _ in range(count)]
    if rng.random() < 0.01:
        lines = rng.choices(lines, k=rng.choice([3000, 30_000]))
    end = rng.choice([b"", b"", b"\r"])
    return [line + end for line in lines], width


def examine_lines(rng: random.Random, path: Path) -> str:
    """Read a random file and a neighbour of it; returns which kind of file it was."""
    lines, width = random_lines(rng)
    rows = _read(path, lines, width, rng)
    assert len(rows) == len(lines), f"{len(lines)} lines were read as {len(rows)} records"
    place = rng.randrange(len(lines))
    changed = list(lines)
    changed[place] = random_line(rng, width)
    others = _read(path, changed, width, rng)
    assert len(others) == len(lines), f"{len(lines)} lines were read as {len(others)} records"
    moved = [i for i in range(len(lines)) if rows[i] != others[i] and i != place]
    assert not moved, f"line {place} changed the records {moved[:5]}"
    known = {line: reference(line, width) for line in set(lines)}
    wrong = [i for i, line in enumerate(lines) if rows[i] != known[line]]
    assert not wrong, (
        f"line {wrong[0]} of {width} cells is {lines[wrong[0]]!r}, not {rows[wrong[0]]}"
    )
    for line in known:
        if WELL_FORMED.fullmatch(line) and line.isascii():
            [usual] = csv.reader([line.decode()])
            assert known[line][: len(usual)] == tuple(usual[:width]), f"{line!r} is {usual}"
    return "with quotes" if any(b'"' in line for line in lines) else "without quotes"


def _read(path: Path, lines: list[bytes], width: int, rng: random.Random) -> list[Row]:
    """The records, by the reader that every command uses; commas and a delimiter are swapped."""
    mark = rng.choice([",", ",", ";", "\t", "|"])
    header = b",".join(b"c%d" % i for i in range(width)) + rng.choice([b"\n", b"\r\n"])
    end = b"\n" if lines[-1] == b"" or rng.random() < 0.7 else b""
    content = header + b"\n".join(lines) + end
    content = content.translate(bytes.maketrans(b"," + mark.encode(), mark.encode() + b","))
    path.write_bytes(rng.choice([b"", b"\xef\xbb\xbf"]) + content)
    file = FileForm(mark) if width == 1 else FileForm()  # one name has no delimiter
    swapped = str.maketrans(f",{mark}", f"{mark},")
    rows = read.read_table(path, file).rows()
    return [tuple(cell and cell.translate(swapped) for cell in row) for row in rows]


def fuzz_lines(count: int, number: int = 0) -> Counter[str]:
    """Examine many random files; a failure names the seed that repeats it."""
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for i in range(count):
            seed = f"{number}/{i}"
            try:
                found[examine_lines(random.Random(seed), Path(folder) / "lines.csv")] += 1
            except (AssertionError, DpfairError) as error:
                raise AssertionError(f"seed {seed}: {error}") from None
    return found


if __name__ == "__main__":
    start = time.perf_counter()
    outcome = fuzz_lines(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    print(dict(outcome), f"{time.perf_counter() - start:.0f} s")
