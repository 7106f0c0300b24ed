"""The page in a real browser: Debian's chromium, without a window."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefed.dashboard import dashboard
from surefed.dashboard.server import Server
from surefed.sim import Experiment, run
from tests.dashboard.records import begin, headed, line, parted, peer, play

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if CHROMIUM is None:
    pytest.skip(
        "there is no chromium here, so the page is not tested in a browser: apt install chromium",
        allow_module_level=True,
    )
from playwright.sync_api import Browser, Page, sync_playwright  # noqa: E402
from playwright.sync_api import TimeoutError as Timeout  # noqa: E402

VIEWS = ("federation", "trust", "curves", "why", "sweep", "peer")
HOSTILE = '"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as play:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # chromium refuses to be run by root inside one
        made = play.chromium.launch(executable_path=CHROMIUM, args=sandbox)
        yield made
        made.close()


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Start dashboards; they end with the test."""
    started: list[Server] = []

    def start(*paths: Path, **options: Any) -> Server:
        server = dashboard(paths, port=0, **options)
        server.start()
        started.append(server)
        return server

    yield start
    for server in started:
        server.stop()


class Seen:
    """A page, and everything in it that a console or a policy complained about."""

    def __init__(self, browser: Browser, **options: Any) -> None:
        self.context = browser.new_context(accept_downloads=True, **options)
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(10_000)
        self.complaints: list[str] = []
        self.page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def open(self, address: str, **state: Any) -> Page:
        words = "&".join(f"{name}={value}" for name, value in state.items())
        self.page.goto(f"{address}#{words}")
        if "view" in state:
            self.shows(state["view"])
        return self.page

    def shows(self, view: str) -> None:
        self.page.wait_for_selector(f"main[data-shown={view}]")

    def shows_round(self, round: int) -> None:
        self.page.wait_for_selector(f".figure canvas[data-round='{round}']")

    def round(self) -> str | None:
        return self.page.locator(".figure canvas").get_attribute("data-round")

    def saves(self, kind: str) -> bytes:
        """What a button saves. Chromium drops a download now and then when they come within milliseconds."""
        for _ in range(3):
            with suppress(Timeout), self.page.expect_download(timeout=3000) as waiting:
                self.page.get_by_role("button", name=kind, exact=True).click()
                return Path(waiting.value.path()).read_bytes()
        raise AssertionError(f"{kind} is not saved")

    def picture(self) -> str:
        return str(self.page.evaluate("document.querySelector('.figure canvas').toDataURL()"))


@pytest.fixture
def look(browser: Browser) -> Iterator[Callable[..., Seen]]:
    opened: list[Seen] = []

    def make(**options: Any) -> Seen:
        opened.append(Seen(browser, reduced_motion="reduce", **options))
        return opened[-1]

    yield make
    for seen in opened:
        seen.context.close()


def shelf(folder: Path) -> Path:
    """A folder with two runs and a peer."""
    parted(folder / "surefed-label_flip")
    parted(folder / "krum-none", rule="krum", attack="none")
    peer(folder / "north")
    return folder


@pytest.mark.parametrize(
    "kind",
    [
        {"color_scheme": "light", "viewport": {"width": 1280, "height": 800}},
        {"color_scheme": "dark", "viewport": {"width": 390, "height": 844}},
    ],
)
def test_each_view_loads_without_complaints_and_fits(
    tmp_path: Path, serve: Callable[..., Server], look: Callable[..., Seen], kind: dict[str, Any]
) -> None:
    address = serve(shelf(tmp_path / "shelf")).address
    seen = look(**kind)
    for view in VIEWS:
        page = seen.open(address, view=view, run="shelf/north" if view == "peer" else "shelf/surefed-label_flip")
        assert page.locator("h2").first.text_content()
        assert page.locator("html").get_attribute("data-theme") == kind["color_scheme"]
        wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert wide[0] <= wide[1], view
        assert page.locator(".notice[role=status]").is_hidden(), view
    for view in ("federation", "trust", "curves", "why"):  # a peer's record fits the other views as well
        seen.open(address, view=view, run="shelf/north")
        assert seen.page.locator(".notice[role=status]").is_hidden(), view
    assert seen.complaints == []


