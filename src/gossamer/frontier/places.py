"""Where guides are: the places at which to look for them first."""

from __future__ import annotations

from urllib.parse import quote


def sitemap_places(host: str) -> list[str]:
    """Of a host key, where its robots file names no sitemap."""
    return [f"{host}/sitemap.xml", f"{host}/sitemap_index.xml"]


def llms_places(host: str) -> list[str]:
    return [f"{host}/llms.txt", f"{host}/llms-full.txt"]


def certificates_of(endpoint: str, domain: str) -> list[str]:
    """The certificates of all names below a domain, at a service that speaks as crt.sh does."""
    return [f"{_folder(endpoint)}?q=%25.{quote(domain)}&output=json"]


def collections_of(endpoint: str, name: str, path: str = "/", *, below: bool = False) -> list[str]:
    """The URLs that Common Crawl knows of a host from a path on, or of a domain and all that is below it.

    The fragment is not sent: it says what is to be asked next.
    """
    pattern = f"*.{name}" if below else f"{name}{path}*"
    return [f"{_folder(endpoint)}collinfo.json#{quote(pattern, safe='*/')}"]


def _folder(endpoint: str) -> str:
    return endpoint if endpoint.endswith("/") else endpoint + "/"
