"""Documents and texts as bytes, small."""

from __future__ import annotations

import threading

import msgspec
import zstandard

from gossamer.model import Document


class _Zstd(threading.local):
    """Every store has a thread of its own, and zstd's contexts must not be shared between threads."""

    def __init__(self) -> None:
        self.compress = zstandard.ZstdCompressor().compress
        self.decompress = zstandard.ZstdDecompressor().decompress


_zstd = _Zstd()
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Document)


def pack(document: Document) -> bytes:
    return _zstd.compress(_encoder.encode(document))


def unpack(body: bytes) -> Document:
    return _decoder.decode(_zstd.decompress(body))


def pack_text(text: str) -> bytes:
    return _zstd.compress(text.encode("utf-8", "surrogatepass"))


def unpack_text(body: bytes) -> str:
    return _zstd.decompress(body).decode("utf-8", "surrogatepass")