def test_the_slider_moves_the_graph(tmp_path: Path, serve: Callable[..., Server], look: Callable[..., Seen]) -> None:
    parted(tmp_path / "one")
    seen = look()
    page = seen.open(serve(tmp_path / "one").address, view="federation", run="one")
    assert seen.round() == "40"
    assert "12 of 20" not in page.locator(".columns").inner_text()
    assert "8 of 20 neighbours are trusted" in page.locator(".columns").inner_text()
    apart = seen.picture()
    page.locator("input[type=range]").fill("0")
    seen.shows_round(1)
    assert "20 of 20 neighbours are trusted" in page.locator(".columns").inner_text()
    assert seen.picture() != apart
    assert "round=1" in page.url
    page.get_by_role("button", name="Play").click()
    seen.shows_round(40)
    assert seen.picture() == apart  # the same round gives the same picture
    assert seen.complaints == []


def test_a_running_simulation_updates_the_page(
    tmp_path: Path, serve: Callable[..., Server], look: Callable[..., Seen]
) -> None:
    go_on = threading.Semaphore(0)
    experiment = Experiment.of(
        {"rounds": 3, "data": {"clients": 5}, "model": {"name": "linear"}, "evaluate": {"every": 1}}
    )
    playing = threading.Thread(
        target=lambda: run(
            experiment, out=tmp_path / "one", watch=lambda round, figures: bool(go_on.acquire(timeout=30))
        )
    )
    seen = look()
    page = seen.open(serve(tmp_path).address)
    page.wait_for_selector("text=No run here yet")
    playing.start()
    try:
        for round in (1, 2, 3):
            seen.shows_round(round)
            go_on.release()
        page.wait_for_selector("text=round 3 of 3, finished")
        assert seen.complaints == []
    finally:
        go_on.release(3)
        playing.join()


def test_a_record_being_written_or_cut_does_not_break_it(
    tmp_path: Path, serve: Callable[..., Server], look: Callable[..., Seen]
) -> None:
    made = parted(tmp_path / "one")
    seen = look()
    page = seen.open(serve(tmp_path).address, view="federation", run=f"{tmp_path.name}/one")
    rounds, about = made.path / "rounds.jsonl", made.path / "run.json"
    kept = {file: file.read_bytes() for file in (rounds, about, made.path / "trust" / "000040.npz")}
    (made.path / "trust" / "000040.npz").write_bytes(kept[made.path / "trust" / "000040.npz"][:90])
    rounds.write_bytes(kept[rounds][:-20])
    page.wait_for_selector("text=the snapshot of round 40 is damaged")
    about.write_bytes(kept[about][:40])
    page.wait_for_selector("text=damaged or being written")
    for view in ("trust", "curves", "why", "sweep"):
        seen.open(serve(tmp_path).address, view=view, run=f"{tmp_path.name}/one")
    for file, content in kept.items():
        file.write_bytes(content)
    seen.open(serve(tmp_path).address, view="federation", run=f"{tmp_path.name}/one")
    seen.shows_round(40)
    assert seen.complaints == []


def test_hostile_names_are_shown_as_text(
    tmp_path: Path, serve: Callable[..., Server], look: Callable[..., Seen]
) -> None:
    names = [HOSTILE, "1", "2", f"{HOSTILE} 3", "4"]
    folder = tmp_path / "shelf" / "x<b>y"
    made = begin(folder, names=names, name="<i>x</i>")
    play(made, 1, 0.5, apart=True)
    peer(tmp_path / "shelf" / "north", hostile=HOSTILE)
    seen = look()
    address = serve(tmp_path / "shelf").address
    for view in VIEWS:
        run = "shelf/north" if view == "peer" else "shelf/x%3Cb%3Ey"
        page = seen.open(address, view=view, run=run, receiver=0, sender=3)
        assert page.evaluate("window.hacked") is None
        assert page.locator("main img, main script, main b > b, main i").count() == 0
        if view in ("federation", "why", "peer"):
            assert HOSTILE in page.locator("main").inner_text()
    page = seen.open(address, view="federation", run="shelf/x%3Cb%3Ey")
    drawing = seen.saves("SVG").decode()
    assert "<img" not in drawing
    assert "&lt;img" in drawing
    assert seen.complaints == []


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (1, "because it goes another way than client 0's own data: their headings agree by -0.25"),
        (2, "have pushed against what client 0 learns"),
        (4, "have pushed far harder than any data would"),
        (5, "has long pushed, with others, for something"),
        (3, "leaves client 4 out: none of its weights lies outside its band"),
    ],
)
def test_why_says_what_the_fault_was(
    tmp_path: Path, serve: Callable[..., Server], look: Callable[..., Seen], fault: int, words: str
) -> None:
    headed(tmp_path / "one", fault)
    seen = look()
    page = seen.open(serve(tmp_path / "one").address, view="why", run="one", receiver="0", sender="4")
    page.wait_for_selector(f"text={words}")
    words = ("another way", "pushes against", "outside", "far ahead", "another camp")
    assert words[fault - 1] in page.locator("table").first.inner_text()


