"""Bytes in, bytes out: how a file's bytes become text and how text becomes the same file's bytes again."""

from __future__ import annotations

import codecs
import os
import re
import stat
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = [
    "SIZE_LIMIT",
    "Source",
    "Unreadable",
    "decode_source",
    "encode_source",
    "lines_of",
    "read_bytes",
    "read_source",
]

SIZE_LIMIT = 2_000_000
"""The largest file that is read, in bytes: larger ones are data or generated, and would take minutes."""

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)?")
_LINE_OF_TEXT = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_WIDE_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


class Unreadable(Exception):
    """A file that cannot be checked or rewritten.

    Attributes:
        reason: why, as one clear phrase to put behind the file's name: "contains null bytes".
    """

    def __init__(self, reason: str) -> None:
        """Keep ``reason``, a phrase without a line break."""
        super().__init__(reason)
        self.reason = reason

    def __reduce__(self) -> tuple[type[Unreadable], tuple[str]]:
        """Survive the way back from a worker process."""
        return (type(self), (self.reason,))


@dataclass(frozen=True)
class Source:
    """The text of one file and what is needed to write it back byte by byte.

    Attributes:
        path: the file's name as the user gave it or as the directory walk found it.
        text: the decoded text without the byte order mark, every line end as it stands in the file.
        encoding: the name of a Python codec.
        has_bom: True when the file begins with the UTF-8 byte order mark.
        exact: True when encoding the text gives the file's own bytes. A few codecs (cp932, UTF-7, ISO 2022)
            have two spellings for one character; a file that uses the other one is checked, and never
            rewritten.
    """

    path: str
    text: str
    encoding: str = "utf-8"
    has_bom: bool = False
    exact: bool = True

    @property
    def only_cr_newlines(self) -> bool:
        """True when all lines end with a lone carriage return; such a file is not fixed."""
        return "\r" in self.text and "\n" not in self.text


def decode_source(data: bytes, path: str, *, limit: int = SIZE_LIMIT) -> Source:
    """Decode a file's bytes as Python does: by byte order mark, PEP 263 comment, or as UTF-8.

    Args:
        data: the whole file.
        path: the name to keep in the result; nothing is opened.
        limit: the largest accepted size in bytes.

    Raises:
        Unreadable: the file is too large, holds null bytes, is UTF-16 or UTF-32, names a codec that does not
            exist or is none for text, contradicts its byte order mark, or is not valid in its codec.
    """
    if len(data) > limit:
        raise Unreadable(f"larger than {limit} bytes")
    for mark, name in _WIDE_MARKS:
        if data.startswith(mark):
            raise Unreadable(f"encoded as {name}, which Python does not accept for source files")
    if b"\0" in data:
        raise Unreadable("contains null bytes")
    if not _says_its_encoding(data):
        try:
            return Source(path=path, text=data.decode())
        except UnicodeDecodeError:
            pass  # said below, with the line
    encoding, has_bom = _encoding_of(data)
    body = data[len(codecs.BOM_UTF8) :] if has_bom else data
    text = _decode(body, encoding)
    exact = encoding == "utf-8" or _encodes_to(text, encoding, body)
    return Source(path=path, text=text, encoding=encoding, has_bom=has_bom, exact=exact)


def read_source(path: str, *, limit: int = SIZE_LIMIT) -> Source:
    """Read and decode a file.

    Args:
        path: the file to open; also the name kept in the result.
        limit: the largest accepted size in bytes; no more than one byte beyond it is read.

    Raises:
        Unreadable: as :func:`decode_source`, and when the file cannot be opened or read, or is a pipe.
    """
    return decode_source(read_bytes(path, limit=limit), path, limit=limit)


def read_bytes(path: str, *, limit: int = SIZE_LIMIT) -> bytes:
    """The first ``limit + 1`` bytes of a file: enough to see that it is larger than ``limit`` bytes.

    Raises:
        Unreadable: it cannot be opened or read, or is a pipe.
    """
    try:
        with open(path, "rb", opener=_open_at_once) as stream:
            if stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode):
                raise Unreadable("is a pipe and no file")
            return stream.read(limit + 1)
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise Unreadable(f"cannot be read: {error}") from error


