from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.parse.charset import charset_of, decode, name_of

RUSSIAN = "Съешь ещё этих мягких французских булок, да выпей чаю. " * 5
JAPANESE = "これは日本語の文章です。文字コードを推測するための例として書かれています。" * 3


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("utf8", "utf-8"),
        (" UTF-8 ", "utf-8"),
        ("latin1", "windows-1252"),
        ("iso-8859-1", "windows-1252"),
        ("ascii", "windows-1252"),
        ("gb2312", "gbk"),
        ("sjis", "shift_jis"),
        ("ks_c_5601-1987", "euc-kr"),
        ("iso-8859-9", "windows-1254"),
        ("tis-620", "windows-874"),
        ("unicode", "utf-16le"),
        ("koi8-ru", "koi8-u"),
        ("iso-2022-kr", "replacement"),
        ("utf-7", None),
        ("utf-32", None),
        ("rot13", None),
        ("hex", None),
        ("nonsense", None),
        ("", None),
        ("utf-8\0", None),
        ("\udc80", None),
    ],
)
def test_labels_are_those_of_the_encoding_standard(label: str, name: str | None) -> None:
    assert name_of(label) == name


@pytest.mark.parametrize(
    ("content_type", "name"),
    [
        ("text/html; charset=utf-8", "utf-8"),
        ('text/html;CHARSET="ISO-8859-1"', "windows-1252"),
        ("text/html; charset = 'koi8-r' ; x=y", "koi8-r"),
        ("text/html; charset=", None),
        ("text/html; charset=nonsense", None),
        ("text/html", None),
        (None, None),
    ],
)
def test_a_content_type_names_a_charset(content_type: str | None, name: str | None) -> None:
    assert charset_of(content_type) == name


@pytest.mark.parametrize(
    ("mark", "codec", "name"),
    [
        (codecs.BOM_UTF8, "utf-8", "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le", "utf-16le"),
        (codecs.BOM_UTF16_BE, "utf-16-be", "utf-16be"),
    ],
)
def test_a_byte_order_mark_beats_everything_and_is_taken_off(mark: bytes, codec: str, name: str) -> None:
    body = mark + "<meta charset=koi8-r>é".encode(codec)
    assert decode(body, "text/html; charset=shift_jis") == ("<meta charset=koi8-r>é", name)


def test_the_header_beats_the_meta_element() -> None:
    assert decode(b"<meta charset=koi8-r>\xe9", "text/html; charset=latin1")[0].endswith("é")


def test_a_header_that_names_nothing_known_is_passed_over() -> None:
    assert decode(b"<meta charset=koi8-r>\xe9", "text/html; charset=nonsense") == ("<meta charset=koi8-r>И", "koi8-r")


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"<meta charset=koi8-r>", "koi8-r"),
        (b"<META\n CHARSET = 'koi8-r' />", "koi8-r"),
        (b"<meta http-equiv=Content-Type content='text/html; charset=koi8-r'>", "koi8-r"),
        (b"<meta content='text/html; charset=koi8-r' http-equiv='content-type'>", "koi8-r"),
        (b"<meta name=x content='charset=koi8-r'>", None),
        (b"<!-- <meta charset=big5> --><meta charset=koi8-r>", "koi8-r"),
        (b"<meta charset=nonsense><meta charset=koi8-r>", "koi8-r"),
        (b"<meta name=description content='a > b' charset=koi8-r>", "koi8-r"),
        (b"<metadata charset=big5>", None),
        (b"<meta charset=utf-16>", "utf-8"),
        (b"<meta charset=x-user-defined>", "windows-1252"),
        (b"<?xml version='1.0' encoding='koi8-r'?>", "koi8-r"),
        (b'<?xml version="1.0" encoding="utf-16"?>', "utf-8"),
        (b"<?xml version='1.0' encoding='big5'?><meta charset=koi8-r>", "koi8-r"),
    ],
)
def test_a_page_can_declare_its_charset(head: bytes, name: str | None) -> None:
    text, found = decode(head + b"\xff\xfe\xe9")
    assert found == name if name else found not in ("koi8-r", "big5")
    assert isinstance(text, str)


