"""What a report promises to those who open it."""

import base64
import subprocess
import time
from xml.etree import ElementTree

import pytest
from axe_core_python.base import AXE_FILE_PATH
from harness import BIN, PATIENCE
from selenium.webdriver import ActionChains, Keys
from test_report import write_run

CURVES = "#runs-1-curves"


def violations(browser):
    browser.run(open(AXE_FILE_PATH, encoding="utf-8").read())
    found = browser.driver.execute_async_script(
        "const done = arguments[arguments.length - 1]; axe.run().then(r => done(r.violations));")
    return [(v["id"], v["help"], [n["html"][:200] for n in v["nodes"]][:3]) for v in found]


def point_at(browser, share, selector=CURVES):
    """Moves the mouse over the chart, to this share of its width from the left."""
    svg = browser.one(f"{selector} .plot svg")
    browser.run("arguments[0].scrollIntoView({block: 'center'})", svg)
    box = svg.rect
    return ActionChains(browser.driver, duration=20).move_to_element_with_offset(
        svg, int(box["width"] * (share - 0.5)), 0)


def reading(browser, selector=CURVES):
    return browser.run("return [...document.querySelectorAll(arguments[0] + ' .reading data')].map(d => +d.value)",
                       selector)


def polylines(browser, selector=CURVES):
    return browser.run("return [...document.querySelectorAll(arguments[0] + ' .plot polyline')]"
                       ".map(p => p.getAttribute('points'))", selector)


