"""Pages in a real browser: from disk, without a request, by mouse and keyboard."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from instruction_counts.cli.publish_command import publish_to
from instruction_counts.core.types import AutogradMode
from instruction_counts.report.renderers import html
from instruction_counts.report.run import run_document
from instruction_counts.session.histories import HistoryRequest
from instruction_counts.storage.store import Store
from tests.builders import counted
from tests.fakes import make_record, make_run
from tests.history.made import run_of_cases
from tests.report.renderers.pages import document

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: apt-get install chromium"),
]

ARGUMENTS = [
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
    *(["--no-sandbox"] if os.geteuid() == 0 else []),
]
HOSTILE = [
    "</script><script>document.title='taken'</script>",
    '"><img src=x onerror="document.title=\'taken\'">',
    "{{ 7 * 7 }} ${document.title='taken'}",
    "\x1b[31mred\x1b[0m \u202etxet\u2066 \U0001f525",
    "<!-- ]]> &amp; ' `",
    "a" * 10_000,
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's Chromium, without a window."""
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        with contextlib.closing(found):
            yield found


class Opened:
    """A page from disk, with all that it complained of and asked for beside what it carries."""

    def __init__(
        self, page: Any, path: Path, ready: str = "#icicle .slice", root: Path | None = None
    ) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_selector(ready)
        inside = (root or path).as_uri(), "data:", "blob:"
        self.asked_for = [url for url in self.requests if not url.startswith(inside)]


@pytest.fixture
def open_path(browser: Any) -> Iterator[Any]:
    """Opens a page from disk, in a window of some width and a scheme of colours."""
    with contextlib.ExitStack() as pages:

        def opened(*where: Any, width: int = 1280, scheme: str = "light") -> Opened:
            size = {"width": width, "height": 900}
            page = browser.new_page(viewport=size, color_scheme=scheme)
            return Opened(pages.enter_context(contextlib.closing(page)), *where)

        yield opened


@pytest.fixture
def open_page(open_path: Any, tmp_path: Path) -> Any:
    """Opens a document as a page."""

    def opened(text: str = "mm", **how: Any) -> Opened:
        path = tmp_path / "report.html"
        path.write_text(html.render(document(text)), encoding="utf-8", errors="replace")
        return cast("Opened", open_path(path, **how))

    return opened


def names(opened: Opened) -> list[str]:
    """The cases that the first table shows, in their order."""
    rows = opened.page.locator("section:not(#flame)").first.locator(
        "tbody .row:not([hidden]) .unfold"
    )
    return [str(text) for text in rows.all_inner_texts()]


