"""Make docs/report.png: the certificate and the groups of a private fit on Adult.

Run by ``make report-picture``, which installs chromium if it is missing. The fit is private, so
its numbers differ a little from run to run.
"""

from __future__ import annotations

import html
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from dpfair import PrivateFairClassifier, load_adult
from dpfair.report import render_report

PICTURE = Path(__file__).parents[1] / "docs" / "report.png"
WIDTH = 780

# Section 2 and the plot of section 3, without the margins of the page.
SHOWN = """<style>
body { background: var(--paper); }
main { max-width: none; margin: 0; padding: 0.5rem 2.7rem; border: 0; }
header, .banner, footer, section { display: none; }
section:nth-of-type(2), section:nth-of-type(3) { display: block; }
section:nth-of-type(3) > :not(h2, figure) { display: none; }
section:nth-of-type(2) { margin: 0; padding: 0.5rem 0 0; border: 0; }
</style></head>"""

# The report runs no script, so a frame around it tells how tall it is.
FRAME = """<!doctype html><title></title>
<iframe sandbox="allow-same-origin" style="border:0;width:{width}px;height:10px" srcdoc="{page}"
 onload="document.title = this.contentDocument.querySelector('main').scrollHeight"></iframe>"""

BROWSER = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
]


def browse(folder: Path, page: Path, *options: str) -> str:
    """Let chromium open a page; what it prints."""
    command = ["chromium", *BROWSER, f"--user-data-dir={folder / 'profile'}", *options]
    done = subprocess.run(
        [*command, page.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout


def main() -> int:
    """Fit, write the page, measure it, and take its picture."""
    data = load_adult()
    model = PrivateFairClassifier(3, 1e-5, schema=data.schema, sensitive="sex")
    text = render_report(model.fit(data.X, data.y)).replace("</head>", SHOWN, 1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        page, frame = folder / "report.html", folder / "frame.html"
        page.write_text(text, "utf-8")
        frame.write_text(FRAME.format(width=WIDTH, page=html.escape(text)), "utf-8")
        measured = re.search(r"<title>(\d+)</title>", browse(folder, frame, "--dump-dom"))
        if measured is None:
            print("chromium did not measure the page", file=sys.stderr)
            return 1
        size = f"--window-size={WIDTH},{measured[1]}"
        browse(folder, page, size, f"--screenshot={PICTURE}")
    print(f"{PICTURE}: {WIDTH} x {measured[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