def test_nothing_is_requested_and_nothing_is_said(browser, report):
    page = browser().open(report)
    page.cdp("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)
    page.driver.refresh()
    assert page.run("return document.documentElement.dataset.ready") == "yes"
    point_at(page, 0.5).perform()
    asked = [url for url in page.requests() if not url.startswith(("data:", "chrome:"))]
    assert asked and set(asked) == {f"file://{report}"}
    assert page.messages() == []
    assert page.driver.title == "adagp report", "the name of a method is no program"


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing(browser, report, dark):
    page = browser(dark=dark).open(report)
    page.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert violations(page) == []


def test_the_theme_follows_the_system_and_the_switch(browser, report):
    page = browser(dark=True).open(report)
    colour = "return getComputedStyle(document.documentElement).backgroundColor"
    assert page.run(colour) == "rgb(22, 25, 31)"
    page.one("#theme option[value=light]").click()
    assert page.run(colour) == "rgb(255, 255, 255)"
    assert "theme=light" in page.driver.current_url


def test_the_cross_hair_reads_what_the_data_say(browser, report):
    page = browser().open(report)
    series = page.data()["runs-1-curves"]["s"]
    point_at(page, 0.98).perform()
    assert reading(page) == [s["y"]["test_top1"]["v"][-1] for s in series]
    assert page.one(CURVES + " .reading b").text == "epochs: 6"
    point_at(page, 0.02).perform()
    assert reading(page) == [s["y"]["test_top1"]["v"][0] for s in series]


def test_charts_of_one_axis_show_the_same_place(browser, report):
    page = browser().open(report)
    point_at(page, 0.98).perform()
    assert page.one("#runs-2-curves .reading b").text == "epochs: 6"


def test_other_axes_and_figures(browser, report):
    page = browser().open(report)
    page.one(CURVES + " .tools option[value=seconds]").click()
    page.one(CURVES + " .tools option[value=test_loss]").click()
    point_at(page, 0.98).perform()
    bp = page.data()["runs-1-curves"]["s"][0]
    assert reading(page)[0] == bp["y"]["test_loss"]["v"][-1]
    assert page.one(CURVES + " .reading b").text == f"seconds of training: {bp['x']['seconds'][-1]}"


def test_dragging_zooms_and_a_double_click_shows_all(browser, report):
    page = browser().open(report)
    before = polylines(page)
    actions = point_at(page, 0.4).click_and_hold()
    actions.move_by_offset(200, 0).release().perform()
    assert polylines(page) != before
    assert "runs-1-curves.zoom=" in page.driver.current_url
    zoomed = polylines(page)
    page.driver.refresh()
    assert polylines(page) == zoomed, "the address keeps what was chosen"
    ActionChains(page.driver).double_click(page.one(CURVES + " .plot svg")).perform()
    assert polylines(page) == before


def test_the_legend_hides_lines_and_bars(browser, report):
    page = browser().open(report)
    toggle = page.one(CURVES + " .legend li:nth-child(2) button")
    toggle.click()
    assert toggle.get_attribute("aria-pressed") == "false"
    assert [p == "" for p in polylines(page)] == [False, True, False]
    toggle.click()
    assert all(polylines(page))
    page.one("#accelerator-1-cycles .legend button").click()
    bars = page.driver.find_elements("css selector", "#accelerator-1-cycles .plot rect.fs0")
    assert bars and not any(bar.is_displayed() for bar in bars)


def test_smoothing_moves_the_line_and_not_the_reading(browser, report):
    page = browser().open(report)
    before = polylines(page)
    page.run("const r = document.querySelector(arguments[0] + ' input[type=range]');"
             "r.value = 0.9; r.dispatchEvent(new Event('input'))", CURVES)
    assert polylines(page) != before
    point_at(page, 0.98).perform()
    assert reading(page)[0] == page.data()["runs-1-curves"]["s"][0]["y"]["test_top1"]["v"][-1]


def test_everything_works_with_keys(browser, report):
    page = browser().open(report)
    plot = page.one(CURVES + " .plot")
    page.run("arguments[0].focus()", plot)
    values = [s["y"]["test_top1"]["v"] for s in page.data()["runs-1-curves"]["s"]]
    for key, place in ((Keys.ARROW_RIGHT, 0), (Keys.ARROW_RIGHT, 1), (Keys.END, -1), (Keys.ARROW_LEFT, -2),
                       (Keys.HOME, 0)):
        plot.send_keys(key)
        assert reading(page) == [v[place] for v in values]
    before = polylines(page)
    plot.send_keys("+")
    assert polylines(page) != before
    plot.send_keys(Keys.ESCAPE)
    assert polylines(page) == before and reading(page) == []
    # Tab reaches the legend's first switch, which Space operates.
    for _ in range(20):
        ActionChains(page.driver).send_keys(Keys.TAB).perform()
        if page.run("return document.activeElement.matches('.legend button')"):
            break
    ActionChains(page.driver).send_keys(Keys.SPACE).perform()
    assert polylines(page)[0] == ""


def test_the_slider_reads_off_seconds(browser, report):
    page = browser().open(report)
    data = page.data()["runs-2-slider"]
    slider = page.one("#runs-2-slider input")
    page.run("arguments[0].focus()", slider)
    slider.send_keys(Keys.HOME)
    slider.send_keys(*[Keys.ARROW_RIGHT] * 30)
    cells = [c.text for c in page.driver.find_elements("css selector", "#runs-2-slider td")]
    assert cells == [text for row in data["rows"] for text in (row[0][30], row[1][30])]
    assert str(data["scores"][30]) in page.one("#runs-2-slider output").text
    assert any(c not in ("-", cells[1]) for c in cells)


def test_tables_are_sorted_by_numbers(browser, report):
    page = browser().open(report)
    column = ("return [...document.querySelector('#runs-1-verdict ~ .scroll table').tBodies[0].rows]"
              ".map(r => r.cells[0].textContent)")
    button = page.one("#runs-1-verdict ~ .scroll thead th:nth-child(2) button")
    button.click()
    assert page.run(column) == ["skip", "adagp", "bp"]
    button.click()
    assert page.run(column) == ["bp", "adagp", "skip"]


def test_words_of_tables_are_not_broken_where_the_page_is_narrow(browser, report):
    page = browser(width=400).open(report)
    # "efficient" in one line: its cell is as high as that of "low".
    heights = page.run("return [...document.querySelectorAll('main td')].filter(d => ['low', 'efficient']"
                       ".includes(d.textContent)).map(d => d.getBoundingClientRect().height)")
    assert len(heights) >= 4 and max(heights) < 1.5 * min(heights)


def test_names_below_bars_do_not_overlap(browser, report):
    page = browser().open(report)
    boxes = page.run("return [...document.querySelectorAll('#accelerator-2-cycles .plot text')]"
                     ".filter(t => /resnet8|vgg13/.test(t.textContent) && !t.getAttribute('transform'))"
                     ".map(t => { const r = t.getBoundingClientRect(); return [r.left, r.right]; })")
    boxes.sort()
    assert len(boxes) == 6, "upright"
    assert all(left >= before for (left, _), (_, before) in zip(boxes[1:], boxes))


def test_numbers_with_groups_of_digits_are_sorted_by_their_size(browser, report):
    page = browser().open(report)
    page.run("document.querySelectorAll('#accelerator-2 ~ .scroll thead th button')[2].click()")
    cycles = page.run("return [...document.querySelector('#accelerator-2 ~ .scroll').querySelectorAll('tbody tr')]"
                      ".map(r => r.cells[2].textContent)")
    numbers = [int(text.replace(" ", "")) for text in cycles]
    assert len(numbers) >= 8 and " " in cycles[0] and numbers == sorted(numbers)


def test_a_click_on_a_layer_shows_its_curve(browser, report):
    page = browser().open(report)
    map_id = "#runs-1-probes-1-cosine"
    assert not page.one(map_id + "-layer").is_displayed()
    page.run("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", map_id)
    frame = [float(v) for v in page.one(map_id + " .plot svg").get_attribute("data-frame").split()]
    svg = page.one(map_id + " .plot svg")
    scale = svg.rect["width"] / float(svg.get_dom_attribute("viewBox").split()[2])
    top = (frame[1] + 2.5 * frame[3]) * scale - svg.rect["height"] / 2
    ActionChains(page.driver).move_to_element_with_offset(svg, 0, int(top)).click().perform()
    assert page.one(map_id + "-layer figcaption").text == "layer 2"
    page.run("document.querySelector(arguments[0]).focus()", map_id + "-layer .plot")
    page.one(map_id + "-layer .plot").send_keys(Keys.ARROW_RIGHT)
    assert reading(page, map_id + "-layer") == [page.data()["runs-1-probes-1-cosine"]["v"][2][0]]


def test_one_pipeline_is_shown_and_another_can_be_chosen(browser, report):
    page = browser().open(report)
    shown = "return [...document.querySelectorAll('figure[id^=pipeline-1-]')].map(f => f.checkVisibility())"
    assert page.run(shown).count(True) == 1
    page.run("const s = [...document.querySelectorAll('main > label select')].at(-1);"
             "s.selectedIndex = 1; s.dispatchEvent(new Event('change'))")
    assert page.run(shown)[1] is True


@pytest.mark.parametrize("kind", ["SVG", "PNG", "CSV"])
def test_downloads(browser, report, tmp_path, kind):
    page = browser()
    page.cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    page.open(report)
    page.run("[...document.querySelectorAll(arguments[0] + ' .tools button')]"
             ".find(b => b.textContent === arguments[1]).click()", CURVES, kind)
    file = tmp_path / f"runs-1-curves.{kind.lower()}"
    until = time.monotonic() + PATIENCE
    while not file.exists():
        assert time.monotonic() < until
        time.sleep(0.05)
    content = file.read_bytes()
    if kind == "PNG":
        assert content.startswith(b"\x89PNG") and len(content) > 5000
    elif kind == "SVG":
        root = ElementTree.fromstring(content)
        assert "var(" not in content.decode() and "bp" in "".join(root.itertext())
    else:
        lines = content.decode().splitlines()
        assert lines[0].startswith("series,epoch,seconds") and len(lines) == 1 + 3 * 6
    assert page.messages() == []


def test_narrow_screens_need_no_sideways_scrolling(browser, report):
    page = browser(width=400).open(report)
    assert page.run("return document.documentElement.scrollWidth") <= 400
    assert violations(page) == []


def test_it_prints(browser, report):
    pdf = base64.b64decode(browser().open(report).cdp("Page.printToPDF")["data"])
    assert pdf.startswith(b"%PDF") and len(pdf) > 50_000


def test_it_is_whole_without_script(browser, report):
    page = browser(script=False).open(report)
    text = page.one("main").text
    assert "adagp beats skip" in text and "Settings that differ" in text
    for figure in page.driver.find_elements("css selector", "figure:not([hidden]) .plot svg"):
        assert figure.rect["height"] > 40
    assert page.one(CURVES + " .plot polyline").is_displayed()
    assert not page.one("#theme").is_displayed()


def test_a_live_page_loads_itself_again_and_keeps_its_state(browser, report, tmp_path):
    live = tmp_path / "live.html"
    live.write_text(report.read_text().replace("<body>", '<body data-reload="1">', 1))
    page = browser().open(live)
    page.one(CURVES + " .tools option[value=seconds]").click()
    page.run("window.before = true")
    live.write_text(live.read_text().replace("<title>adagp report", "<title>second"))
    until = time.monotonic() + PATIENCE
    while page.driver.title != "second":
        assert time.monotonic() < until
        time.sleep(0.1)
    assert page.run("return document.querySelector(arguments[0] + ' .tools select').value", CURVES) == "seconds"


def test_a_large_report_answers(browser, tmp_path):
    for method in range(10):
        for seed in range(10):
            write_run(tmp_path / f"runs/m{method}-seed{seed}", f"m{method}", seed, 300, 50 + method)
    subprocess.run([BIN, "report", tmp_path / "runs", "-o", tmp_path / "r.html"], check=True)
    page = browser().open(tmp_path / "r.html")
    assert len(polylines(page)) > 0
    assert page.messages() == []
