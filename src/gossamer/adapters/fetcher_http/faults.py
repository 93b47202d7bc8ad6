"""What wreq's exceptions mean, in our words."""

from __future__ import annotations

import re

from wreq import exceptions

from gossamer.model import Error, Fault, RequestOptions

CLIENT_ERRORS: tuple[type[Exception], ...] = (
    exceptions.BodyError,
    exceptions.BuilderError,
    exceptions.ConnectionError,
    exceptions.ConnectionResetError,
    exceptions.DecodingError,
    exceptions.ProxyConnectionError,
    exceptions.RequestError,
    exceptions.TimeoutError,
    exceptions.TlsError,
    exceptions.UpgradeError,
)
"""They share no parent."""

_UNVERIFIED = "the certificate could not be verified: expired, for another name, or from an unknown authority"

_SIGNS: tuple[tuple[str, Fault, str], ...] = (
    ("CERTIFICATE_VERIFY_FAILED", Fault.TLS, _UNVERIFIED),
    ("Parse(TooLarge)", Fault.TOO_LARGE, "the headers are larger than {options.max_headers} bytes, or too many"),
    ("Parse(", Fault.PROTOCOL, "the answer is not valid HTTP"),
    ("IncompleteMessage", Fault.RESET, "the connection was closed before the headers were complete"),
    ("IncompleteBody", Fault.RESET, "the connection was closed before the body was complete"),
    ("unexpected EOF", Fault.RESET, "the connection was closed before the body was complete"),
    ("ConnectionReset", Fault.RESET, "the connection was reset"),
    ("BrokenPipe", Fault.RESET, "the connection was closed too early"),
    ("ChannelClosed", Fault.RESET, "the connection was closed too early"),
    ("chunk", Fault.PROTOCOL, "the body is not chunked as its headers promise"),
    ("PROTOCOL_ERROR", Fault.PROTOCOL, "the answer is not valid HTTP/2"),
    ("Reset(StreamId", Fault.RESET, "the server broke off the HTTP/2 stream"),
    ("Http2", Fault.PROTOCOL, "the answer is not valid HTTP/2"),
    ("dns error", Fault.DNS, "the name could not be resolved"),
    ("TimedOut", Fault.TIMEOUT, "no connection within {options.connect_timeout:g} s"),
    ("SSL", Fault.TLS, "the TLS handshake failed"),
)
"""What to look for in the text of an error; the first that is there tells."""

_KINDS: dict[type[Exception], tuple[Fault, str]] = {
    exceptions.BuilderError: (Fault.PROTOCOL, "this cannot be asked over HTTP"),
    exceptions.ConnectionError: (Fault.CONNECT, "no connection"),
    exceptions.ConnectionResetError: (Fault.RESET, "the connection was reset"),
    exceptions.TimeoutError: (Fault.TIMEOUT, "the server took too long"),
    exceptions.TlsError: (Fault.TLS, "the TLS handshake failed"),
}

_DETAIL = re.compile(r'(?:message|error|reason): "([^"]{1,200})"|Parse\((\w+(?:\(\w+\))?)\)|Reset\([^,]*, (\w+)')


def error_of(error: Exception, options: RequestOptions) -> Error:
    # The text before `source` holds the URL, and a URL may hold anything.
    source = str(error).partition("source: ")[2].partition("connect_info")[0]
    fault, text = _meaning(error, source)
    detail = _DETAIL.search(source)
    suffix = f" ({next(filter(None, detail.groups()))})" if detail else ""
    return Error(fault=fault, text=text.format(options=options) + suffix)


def _meaning(error: Exception, source: str) -> tuple[Fault, str]:
    if isinstance(error, exceptions.ProxyConnectionError):
        return Fault.CONNECT, "the proxy could not be used"
    if isinstance(error, exceptions.DecodingError) and "netty::" not in source:
        return Fault.ENCODING, "the body is not encoded as its headers promise"
    for sign, fault, text in _SIGNS:
        if sign in source:
            return fault, text
    return _KINDS.get(type(error), (Fault.PROTOCOL, "the exchange failed"))
