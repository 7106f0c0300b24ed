from __future__ import annotations

from collections.abc import Iterator

import pytest

from surefed.core import native


@pytest.fixture(scope="module", params=["kernels", "torch"])
def each_path(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run a module's tests twice: with the kernels, where there is a compiler, and without."""
    if request.param == "kernels" and native.library() is None:
        pytest.skip("no C compiler on this machine")
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "torch":
            patch.setattr("surefed.core.native.edges.library", lambda: None)
        yield