def test_it_works_without_a_mouse(tmp_path: Path, serve: Callable[..., Server], look: Callable[..., Seen]) -> None:
    parted(tmp_path / "one")
    seen = look()
    page = seen.open(serve(tmp_path / "one").address, view="federation", run="one")
    keys = page.keyboard
    keys.press("2")
    seen.shows("trust")
    page.locator(".figure canvas").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowDown"):
        keys.press(key)
    page.wait_for_selector("canvas[aria-label='client 1 hears but leaves out client 3 in round 40']")
    assert "receiver=1&sender=3" in page.url
    keys.press("Enter")
    seen.shows("why")
    assert (
        "client 1 leaves client 3 out: 4 of 10 weights (40.00 %) lie outside its band"
        in page.locator("main").inner_text()
    )
    page.locator("input[type=range]").focus()
    keys.press("Home")
    page.wait_for_selector("text=In round 1, client 1 trusts client 3")
    page.locator("main").focus()
    keys.press(".")
    page.wait_for_selector("text=In round 10, client 1 trusts client 3")
    keys.press("Space")
    page.wait_for_selector("text=In round 40, client 1 leaves client 3 out")
    keys.press("?")
    assert page.locator("dialog").is_visible()
    keys.press("Escape")
    assert page.locator("dialog").is_hidden()
    keys.press("3")
    seen.shows("curves")
    page.locator(".figure canvas").focus()
    keys.press("Home")
    page.wait_for_selector("text=At round 0")
    page.go_back()
    seen.shows("why")
    reached = set()
    for _ in range(40):
        keys.press("Tab")
        reached.add(page.evaluate("document.activeElement.tagName + ' ' + (document.activeElement.type ?? '')"))
    assert {"SELECT select-one", "BUTTON button", "INPUT range", "A "} <= reached
    assert seen.complaints == []


def test_a_click_on_a_line_asks_why(tmp_path: Path, serve: Callable[..., Server], look: Callable[..., Seen]) -> None:
    parted(tmp_path / "one")
    seen = look()
    page = seen.open(serve(tmp_path / "one").address, view="federation", run="one", layout="circle")
    box = page.locator(".figure canvas").bounding_box()
    assert box is not None
    # On the circle of five, client 0 is at the top and client 1 is next: a fifth of the way to it is 0's half.
    spots = page.evaluate("(async () => (await import('/layout.js')).circle(5, [0, 1, 2, 3, 4]))()")
    radius = max(4, min(15, 0.33 * min(box["width"], box["height"]) / 5**0.5))
    tall = box["height"] / 2 - radius - 22
    wide = min(box["width"] / 2 - radius - 22, tall * 1.6)
    x = box["width"] / 2 + wide * (0.75 * spots[0][0] + 0.25 * spots[1][0])
    y = box["height"] / 2 + tall * (0.75 * spots[0][1] + 0.25 * spots[1][1])
    page.mouse.click(box["x"] + x, box["y"] + y)
    seen.shows("why")
    assert "client 0 trusts client 1" in page.locator("main").inner_text()


