"""Where data is found, kept and downloaded from."""

from surefed.data.store.download import get
from surefed.data.store.places import Found, find, folders, home, look, register, registered
from surefed.data.store.sources import SOURCES, File, Source

__all__ = ["SOURCES", "File", "Found", "Source", "find", "folders", "get", "home", "look", "register", "registered"]
