"""What one site's operator decides: where its keys, charter, data and neighbours are. Nothing here changes a result."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator

from surefed.core import ConfigError
from surefed.core.tables import read_table
from surefed.peer.identity.names import checked_site
from surefed.sim.experiment import Named, Section, explain

Kind = Literal["zenoh", "grpc"]

Address = Annotated[str, Field(pattern=r"^(\[[0-9a-fA-F:]+\]|[^\s:/\[\]]+):[0-9]{1,5}$")]
"""host:port, the host a name or an address."""


class Data(Named):
    """The site's own samples, which never leave it."""

    name: str = "npz"
    """A dataset (`surefed list datasets`) or your own loader as `module:function`; its options may follow, such as
    path = "data.npz". A loader returns (inputs, labels), or those to train on and those to hold out."""
    held_out: float = Field(0.2, gt=0, lt=1)
    """Share of the samples that accuracy is measured on, where the data does not say which; nobody trains on them."""


class Network(Section):
    """How the site reaches the others."""

    transport: Kind = "zenoh"
    """zenoh, or grpc."""
    listen: Address | None = None
    """host:port that others dial; left out by a site that can only dial out."""
    addresses: dict[str, Address] = Field(default_factory=dict)
    """host:port of the members that this site dials; they may be fewer than all."""
    relay: Address | None = None
    """host:port of a relay, for sites that cannot reach each other."""


class Settings(Section):
    """One site's settings, peer.toml. Paths are relative to the file."""

    site: str
    """This site's name in the charter."""
    charter: Path = Path("federation.charter")
    """The signed charter; it is read again when it is replaced, for amendments."""
    keys: Path = Path("keys")
    """The folder with this site's keys and certificate, as `surefed keys new` left it."""
    folder: Path = Path("record")
    """Where the record and the state go."""
    save_every: int = Field(1, ge=1, strict=True)
    """Rounds between saves of the state; a restart goes on from the last one."""
    evaluate_every: int = Field(1, ge=1, strict=True)
    """Rounds between measurements on the samples held out."""
    least_disk: int = Field(256, ge=0, strict=True)
    """MiB that must be free on the disk; with less, learning pauses until there is room."""
    data: Data = Data()
    network: Network = Network()

    def __init__(self, **values: Any) -> None:
        """Settings from plain values, or one error that names every key at fault."""
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise ConfigError("\n".join(explain(problem, Settings) for problem in error.errors())) from None

    @field_validator("site")
    @classmethod
    def _plain_name(cls, site: str) -> str:
        return checked_site(site)

    @classmethod
    def of(cls, values: Mapping[str, Any], folder: Path = Path()) -> Settings:
        """Settings from a table, relative paths taken from `folder`."""
        settings = cls(**values)
        if settings.network.transport == "grpc" and settings.network.listen is None:
            raise ConfigError("grpc needs network.listen; a site that can only dial out uses zenoh and a relay")
        data = settings.data
        path = data.options.get("path")
        if isinstance(path, str):
            data = data.model_copy(update={"path": str(folder / path)})
        paths = {name: folder / getattr(settings, name) for name in ("charter", "keys", "folder")}
        return settings.model_copy(update={**paths, "data": data})

    @classmethod
    def read(cls, path: Path | str) -> Settings:
        """Settings from a TOML file."""
        path = Path(path)
        values = read_table(path, "examples/peer/peer.toml is one to begin with")
        return cls.of(values, path.parent)
