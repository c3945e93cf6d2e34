"""The addresses behind a host's name, and what kind of network they belong to."""

from __future__ import annotations

import ipaddress
import socket
import threading

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# A cloud's metadata service at an address that counts as public.
_METADATA = frozenset({ipaddress.ip_address("168.63.129.16")})


def resolve(host: str, port: int, timeout_s: float) -> list[str]:
    """The addresses of a name, looked up once. TimeoutError when that is late, another OSError for none."""
    if _is_address(host):
        return [host]
    found: list[str] = []
    trouble: list[OSError | UnicodeError] = []

    def look_up() -> None:
        try:
            infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            found.extend(dict.fromkeys(str(info[4][0]) for info in infos))
        except (OSError, UnicodeError) as error:
            trouble.append(error)

    # The resolver takes no timeout, so it runs beside us and is left behind when it is late.
    thread = threading.Thread(target=look_up, daemon=True, name="resolve")
    thread.start()
    thread.join(max(timeout_s, 0.0))
    if thread.is_alive():
        raise TimeoutError(f"Looking up {host} took too long.")
    if trouble or not found:
        raise OSError(f"{host} has no address.")
    return found


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_local(address: str) -> bool:
    """True for loopback, private and link-local addresses, also when written as IPv6-mapped IPv4."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped:
        ip = ip.ipv4_mapped
    return ip.is_loopback or ip.is_link_local or (ip.is_private and not ip.is_multicast)


def looks_local(host: str) -> bool:
    """True for a local address, and for a name that only a machine's own or a private network gives."""
    try:
        return is_local(host.strip("[]"))
    except ValueError:
        return "." not in host or host.endswith((".local", ".localhost", ".internal", ".lan"))


def is_public(address: str) -> bool:
    """True only for an address of the open internet that one host answers; not for any network's own."""
    ip = _meant(address)
    is_site = isinstance(ip, ipaddress.IPv6Address) and ip.is_site_local  # global to Python, private to sites
    return ip.is_global and not (is_site or ip.is_multicast or ip.is_reserved or ip in _METADATA)


def _meant(address: str) -> Address:
    """The address without its zone; the IPv4 one inside where IPv6 only wraps it."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if not isinstance(ip, ipaddress.IPv6Address):
        return ip
    if ip in _NAT64:
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour or ip
