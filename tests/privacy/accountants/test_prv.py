"""The optional accountant: dpfair works without its package and says what is missing."""

import subprocess
import sys

WITHOUT = "import sys; sys.modules['prv_accountant'] = None; "  # every import of it fails
ACCOUNT = "--noise-multiplier 2 --sampling-rate .05 --steps 10 --delta 1e-5"


def without_prv(code):
    """What the code prints in a process that cannot import prv_accountant."""
    found = subprocess.run(
        [sys.executable, "-c", WITHOUT + code], capture_output=True, text=True, check=True
    )
    return found.stdout.strip()


def test_the_other_accountants_answer():
    code = (
        "import dpfair; from dpfair.privacy.events import gaussian_steps; "
        "print(list(dpfair.epsilons(gaussian_steps(2.0, .05, 10), 1e-5)), "
        "dpfair.calibrate(1, 1e-5, .05, 10) > 0)"
    )
    assert without_prv(code) == "['pld', 'rdp', 'gdp'] True"


def test_asking_for_it_names_the_extra():
    code = """
from dpfair.errors import InputError
from dpfair.privacy.accountants import epsilon
from dpfair.privacy.events import step_event
try:
    epsilon(step_event(2.0, 1.0), 1e-5, accountant="prv")
except InputError as error:
    print(error)
"""
    expected = "The prv accountant is not installed; run pip install 'dpfair[prv]'."
    assert without_prv(code) == expected


def test_the_command_line_says_that_it_is_not_installed():
    command = "from dpfair.cli import main; sys.argv[1:] = 'account {}'.split(); main()"
    said = without_prv(command.format(ACCOUNT))
    assert "pld  epsilon" in said
    assert "prv  not installed; run pip install 'dpfair[prv]'" in said
    data = without_prv(command.format(ACCOUNT + " --json"))
    assert '"not_installed": {' in data
    assert "dpfair[prv]" in data


def test_it_is_not_imported_before_it_is_asked():
    code = (
        "import sys; import dpfair; dpfair.epsilons; import dpfair.cli; "
        "print('prv_accountant' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
