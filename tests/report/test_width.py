"""No part of the page is cut off on a narrow screen."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from importlib.resources import files

import pytest
from sample_tables import make_loans

from dpfair import Algorithm2, PrivateFairClassifier, PrivateLogisticRegression
from dpfair.report import render_report

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# The page itself runs no script: a frame around it measures what is wider than its place.
FRAME = """<!doctype html><title>waiting</title>
<iframe sandbox="allow-same-origin" style="border:0;width:{width}px;height:900px" srcdoc="{page}"
 onload="const d = this.contentDocument;
 d.querySelectorAll('details').forEach(e => e.open = true);
 const wide = [...d.querySelectorAll('html, .scroll')].filter(e => e.scrollWidth > e.clientWidth);
 document.title = 'too wide: ' + wide.map(
   e => (e.querySelector('table') || e).className + ' ' + e.scrollWidth).join(', ') + ';'">
</iframe>"""


@pytest.fixture(scope="module")
def pages(loan_schema):
    X, y = make_loans()
    models = [
        PrivateFairClassifier(1, schema=loan_schema),
        Algorithm2(1, schema=loan_schema),
        PrivateFairClassifier(1, schema=loan_schema, mode="reuse", division={"check_share": 0.3}),
        PrivateLogisticRegression(1, schema=loan_schema),
    ]
    pages = [render_report(model.fit(X, y)) for model in models]
    assert "decisions" in models[0].fitted_.releases
    return pages


def test_the_account_becomes_a_list_on_a_narrow_screen(pages):
    style = files("dpfair.report").joinpath("page.css").read_text()
    narrow = style.split("@media (max-width: 40rem)")[1].split("@media print")[0]
    assert re.search(r"\.ledger tr \{[^}]*display: block", narrow)
    assert "attr(data-name)" in narrow
    assert "min-width" not in narrow
    for page in pages:
        account = page.split('<table class="ledger">')[1].split("</table>")[0]
        body = account.split("<tbody>")[1]
        cells = re.findall(r"<t[hd]\b[^>]*>", body)
        assert len(cells) > 5
        assert all("data-name=" in cell or "colspan=" in cell for cell in cells)


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
@pytest.mark.parametrize("width", [360, 400, 1000])
def test_nothing_is_wider_than_its_place(pages, width, tmp_path):
    for page in pages:
        frame = tmp_path / "frame.html"
        frame.write_text(FRAME.format(width=width, page=html.escape(page)), "utf-8")
        command = [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
        shown = subprocess.run(
            [*command, frame.as_uri()], capture_output=True, text=True, timeout=60, check=True
        ).stdout
        assert re.search("<title>(.*?)</title>", shown)[1] == "too wide: ;"