def _open_at_once(path: str, flags: int) -> int:
    """Open a file as ``open`` does, but without waiting for whoever writes into a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def lines_of(text: str) -> list[str]:
    """The lines of a text with their ends, as Python and ``ast`` count them: a form feed ends none."""
    return _LINE_OF_TEXT.findall(text)


def encode_source(source: Source, text: str) -> bytes:
    """Encode ``text`` as the file that ``source`` was read from: same codec, same byte order mark.

    ``encode_source(source, source.text)`` gives exactly the bytes that ``source`` was decoded from.

    Raises:
        Unreadable: the file's codec cannot hold a character of ``text``, or would not give the file's own
            bytes back for what is unchanged (``source.exact`` is False).
    """
    if not source.exact:
        raise Unreadable(f"{source.encoding} would not give back the bytes of the unchanged lines")
    try:
        body = text.encode(source.encoding)
    except (UnicodeError, LookupError) as error:
        raise Unreadable(f"{source.encoding} cannot hold the new text") from error
    return codecs.BOM_UTF8 + body if source.has_bom else body


def _says_its_encoding(data: bytes) -> bool:
    """Whether a byte order mark or a comment in the first lines may name a codec; nearly no file does."""
    return data.startswith(codecs.BOM_UTF8) or b"coding" in b"".join(_first_lines(data))


def _encoding_of(data: bytes) -> tuple[str, bool]:
    """The codec's name and whether a byte order mark precedes the text; raises Unreadable."""
    lines = _first_lines(data)
    try:
        encoding, _ = tokenize.detect_encoding(lambda: next(lines))
    except SyntaxError as error:
        raise Unreadable(_phrase(str(error.msg))) from error
    except ValueError as error:
        raise Unreadable("names an encoding that does not exist") from error
    if encoding == "utf-8-sig":
        return "utf-8", True
    # Several names of one codec must not make several behaviours below.
    name = codecs.lookup(encoding).name
    if name.startswith(("utf-16", "utf-32")):
        raise Unreadable(f"names the encoding {encoding}, which Python does not accept for source files")
    return ("utf-8" if name == "utf-8" else encoding), False


def _first_lines(data: bytes) -> Iterator[bytes]:
    """Two lines by all three line ends: in a file with lone CRs a coding comment has its own line."""
    first = _LINE.match(data)
    end = first.end() if first else 0
    yield data[:end]
    second = _LINE.match(data, end)
    yield data[end : second.end() if second else end]


def _phrase(message: str) -> str:
    """A phrase for what ``tokenize.detect_encoding`` refused."""
    if message.startswith("unknown encoding"):
        name = message.partition(": ")[2]
        return f"names the unknown encoding {name!a}"
    if message.startswith("encoding problem"):
        return "begins with a UTF-8 byte order mark but names another encoding"
    return "not valid utf-8, and no other encoding is named"


def _decode(body: bytes, encoding: str) -> str:
    """Decode, and refuse what Python itself could not hold as source text; raises Unreadable."""
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        line = len(re.findall(rb"\r\n|\r|\n", body[: error.start])) + 1
        raise Unreadable(f"not valid {encoding} (line {line})") from error
    except LookupError as error:
        raise Unreadable(f"names {encoding}, which is no encoding for text") from error
    except ValueError as error:
        raise Unreadable(f"not valid {encoding}") from error
    if "\0" in text:
        raise Unreadable("contains null bytes")
    if encoding != "utf-8" and not _encodes_to(text, "utf-8", None):
        raise Unreadable("contains lone surrogates")
    return text


def _encodes_to(text: str, encoding: str, expected: bytes | None) -> bool:
    """Whether ``text`` can be encoded at all and, where ``expected`` is given, to exactly that."""
    try:
        body = text.encode(encoding)
    except (ValueError, LookupError):
        return False
    return expected is None or body == expected
