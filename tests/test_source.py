"""Bytes in, bytes out: what is accepted, what is refused in one phrase, and that nothing is lost."""

from __future__ import annotations

import codecs
import pickle
import tokenize
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchlint.source import Source, Unreadable, decode_source, encode_source, read_source


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (b"", "", "utf-8"),
        (b"x = 1\n", "x = 1\n", "utf-8"),
        (b"x = 1", "x = 1", "utf-8"),
        (b"a\r\nb\nc\rd\x0ce\n", "a\r\nb\nc\rd\x0ce\n", "utf-8"),
        ("größe = 'ä'\n".encode(), "größe = 'ä'\n", "utf-8"),
        (codecs.BOM_UTF8 + b"x = 1\n", "x = 1\n", "utf-8"),
        (codecs.BOM_UTF8 + b"# coding: utf-8\n", "# coding: utf-8\n", "utf-8"),
        (b"# coding: latin-1\nx = '\xe4'\n", "# coding: latin-1\nx = 'ä'\n", "iso-8859-1"),
        (
            b"#!sh\n# -*- coding: cp1252 -*-\nx = '\x80'\n",
            "#!sh\n# -*- coding: cp1252 -*-\nx = '€'\n",
            "cp1252",
        ),
        (b"# coding: latin-1\rx = '\xe4'\r", "# coding: latin-1\rx = 'ä'\r", "iso-8859-1"),
        (b"# coding: UTF8\n", "# coding: UTF8\n", "utf-8"),
    ],
)
def test_decodes_as_python_does(data: bytes, text: str, encoding: str) -> None:
    source = decode_source(data, "a.py")
    assert (source.text, source.encoding) == (text, encoding)
    assert source.has_bom is data.startswith(codecs.BOM_UTF8)
    assert encode_source(source, source.text) == data


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"x" * 101, "larger than 100 bytes"),
        (b"x\0y", "contains null bytes"),
        ("x = 1".encode("utf-16"), "encoded as UTF-16, which Python does not accept for source files"),
        ("x = 1".encode("utf-32"), "encoded as UTF-32, which Python does not accept for source files"),
        (b"# coding: utf-16\n", "names the encoding utf-16, which Python does not accept for source files"),
        (b"# coding: klingon\n", "names the unknown encoding 'klingon'"),
        (b"# coding: rot13\n", "names rot13, which is no encoding for text"),
        (b"# coding: hex\n", "names hex, which is no encoding for text"),
        (
            b"\xef\xbb\xbf# coding: latin-1\n",
            "begins with a UTF-8 byte order mark but names another encoding",
        ),
        (b"x = '\xe4'\n", "not valid utf-8, and no other encoding is named"),
        (b"x\ny\r\nz\r'\xe4'\n", "not valid utf-8 (line 4)"),
        (b"# coding: ascii\n#\n#\n# \xe4\n", "not valid ascii (line 4)"),
        (b"# coding: unicode_escape\n'\\x00'\n", "contains null bytes"),
        (b"# coding: utf-7\n'+2AA-'\n", "contains lone surrogates"),
        (b"# coding: undefined\n", "not valid undefined"),
    ],
)
def test_refuses_in_one_phrase(data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable) as caught:
        decode_source(data, "a.py", limit=100)
    assert caught.value.reason == str(caught.value) == reason


def test_the_limit_itself_is_accepted() -> None:
    assert decode_source(b"x" * 100, "a.py", limit=100).text == "x" * 100


def test_a_codec_with_two_spellings_is_checked_but_not_rewritten() -> None:
    data = b"# coding: cp932\nx = '\xee\xf9'\n"
    source = decode_source(data, "a.py")
    assert source.text.encode("cp932") != data
    with pytest.raises(Unreadable, match="would not give back the bytes"):
        encode_source(source, source.text)


def test_a_character_that_the_codec_cannot_hold() -> None:
    with pytest.raises(Unreadable, match="iso-8859-1 cannot hold the new text"):
        encode_source(decode_source(b"# coding: latin-1\n", "a.py"), "# coding: latin-1\n# €\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", False),
        ("x", False),
        ("x\n", False),
        ("x\r\n", False),
        ("x\ry\n", False),
        ("x\r", True),
        ("x\ry\r", True),
    ],
)
def test_only_cr_newlines(text: str, expected: bool) -> None:
    assert Source("a.py", text).only_cr_newlines is expected


@pytest.mark.parametrize("name", ["missing.py", ".", "missing/a.py", "a\0b.py"])
def test_what_cannot_be_opened_is_unreadable(tmp_path: Path, name: str) -> None:
    with pytest.raises(Unreadable, match="cannot be read: "):
        read_source(f"{tmp_path}/{name}")


def test_reads_no_further_than_the_limit() -> None:
    with pytest.raises(Unreadable, match="larger than 1000 bytes"):
        read_source("/dev/zero", limit=1000)


def test_reads_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"x = 1\r\n")
    assert read_source(str(path)) == Source(str(path), "x = 1\r\n")


def test_unreadable_survives_pickling() -> None:
    assert pickle.loads(pickle.dumps(Unreadable("contains null bytes"))).reason == "contains null bytes"


_COOKIES = [
    "",
    "# coding: utf-8\n",
    "# coding: latin-1\r\n",
    "#!x\n# vim: set fileencoding=cp932 :\n",
    "# coding: utf-7\r",
]


@settings(derandomize=True, max_examples=200, deadline=None)
@given(bom=st.booleans(), cookie=st.sampled_from(_COOKIES), body=st.binary(max_size=40) | st.text(max_size=20))
def test_encode_is_the_inverse_of_decode(bom: bool, cookie: str, body: bytes | str) -> None:
    payload = body if isinstance(body, bytes) else body.encode("utf-8", "replace")
    data = codecs.BOM_UTF8 * bom + cookie.encode() + payload
    try:
        source = decode_source(data, "a.py")
        encoded = encode_source(source, source.text)
    except Unreadable as error:
        assert error.reason
        assert "\n" not in error.reason
    else:
        assert encoded == data


def test_agrees_with_tokenize_open_on_the_standard_library() -> None:
    for path in sorted(Path(tokenize.__file__).parent.glob("test/*.py"))[:150]:
        try:
            with tokenize.open(path) as stream:
                expected: str | None = stream.read()
        except (SyntaxError, UnicodeDecodeError):
            expected = None
        try:
            text: str | None = read_source(str(path)).text.replace("\r\n", "\n").replace("\r", "\n")
        except Unreadable:
            text = None
        assert text == expected, path
