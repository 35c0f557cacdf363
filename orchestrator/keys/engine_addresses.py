"""How a person names an engine of containers: the name of a Docker context, or an address. Pure."""

import re

# The address of an engine that is reached over ssh; `path`: of its socket.
SSH = re.compile(
    r"ssh://(?:(?P<user>[^@:/]+)@)?(?P<host>[^@:/]+)(?::(?P<port>\d+))?(?P<path>/[^:]*)?"
)
# docker-py takes no address over TCP without a port.
_TCP = re.compile(r"tcp://(?:[^@/\s]*@)?(?:\[[^\]\s]+\]|[^\[\]@:/\s]+):\d+(?:/\S*)?")
_SOCKET = re.compile(r"(?:unix|npipe)://.+")
# Docker's rule for the name of a context, and beside it what is an address of IPv4.
_CONTEXT = re.compile(r"(?!\d+(\.\d+){3}$)[a-zA-Z0-9][a-zA-Z0-9_.+-]+")


def mistake_in(text: str) -> str:
    """What is wrong with the name of an engine, and what to write; empty if nothing is."""
    for form in (SSH, _TCP, _SOCKET, _CONTEXT):
        if form.fullmatch(text):
            return ""
    scheme, _, address = text.rpartition("://")
    if scheme == "tcp":
        advice = "write tcp://host:port"
    else:
        host = re.split("[:/]", address.rpartition("@")[2])[0]
        advice = f"write ssh://user@{host or 'host'}"
    return f"{text!r} is not the address of an engine: {advice}"