def test_utf16_without_a_mark_shows_in_its_xml_declaration() -> None:
    text = "<?xml version='1.0'?><html/>"
    assert decode(text.encode("utf-16-le")) == (text, "utf-16le")
    assert decode(text.encode("utf-16-be")) == (text, "utf-16be")


@pytest.mark.parametrize(
    ("text", "codec", "name"),
    [
        ("plain", "ascii", "utf-8"),
        ("größer, schöner", "utf-8", "utf-8"),
        (RUSSIAN, "cp1251", "windows-1251"),
        (RUSSIAN, "utf-8", "utf-8"),
        (JAPANESE, "shift_jis", "shift_jis"),
        (JAPANESE, "euc-jp", "euc-jp"),
        ("Çela n'était pas très grave, déjà vu à Noël. " * 5, "cp1252", "windows-1252"),
    ],
)
def test_without_a_declaration_the_bytes_are_guessed(text: str, codec: str, name: str) -> None:
    assert decode(text.encode(codec)) == (text, name)


def test_a_late_declaration_beats_a_guess() -> None:
    assert decode(b" " * 2_000 + b"<meta charset=koi8-r>\xe9.")[1] == "koi8-r"


def test_utf8_that_was_cut_within_a_character_is_still_utf8() -> None:
    assert decode("größe ü".encode()[:-1]) == ("größe \ufffd", "utf-8")


def test_the_c1_range_of_latin1_is_read_as_windows_1252() -> None:
    assert decode(b"\x80\x93\x94", "text/html; charset=iso-8859-1")[0] == "€“”"


LABELS = (
    "utf-8 ibm866 iso-8859-2 iso-8859-3 iso-8859-4 iso-8859-5 iso-8859-6 iso-8859-7 iso-8859-8 iso-8859-8-i "
    "iso-8859-10 iso-8859-13 iso-8859-14 iso-8859-15 iso-8859-16 koi8-r koi8-u macintosh windows-874 windows-1250 "
    "windows-1251 windows-1252 windows-1253 windows-1254 windows-1255 windows-1256 windows-1257 windows-1258 "
    "x-mac-cyrillic gbk gb18030 big5 euc-jp iso-2022-jp shift_jis euc-kr replacement utf-16be utf-16le x-user-defined"
)


@given(st.sampled_from(LABELS.split()), st.binary(max_size=100))
def test_every_charset_of_the_standard_reads_any_bytes(label: str, body: bytes) -> None:
    text, name = decode(b"<" + body, f"text/html; charset={label}")
    assert name == label
    text.encode()


@given(st.binary(max_size=300), st.none() | st.text(max_size=20).map("text/html; charset=".__add__))
def test_no_bytes_and_no_header_raise(body: bytes, content_type: str | None) -> None:
    text, name = decode(body, content_type)
    assert name_of(name) == name
    text.encode()


@given(st.text(alphabet="<meta charset='utf-8\"->=/!? \n", max_size=200).map(str.encode))
def test_no_start_of_a_page_raises(head: bytes) -> None:
    assert decode(b"<meta " + head + b"\xff")[1]


@pytest.mark.parametrize(
    "start", [b"<!--", b"<meta ", b"<meta x='", b'<meta "', b"a", b"<meta a>", b"<?xml ", b"=", b"charset="]
)
def test_a_hostile_page_does_not_slow_the_search_for_a_declaration_down(start: bytes) -> None:
    # Each of these is a quadratic trap for a search that does not remember how far it looked.
    body = b"<meta " + start * (100_000 // len(start)) + b'"\xff.'
    assert decode(body)[1] not in ("utf-8", "koi8-r")


def test_a_declaration_that_the_prescan_cut_off_does_not_count() -> None:
    body = b"<meta charset=".rjust(1_014) + b"iso-8859-15>\xa4."
    assert decode(body) == (body[:-2].decode() + "€.", "iso-8859-15")