def test_off_loopback_the_page_needs_its_token(
    tmp_path: Path, serve: Callable[..., Server], look: Callable[..., Seen]
) -> None:
    parted(tmp_path / "one")
    server = serve(tmp_path / "one", host="0.0.0.0")
    bare = server.address.partition("?")[0]
    stranger = look().page
    answer = stranger.goto(bare)
    assert answer is not None
    assert answer.status == 401
    assert "token" in stranger.locator("body").inner_text()
    seen = look()
    page = seen.open(f"{server.address}", view="federation", run="one")
    assert "token" not in page.url
    page.wait_for_selector("#live[data-state=live]")
    assert seen.complaints == []


def test_a_view_is_saved_and_its_link_shows_it_again(
    tmp_path: Path, serve: Callable[..., Server], look: Callable[..., Seen]
) -> None:
    address = serve(shelf(tmp_path / "shelf")).address
    seen = look(permissions=["clipboard-read", "clipboard-write"])
    starts = {"PNG": b"\x89PNG\r\n", "SVG": b"<?xml", "CSV": b""}
    for view in VIEWS:
        page = seen.open(address, view=view, run="shelf/north" if view == "peer" else "shelf/surefed-label_flip")
        for kind, start in starts.items():
            if kind == "PNG" and view not in ("federation", "sweep"):  # made by the same few lines in all of them
                continue
            content = seen.saves(kind)
            assert len(content) > 100, (view, kind)
            assert content.startswith(start)
    page = seen.open(
        address, view="trust", run="shelf/surefed-label_flip", round=20, sort="score", receiver=1, sender=4
    )
    page.get_by_role("button", name="Link").click()
    page.wait_for_selector("text=The link is copied.")
    link = page.evaluate("navigator.clipboard.readText()")
    again = look()
    again.page.goto(link)
    again.shows("trust")
    assert again.round() == "20"
    assert again.picture() == seen.picture()
    assert seen.complaints == again.complaints == []


def test_many_clients_are_told_in_sums(tmp_path: Path, serve: Callable[..., Server], look: Callable[..., Seen]) -> None:
    clients = 300
    made = begin(tmp_path / "one", names=[str(at) for at in range(clients)])
    bad = np.arange(clients) >= 200
    about = json.loads((made.path / "run.json").read_text())
    (made.path / "run.json").write_text(json.dumps(about | {"malicious": [str(at) for at in range(200, clients)]}))
    same = bad[:, None] == bad[None, :]
    made.trust(1, {"trusted": same, "edges": np.ones_like(same), "malicious": bad, "accuracy": np.where(bad, 0.1, 0.9)})
    made.round({"round": 1, "accuracy": {"mean": 0.9, "worst": 0.8}}, {"round": 1})
    seen = look()
    address = serve(tmp_path / "one").address
    page = seen.open(address, view="federation", run="one")
    assert "300 clients are too many to draw one by one" in page.locator("main").inner_text()
    page = seen.open(address, view="trust", run="one")
    assert "300 clients are shown in groups" in page.locator("main").inner_text()
    page = seen.open(address, view="why", run="one", receiver=0, sender=250)
    assert "client 0 leaves client 250 out" in page.locator("main").inner_text()
    assert seen.complaints == []


def test_a_long_run_says_that_it_is_drawn_from_fewer_points(
    tmp_path: Path, serve: Callable[..., Server], look: Callable[..., Seen]
) -> None:
    made = parted(tmp_path / "one")
    with (made.path / "rounds.jsonl").open("a") as file:
        file.writelines(json.dumps(line(round, 0.5)) + "\n" for round in range(41, 1041))
    seen = look()
    page = seen.open(serve(tmp_path / "one").address, view="curves", run="one")
    assert "at most 500 points a curve, of up to 1005 evaluated rounds" in page.locator("main").inner_text()
    assert seen.complaints == []


def test_a_click_on_a_cell_of_a_sweep_opens_its_federation(
    tmp_path: Path, serve: Callable[..., Server], look: Callable[..., Seen]
) -> None:
    seen = look()
    page = seen.open(serve(shelf(tmp_path / "shelf")).address, view="sweep")
    page.get_by_title("krum under none").click()
    seen.shows("federation")
    assert "krum under no attack" in page.locator("main").inner_text()
