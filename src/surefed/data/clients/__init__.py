"""From a dataset to the clients who hold it."""

from surefed.data.clients.check import check
from surefed.data.clients.deal import Deal, TestPart, deal
from surefed.data.clients.federate import federate
from surefed.data.clients.own import own_dataset

__all__ = ["Deal", "TestPart", "check", "deal", "federate", "own_dataset"]
