"""From the settings of a site to a peer that can run; every file is checked before anything is opened."""

from __future__ import annotations

from surefed.core import ConfigError
from surefed.data import Federation
from surefed.peer.charter import Charter, CharterFile, check_membership
from surefed.peer.data import own_data
from surefed.peer.identity import Identity, load_identity
from surefed.peer.node import Peer, Send, Watch
from surefed.peer.settings import Settings
from surefed.peer.transport import Transport
from surefed.peer.transport.tls import Credentials


def open_peer(
    settings: Settings, *, data: Federation | None = None, watch: Watch | None = None, send: Send | None = None
) -> Peer:
    """The peer of a site. It fails closed: without a certificate that fits the charter nothing is opened.

    data: the site's samples, where they are given in Python instead of named in the settings.
    """
    file = CharterFile(settings.charter)
    identity = load_identity(settings.site, settings.keys)
    check_membership(identity, file.charter)
    return Peer(
        file,
        identity,
        own_data(settings.data, file.charter, settings.site) if data is None else data,
        transport(settings, file.charter, identity),
        settings.folder,
        save_every=settings.save_every,
        evaluate_every=settings.evaluate_every,
        least_disk=settings.least_disk,
        kind=settings.network.transport,
        watch=watch,
        send=send,
    )


def transport(settings: Settings, charter: Charter, identity: Identity) -> Transport:
    """The transport that the settings name."""
    network, places = settings.network, identity.places
    files = Credentials(places.authority, places.certificate, places.tls)
    strangers = sorted(set(network.addresses) - set(charter.sites))
    if strangers:
        raise ConfigError(f"network.addresses names {strangers[0]!r}, which is no member of {charter.name!r}")
    addresses = {site: at for site, at in network.addresses.items() if site != settings.site}
    try:  # here, because either takes a moment to import, and one may be missing
        if network.transport == "grpc":
            from surefed.peer.transport.grpc import GrpcTransport

            return GrpcTransport(settings.site, listen=network.listen, addresses=addresses, tls=files)
        from surefed.peer.transport.zenoh import ZenohTransport
    except ImportError as error:
        raise ConfigError(
            f"the transport {network.transport} is not installed ({error.name}): pip install 'surefed[peer]'"
        ) from error
    return ZenohTransport(
        settings.site,
        sites=charter.sites,
        listen=network.listen,
        addresses=addresses,
        tls=files,
        relay=network.relay,
    )
