#!/usr/bin/env python3
"""Opens reports in headless Chromium, as a reader would: usage report_test.py KVSIM SOURCE_FOLDER.

What C++ tests cannot see: that nothing is refused by the page's own policy, that no request leaves, that plots have
marks that are painted, that pointing, keys and sorting work, and that print, dark mode and a phone get a usable page.
"""

import base64
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

CHROMIUM, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    print("skipped: there is no python3-selenium here")
    sys.exit(77)
for program in (CHROMIUM, DRIVER):
    if not pathlib.Path(program).exists():
        print(f"skipped: there is no {program} here (packages chromium and chromium-driver)")
        sys.exit(77)

KVSIM = ""
SOURCE = pathlib.Path()
HOSTILE = "<script>window.hacked=1</script>\"><img src=x onerror='window.hacked=1'>'\U0001F525\u202E" + "x" * 10_000
SHOWN = HOSTILE.replace("\u202E", "\uFFFD")  # what would turn letters around is not a letter
QUIET = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--window-size=1280,1000",
]


def kvsim(*arguments, folder):
    return subprocess.run([KVSIM, *map(str, arguments)], cwd=folder, check=True, capture_output=True, text=True).stdout


def browser():
    options = Options()
    options.binary_location = CHROMIUM
    for flag in QUIET:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(service=Service(DRIVER), options=options)


class ReportTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        headline = SOURCE / "scenarios/long_context/headline.yaml"
        short = ["--set", "run.duration=4 min", "--set", "run.warmup=30 s"]
        kvsim("compare", headline, *short, "--out", "all/compare", folder=cls.folder)
        kvsim("plan", headline, *short, "--explain", "--replications", 2, "--pareto", "--out", "all/plan", folder=cls.folder)
        kvsim("sweep", headline, *short, "--vary", "decode.draft_length=10:40:10", "--vary", "decode.keep_ratio=0.1,0.2,0.4",
              "--out", "all/sweep", folder=cls.folder)
        kvsim("sweep", SOURCE / "scenarios/capacity/chat.yaml", "--set", "run.duration=40 s", "--set", "run.warmup=5 s",
              "--vary", "workload.arrivals.rate=1/s,4/s,16/s", "--out", "all/rates", folder=cls.folder)
        kvsim("capacity", SOURCE / "scenarios/capacity/chat.yaml", "--attainment", "0.8", "--replications", 2,
              "--out", "all/capacity", folder=cls.folder)
        kvsim("capacity", SOURCE / "scenarios/capacity/chat.yaml", "--machines", "h100-sxm:1,h100-sxm:2,l4,l40s", "--rate", "5/s",
              "--attainment", "0.8", "--replications", 2, "--out", "all/fleets", folder=cls.folder)
        kvsim("report", "all", "--out", "report.html", folder=cls.folder)
        cls.make_hostile()
        cls.driver = browser()

    @classmethod
    def tearDownClass(cls):
        cls.driver.quit()
        cls.temporary.cleanup()

    @classmethod
    def make_hostile(cls):
        """A comparison whose every word was chosen by an enemy."""
        document = json.loads((cls.folder / "all/compare/result.json").read_text())

        def poisoned(value, key=""):
            if isinstance(value, dict):
                return {name: poisoned(inner, name) for name, inner in value.items()}
            if isinstance(value, list):
                return [poisoned(inner, key) for inner in value]
            return HOSTILE + value if isinstance(value, str) and key not in ("baseline",) else value

        (cls.folder / "hostile.json").write_text(json.dumps(poisoned(document)))
        kvsim("report", "hostile.json", "--out", "hostile.html", folder=cls.folder)

    def open(self, name="report.html"):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
        self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get((self.folder / name).as_uri())

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def test_opens_without_a_word_on_the_console_and_without_a_request(self):
        for name in ("report.html", "hostile.html"):
            self.open(name)
            self.assertEqual([], self.driver.get_log("browser"))
            events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
            asked = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
            self.assertEqual([(self.folder / name).as_uri()], asked)

    def test_hostile_words_are_shown_and_not_executed(self):
        self.open("hostile.html")
        self.assertIsNone(self.script("return window.hacked ?? null"))
        self.assertEqual(0, self.script("return document.querySelectorAll('img').length"))
        self.assertEqual(1, self.script("return document.querySelectorAll('script').length"))
        self.assertIn(SHOWN, self.script("return document.querySelector('h1').textContent"))
        self.assertIn(SHOWN, self.script("return document.querySelector('tbody th').textContent"))
        width, inner = self.script("return [document.documentElement.scrollWidth, innerWidth]")
        self.assertLessEqual(width, inner, "10,000 letters do not push the page wide")

    def test_the_policy_refuses_other_scripts(self):
        self.open()
        self.script("const s = document.createElement('script'); s.textContent = 'window.hacked = 1';"
                    "document.body.append(s)")
        self.assertIsNone(self.script("return window.hacked ?? null"))

    def test_every_plot_has_painted_marks_a_title_and_its_data(self):
        self.open()
        plots = self.script("""
          return [...document.querySelectorAll('figure.plot')].map(f => ({
            id: f.id,
            marks: [...f.querySelectorAll('.canvas .mark')].filter(m => {
              const box = m.getBoundingClientRect(), style = getComputedStyle(m);
              const painted = style.fill !== 'none' || style.stroke !== 'none';
              return painted && box.width + box.height > 0;
            }).length,
            title: f.querySelector('svg title').textContent,
            rows: f.querySelectorAll('tbody tr').length}))""")
        ids = {p["id"] for p in plots}
        for wanted in ("policies", "pareto", "attainment-by-rate", "ttft-by-rate", "swept-ttft", "plan-map", "sweep-map-2",
                       "memory-waterfall", "gpu-over-time", "links-over-time", "memory-over-time", "ttft-distribution",
                       "elasticities", "bound-by"):
            self.assertIn(wanted, ids)
        for p in plots:
            self.assertGreater(p["marks"], 0, p["id"])
            self.assertGreater(p["rows"], 0, p["id"])
            self.assertTrue(p["title"], p["id"])

    def test_pointing_at_a_mark_says_what_it_is(self):
        self.open()
        for plot in ("plan-map", "policies", "links-over-time", "elasticities"):
            canvas = self.driver.find_element(By.CSS_SELECTOR, f"#{plot} .canvas")
            self.script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", canvas)
            hit = canvas.find_elements(By.CSS_SELECTOR, ".hit[data-tip]")[0]
            ActionChains(self.driver).move_to_element(hit).perform()
            tip = self.script("const t = document.querySelector('.tip'); return [t.hidden, t.textContent]")
            self.assertFalse(tip[0], plot)
            self.assertEqual(hit.get_attribute("data-tip").replace("; ", "\n"), tip[1], plot)

    def test_the_keyboard_goes_through_a_plot_and_is_read_out(self):
        self.open()
        canvas = self.driver.find_element(By.CSS_SELECTOR, "#sweep-map-2 .canvas")
        self.script("arguments[0].focus()", canvas)
        seen = []
        for key in (Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.END, Keys.HOME):
            ActionChains(self.driver).send_keys(key).perform()
            seen.append(self.driver.find_element(By.CSS_SELECTOR, "#sweep-map-2 .reading").text)
        self.assertEqual(4, len([s for s in seen if "tokens" in s or "=" in s]))
        self.assertEqual(seen[0], seen[3])
        self.assertNotEqual(seen[1], seen[2])
        ActionChains(self.driver).send_keys(Keys.ESCAPE).perform()
        self.assertTrue(self.script("return document.querySelector('.tip').hidden"))

    def test_tables_sort_by_value_and_say_so(self):
        self.open()
        column = """
          const t = document.querySelector('#headline table');
          const i = [...t.tHead.rows[0].cells].findIndex(c => c.textContent.startsWith('output tokens/s'));
          const head = t.tHead.rows[0].cells[i];
          if (arguments[0]) head.querySelector('button').click();
          return [head.getAttribute('aria-sort'), [...t.tBodies[0].rows].map(r => Number(r.cells[i].dataset.v))];"""
        _, before = self.script(column, False)
        order, rising = self.script(column, True)
        self.assertEqual(("ascending", sorted(before)), (order, rising))
        order, falling = self.script(column, True)
        self.assertEqual(("descending", sorted(before, reverse=True)), (order, falling))

    def contrast(self, selector):
        """The contrast of an element's words with the page (WCAG 2.1, 1.4.3)."""
        ink, page = self.script("""
          return [getComputedStyle(document.querySelector(arguments[0])).color,
                  getComputedStyle(document.body).backgroundColor]""", selector)

        def luminance(colour):
            shares = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
            linear = [s / 12.92 if s <= 0.03928 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
            return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

        bright, dim = sorted((luminance(ink), luminance(page)), reverse=True)
        return luminance(page), (bright + 0.05) / (dim + 0.05)

    def test_light_and_dark_mode_have_enough_contrast(self):
        for mode in ("light", "dark"):
            self.open()
            self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                        {"features": [{"name": "prefers-color-scheme", "value": mode}]})
            for selector in ("h1", ".soft", ".facts .detail", "nav a", "tbody td", "figcaption span", "summary"):
                page, ratio = self.contrast(selector)
                self.assertGreaterEqual(ratio, 4.5, f"{mode} {selector}")
                self.assertEqual(mode == "dark", page < 0.2)

    def test_prints_on_white_with_its_plots(self):
        self.open()
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                    {"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]})
        page, ratio = self.contrast("h1")
        self.assertGreater(page, 0.9)
        self.assertGreater(ratio, 4.5)
        self.assertEqual("none", self.script("return getComputedStyle(document.querySelector('nav')).display"))
        self.assertEqual(["avoid", "avoid"], self.script(
            "const s = getComputedStyle(document.querySelector('section h2')); return [s.breakAfter, s.breakInside]"))
        self.assertNotEqual("none", self.script(
            "return getComputedStyle(document.querySelector('.canvas svg')).maxHeight"))  # no page cuts a plot
        printed = base64.b64decode(self.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
        self.assertTrue(printed.startswith(b"%PDF"))
        pages = len(re.findall(rb"/Type\s*/Page\b(?!s)", printed))
        self.assertGreater(pages, 2)
        self.assertLess(pages, 40)

    def test_a_phone_gets_the_page_without_scrolling_sideways(self):
        self.open()
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True})
        self.driver.get((self.folder / "report.html").as_uri())
        width, inner = self.script("return [document.documentElement.scrollWidth, innerWidth]")
        self.assertEqual(360, inner)
        self.assertLessEqual(width, inner)
        self.assertGreaterEqual(self.script("return parseFloat(getComputedStyle(document.body).fontSize)"), 14)

    def test_tables_take_the_margin_of_a_wide_window_and_keep_their_first_column_on_a_phone(self):
        def at(width):
            self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                        {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": width < 600})
            self.driver.get((self.folder / "report.html").as_uri())

        self.open()
        at(1400)
        cut = self.script("return [...document.querySelectorAll('.scroll')].filter(e => !e.closest('figure') &&"
                          "e.scrollWidth > e.clientWidth).map(e => [e.getAttribute('aria-label'), e.scrollWidth, e.clientWidth])")
        self.assertEqual([], cut, "no table of a section scrolls; those of plots' data are folded away")
        at(420)
        width, inner = self.script("return [document.documentElement.scrollWidth, innerWidth]")
        self.assertLessEqual(width, inner)
        self.assertEqual("sticky", self.script("return getComputedStyle(document.querySelector('tbody th')).position"))

    def test_has_what_screen_readers_need(self):
        self.open()
        found = self.script("""
          const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
          return {
            language: document.documentElement.lang,
            twice: ids.filter((id, i) => ids.indexOf(id) !== i),
            nameless: [...document.querySelectorAll('table')].filter(
                t => !t.caption && !t.closest('[aria-label]')).length,
            headless: [...document.querySelectorAll('table')].filter(t => !t.querySelector('thead th[scope=col]')).length,
            broken: [...document.querySelectorAll('a[href^="#"]')].map(a => a.hash.slice(1))
                .filter(id => !document.getElementById(id)),
            unlabelled: [...document.querySelectorAll('[aria-labelledby]')].filter(e => e.getAttribute('aria-labelledby')
                .split(' ').some(id => !document.getElementById(id))).length,
            main: document.querySelectorAll('main').length, h1: document.querySelectorAll('h1').length}""")
        self.assertEqual({"language": "en", "twice": [], "nameless": 0, "headless": 0, "broken": [], "unlabelled": 0,
                          "main": 1, "h1": 1}, found)

    def test_equal_results_give_equal_bytes_and_a_small_page(self):
        kvsim("report", "all", "--out", "again.html", folder=self.folder)
        first = (self.folder / "report.html").read_bytes()
        self.assertEqual(first, (self.folder / "again.html").read_bytes())
        self.assertLess(len(first), 2_000_000)


if __name__ == "__main__":
    SOURCE = pathlib.Path(sys.argv.pop())
    KVSIM = sys.argv.pop()
    unittest.main(verbosity=2)
