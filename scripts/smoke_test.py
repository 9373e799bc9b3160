"""A short check of an installed dpfair: its version, its files, and a small fit.

The wheel is tested by this script, in an environment that has nothing but the wheel and its
dependencies. The package must not be imported from the source tree.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
from importlib import metadata
from pathlib import Path

import dpfair

SOURCE = Path(__file__).resolve().parents[1] / "src" / "dpfair"


def main() -> None:
    installed = Path(dpfair.__file__).resolve().parent
    expect(
        installed.is_relative_to(Path(sysconfig.get_path("purelib")).resolve()),
        f"dpfair is installed, not imported from {installed}",
    )
    expect(metadata.version("dpfair") == dpfair.__version__, "the metadata has the same version")
    for path in SOURCE.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            name = path.relative_to(SOURCE)
            expect((installed / name).is_file(), f"{name} is in the wheel")
    with tempfile.TemporaryDirectory() as folder:
        fit(Path(folder))
        command_line(Path(folder))
    print(f"dpfair {dpfair.__version__}: the smoke test passed.")


def fit(folder: Path) -> None:
    """Fit on some of Adult, save, load, predict and report."""
    data = dpfair.load_adult()
    X, y = data.X[:4000], data.y[:4000]
    model = dpfair.PrivateFairClassifier(
        epsilon=3, delta=1e-5, schema=data.schema, sensitive="sex"
    ).fit(X, y)
    print(model.certificate_)
    dpfair.save_model(model, folder / "model.dpfair")
    loaded = dpfair.load_model(folder / "model.dpfair")
    same = (loaded.predict(X[:50]) == model.predict(X[:50])).all()
    expect(bool(same), "a loaded model decides as the saved one")
    dpfair.write_report(model, folder / "report.html")
    expect((folder / "report.html").stat().st_size > 10_000, "the report has content")


def command_line(folder: Path) -> None:
    """Run the command line in a process of its own."""
    command = [sys.executable, "-m", "dpfair"]
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    expect(version.stdout.strip() == dpfair.__version__, "dpfair --version prints the version")
    subprocess.run([*command, "verify", str(folder / "model.dpfair")], check=True)


def expect(condition: bool, what: str) -> None:
    if not condition:
        sys.exit(f"Expected that {what}.")


if __name__ == "__main__":
    main()
