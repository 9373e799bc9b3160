"""How a file writes a table is a fact of the schema."""

import pytest

from dpfair.data.file_form import FileForm
from dpfair.errors import SchemaError


def test_only_what_differs_from_the_default_is_stated():
    assert FileForm().to_dict() == {}
    assert FileForm().phrases() == []
    form = FileForm("\t", "Latin-1", ",", ".")
    assert form.to_dict() == {
        "delimiter": "\t",
        "encoding": "iso8859-1",
        "decimal": ",",
        "thousands": ".",
    }
    assert FileForm.from_dict(form.to_dict(), "file") == form
    assert form.phrases()[0] == "cells are separated by a tab"


@pytest.mark.parametrize(
    "wrong",
    [
        {"delimiter": "a"},
        {"delimiter": ""},
        {"delimiter": "."},
        {"delimiter": "é"},
        {"encoding": "punycode"},
        {"encoding": "utf-7"},
        {"encoding": "cp037"},
        {"decimal": ";"},
        {"thousands": "."},
        {"thousands": "x"},
    ],
)
def test_a_form_that_no_file_has_is_refused(wrong):
    with pytest.raises(SchemaError, match="of the file"):
        FileForm(**wrong)
