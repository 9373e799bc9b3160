"""Words of fixed width for texts: equal for equal texts only."""

from hypothesis import given
from hypothesis import strategies as st

from dpfair.privacy.identities import text_rows

texts = st.none() | st.text(max_size=3) | st.sampled_from(["None", "'a'", "a", "\ud800", "\\ud800"])


@given(st.lists(texts, max_size=8))
def test_equal_texts_and_no_others_have_equal_words(listed):
    rows = text_rows(listed)
    assert rows.shape == (len(listed), 2)
    for one, row in zip(listed, rows, strict=True):
        for two, other in zip(listed, rows, strict=True):
            assert (row == other).all() == (one == two)
        assert (text_rows([one]) == row).all()
