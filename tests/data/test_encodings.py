"""Files of other encodings: a line depends on itself alone."""

import pytest

from dpfair.data.encodings import as_utf8
from dpfair.data.file_form import ENCODINGS

TEXT = "name;größe\nä;1\nß;2\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "cp1252", "iso8859-15"])
def test_text_of_every_kind_of_encoding(encoding):
    assert as_utf8(TEXT.encode(encoding), encoding) == TEXT.encode()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_recognised(encoding):
    assert as_utf8(TEXT.encode(encoding), "utf-8") == TEXT.encode()
    assert as_utf8(b"\xff\xfe" + TEXT.encode("utf-16-le"), "utf-16") == TEXT.encode()
    assert as_utf8(b"\xfe\xff" + TEXT.encode("utf-16-be"), "utf-16") == TEXT.encode()
    assert as_utf8(b"\xff\xfea", "cp1252").decode() == "ÿþa"  # a stated encoding wins


@pytest.mark.parametrize("encoding", sorted(ENCODINGS - {"utf-8", "utf-16", "ascii"}))
def test_no_byte_changes_another_line_or_is_an_error(encoding):
    wide = 2 if encoding.startswith("utf-16") else 1
    newline = "\n".encode(encoding)
    around = [text.encode(encoding) for text in ("a,b", "c,d")]
    for first in range(256):
        for rest in (b"", b"\x1b$B", b"\x81", b"\xff\xfe", b"\xd8\x00\xd8", b"+AAo-"):
            middle = bytes([first]) + rest
            middle += b"\0" * (len(middle) % wide)
            if newline in middle or (wide == 1 and b"\n" in middle):
                continue
            units = [middle[i : i + wide] for i in range(0, len(middle), wide)]
            if newline in units:
                continue
            lines = as_utf8(newline.join([around[0], middle, around[1]]), encoding).split(b"\n")
            assert len(lines) == 3, (encoding, middle)
            assert [lines[0], lines[2]] == [b"a,b", b"c,d"], (encoding, middle)
