"""What only a browser shows: complaints on the console, and a page that is wider than a phone."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from base.command import read_json
from workbench.report.__main__ import filled
from workbench.report.compacted import compaction_section, replay_section, signals_section
from workbench.report.sent import request_view
from workbench.report.tests.made import ALL, CASE, NASTY, REPLAY, SIGNALS, SURVEY, evaluation, sweep
from workbench.report.view import evaluation_section, survey_section
from workbench.tests.made import row

RESULTS = sorted((Path(__file__).parents[3] / "compaction" / "results").glob("*-against-*.json"))
CHROMIUM = os.environ.get("LAB_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
HARNESS = """<!doctype html><meta charset="utf-8"><body><iframe id="f" width="{width}" height="900"></iframe>
<script>
const frame = document.getElementById("f");
frame.onload = () => {{
  const page = frame.contentDocument;
  if (page.body.children.length < 2) return;
  const wide = [page.documentElement.scrollWidth];
  page.querySelectorAll("details").forEach((one) => (one.open = true));
  wide.push(page.documentElement.scrollWidth);
  const out = document.createElement("p");
  out.id = "measured";
  const cut = [...page.querySelectorAll(".scroll")].filter((one) => one.scrollWidth > one.clientWidth);
  out.textContent = JSON.stringify({{wide, cells: page.querySelectorAll("details").length, cut: cut.length}});
  document.body.append(out);
}};
frame.srcdoc = {page};
</script>"""


@unittest.skipUnless(CHROMIUM, "no chromium is installed; LAB_CHROMIUM names one")
class InABrowser(unittest.TestCase):
    def opened(self, path, *options):
        """(document, console lines) of a page in headless chromium."""
        with tempfile.TemporaryDirectory() as profile:
            done = subprocess.run([
                CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0",
                "--disable-dev-shm-usage", f"--user-data-dir={profile}", *options, "--dump-dom",
                path.as_uri()], capture_output=True, text=True, encoding="utf-8", timeout=120, check=True)
        return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]

    def example(self):
        long = "a_very_long_word_without_any_place_to_break_" * 6
        strategies = {name: [row("one", [long], [NASTY]), row(long), row("three", ["x"])]
                      for name in ("recent", "relevant", "notes", "hybrid", "bm25", "dense", "near")}
        sections = [
            evaluation_section("plain.json", evaluation(cases=strategies), ALL),
            evaluation_section("sweep.json", sweep({"1024": strategies, "4096": strategies, "16384": strategies}), ALL)]
        view = request_view({**CASE, "instructions": long}, "recent", {**row("one", total=1), "turns": [0, 1]}, None)
        sections[0]["parts"][-1]["rows"][0]["cells"][0]["request"] = view
        sections += [survey_section("survey.json", SURVEY, ALL), signals_section("signals.json", SIGNALS, ALL),
                     replay_section("replay.json", REPLAY, ALL)]
        return filled([{**one, "notes": [long]} for one in sections])

    def measured(self, text, width):
        """What the harness found in a page at a width."""
        with tempfile.TemporaryDirectory() as folder:
            harness = Path(folder) / "harness.html"
            inner = json.dumps(text).replace("</", "<\\/")
            harness.write_text(HARNESS.format(width=width, page=inner), encoding="utf-8")
            document, console = self.opened(harness, "--virtual-time-budget=5000")
        self.assertEqual(console, [])
        return json.loads(re.search(r'<p id="measured">(.*?)</p>', document)[1])

    def test_no_console_errors_and_no_sideways_scrolling_at_phone_and_desk_width(self):
        for width in (360, 1280):
            with self.subTest(width=width):
                found = self.measured(self.example(), width)
                self.assertGreater(found["cells"], 50)
                self.assertLessEqual(max(found["wide"]), width)

    @unittest.skipUnless(RESULTS, "no recorded compaction result yet")
    def test_no_column_of_a_compaction_result_is_cut_off_at_desk_width(self):
        found = self.measured(filled([compaction_section("r", read_json(RESULTS[0]), ALL)]), 1280)
        self.assertEqual((found["cut"], max(found["wide"]) <= 1280), (0, True))


if __name__ == "__main__":
    unittest.main()