def serious_faults(opened: Opened) -> list[tuple[str, list[str]]]:
    """The rules of axe that a page breaks, and where."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(opened.page, options={"preload": False}).response["violations"]
    return [
        (rule["id"], [node["html"][:200] for node in rule["nodes"]])
        for rule in found
        if rule["impact"] in {"serious", "critical"}
    ]


@pytest.mark.parametrize(("width", "scheme"), [(320, "dark"), (1280, "light")])
def test_a_page_complains_of_nothing_and_asks_for_nothing(
    open_page: Any, width: int, scheme: str
) -> None:
    """Nor has it a serious fault, nor is it wider than its window."""
    opened = open_page(width=width, scheme=scheme)

    assert ([], []) == (opened.complaints, opened.asked_for)
    assert width >= opened.page.evaluate("document.documentElement.scrollWidth")
    assert [] == serious_faults(opened)


@pytest.mark.parametrize(
    "text", HOSTILE, ids=["script", "image", "template", "codes", "marks", "long"]
)
def test_text_from_outside_is_shown_as_text(open_page: Any, text: str) -> None:
    """Nothing of it is executed, in whatever place it stands."""
    opened = open_page(text)

    assert "taken" != opened.page.title()
    assert 0 == opened.page.locator("img").count()
    assert [] == opened.complaints
    shown = text.replace("\x1b", r"\x1b").replace("\u202e", r"\u202e").replace("\u2066", r"\u2066")
    assert shown[:200] in names(opened)[1]


def test_rows_unfold_by_keyboard_are_sorted_and_filtered(open_page: Any) -> None:
    """By numbers, upwards and then downwards; by words, all of which have to be there."""
    page = (opened := open_page()).page
    button, details = page.locator("button.unfold").first, page.get_by_text("torch/Add.py:1").first
    base = page.locator("section:not(#flame)").first.get_by_role("button", name="base")

    button.press("Enter")
    assert details.is_visible()
    button.press(" ")
    assert not details.is_visible()
    base.click()
    assert ["mm", "Add", "Mul"] == names(opened)
    base.press("Enter")
    assert ["Mul", "Add", "mm"] == names(opened)
    page.fill("#filter", "mul +3,000")
    assert (["Mul"], "1 of 4 rows") == (names(opened), page.inner_text("#matches"))


@pytest.fixture
def page_of_run(open_path: Any, tmp_path: Path) -> Any:
    """The page of a run with two groups, each with a case of the same name."""
    labels = {("ok", "add"): 300, ("ok", "mul"): 100, ("other", "add"): 200}
    records = (make_record(*label, outcome=counted(count)) for label, count in labels.items())
    path = tmp_path / "run.html"
    path.write_text(html.render(run_document(make_run(*records))))
    return open_path(path, "#filter").page


def test_a_case_is_found_by_its_group(page_of_run: Any) -> None:
    """Its row says the group, whose heading is gone until all rows are back."""
    names = page_of_run.locator("tbody .row:not([hidden]) th")
    page_of_run.fill("#filter", "ok add")

    assert ["ok / add"] == names.all_inner_texts()
    assert "1 of 3 rows" == page_of_run.inner_text("#matches")
    page_of_run.fill("#filter", "")
    assert ["ok", "add", "mul", "other", "add"] == names.all_inner_texts()


def test_a_case_is_found_by_its_whole_name(open_path: Any, tmp_path: Path) -> None:
    """Of which its row shows what the one above it does not."""
    modes = ({"autograd": mode} for mode in AutogradMode if mode is not AutogradMode.EXPLICIT)
    run = make_run(*(make_record("add", outcome=counted(100), **each) for each in modes))
    path = tmp_path / "run.html"
    path.write_text(html.render(run_document(run)))
    page = open_path(path, "#filter").page
    page.fill("#filter", "add backward")

    assert "1 of 2 rows" == page.inner_text("#matches")


def test_cases_that_are_sorted_say_their_group(page_of_run: Any) -> None:
    """Whose heading cannot stand above them."""
    page_of_run.get_by_role("button", name="instr").click()

    assert ["ok / mul", "other / add", "ok / add"] == page_of_run.locator(
        "tbody .row:not([hidden]) th"
    ).all_inner_texts()


def test_a_page_says_what_it_lacks_without_javascript(browser: Any, tmp_path: Path) -> None:
    """Closed rows and empty graphs would look like a fault."""
    with contextlib.closing(browser.new_page(java_script_enabled=False)) as page:
        (path := tmp_path / "report.html").write_text(html.render(document()))
        page.goto(path.as_uri())

        assert page.locator("noscript p").is_visible()


def test_a_function_is_found_and_zoomed_to(open_page: Any) -> None:
    """What it costs on both sides is said, and the whole graph comes back, of either side."""
    page = open_page().page
    page.fill("#find", "malloc")

    assert "1 found" == page.inner_text("#found")
    page.locator("#hits button").first.press("Enter")
    assert "malloc 0 → 60 (+60) new lib" == page.inner_text("#chosen")
    page.click("#whole")
    assert "all 510 → 600 (+90)" == page.inner_text("#chosen")
    # A function that base does not have is not in its graph.
    for side, functions in (("new", 5), ("base", 4), ("difference", 4)):
        page.click(f"[data-side={side}]")
        playwright.expect(page.locator("#icicle .slice")).to_have_count(functions)


# Sites


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three builds of cases that are called by hostile texts; all of them change in the last."""
    folder = tmp_path_factory.mktemp("site")
    with Store(folder / "runs.db") as store:
        for day, count in enumerate((1000, 1000, 1300), 1):
            store.import_run(run_of_cases(dict.fromkeys(["add", *HOSTILE], count), day))
        publish_to(folder / "site", store, HistoryRequest())
    return folder / "site"


PAGES = {"overview": "index.html", "case": "cases/group-add-*.html", "pair": "builds/run-3.html"}
READY = {"case": ".chart .main-svg"}


@pytest.fixture
def open_site(open_path: Any, site: Path) -> Any:
    """Opens a kind of page of the site."""

    def opened(kind: str, **how: Any) -> Opened:
        (path,) = site.glob(PAGES[kind])
        return cast("Opened", open_path(path, READY.get(kind, "main"), site, **how))

    return opened


@pytest.mark.parametrize("kind", PAGES)
@pytest.mark.parametrize(("width", "scheme"), [(320, "dark"), (1280, "light")])
def test_a_page_of_a_site_asks_for_nothing_beside_it(
    open_site: Any, kind: str, width: int, scheme: str
) -> None:
    """It complains of nothing, executes no text, has no serious fault, and fits its window."""
    opened = open_site(kind, width=width, scheme=scheme)

    assert ([], []) == (opened.complaints, opened.asked_for)
    assert "taken" != opened.page.title()
    assert 0 == opened.page.locator("img").count()
    assert width >= opened.page.evaluate("document.documentElement.scrollWidth")
    assert [] == serious_faults(opened)


def test_the_search_leads_to_a_case_from_any_page(open_site: Any) -> None:
    """Its title is found by words of it, and shown as text."""
    opened = open_site("pair")
    opened.page.fill("#search", "onerror img")
    results = opened.page.locator("#results a")

    assert ["1 found", 'Group / "><img src=x'] == [
        opened.page.inner_text("#hits-of-search"),
        results.inner_text().partition(" onerror")[0],
    ]
    results.press("Enter")
    opened.page.wait_for_selector(READY["case"])
    assert 'Group / "><img src=x' == opened.page.title().partition(" onerror")[0]
    assert [] == opened.complaints
