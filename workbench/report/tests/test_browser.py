"""What only a browser shows: complaints on the console, and a page that is wider than a phone."""

import json
import os
import re
import shutil
import subprocess
import unittest

from base.command import read_json
from base.tests.made import Files
from workbench.report.__main__ import filled
from workbench.report.compacted import compaction_section, replay_section, signals_section
from workbench.report.sent import request_view
from workbench.report.tests.made import ALL, CASE, NASTY, REPLAY, RESULTS, SIGNALS, SURVEY, sweep
from workbench.report.view import evaluation_section, survey_section
from workbench.tests.made import report, row

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
class InABrowser(Files):
    def measured(self, sections, width):
        """What the harness says of the page of some sections in headless chromium at a width."""
        inner = json.dumps(filled(sections)).replace("</", "<\\/")
        harness = self.write("harness.html", HARNESS.format(width=width, page=inner))
        done = subprocess.run([
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0",
            "--disable-dev-shm-usage", f"--user-data-dir={self.folder}", "--virtual-time-budget=5000", "--dump-dom",
            harness.as_uri()], capture_output=True, text=True, encoding="utf-8", timeout=120, check=True)
        self.assertNotIn("CONSOLE", done.stderr)
        return json.loads(re.search(r'<p id="measured">(.*?)</p>', done.stdout)[1])

    def test_no_console_errors_and_no_sideways_scrolling_at_phone_and_desk_width(self):
        long = "a_very_long_word_without_any_place_to_break_" * 6
        strategies = {name: [row("one", [long], [NASTY]), row(long), row("three", ["x"])]
                      for name in ("recent", "relevant", "notes", "hybrid", "bm25", "dense", "near")}
        request = request_view({**CASE, "instructions": long}, "recent", {**row("one", total=1), "turns": [0, 1]}, None)
        sections = [
            evaluation_section("plain.json", report(cases=strategies), ALL, {(None, "recent", "one"): request}),
            evaluation_section("sweep.json", sweep(dict.fromkeys(("1024", "4096", "16384"), strategies)), ALL),
            survey_section("survey.json", SURVEY, ALL), signals_section("signals.json", SIGNALS, ALL),
            replay_section("replay.json", REPLAY, ALL)]
        for width in (360, 1280):
            with self.subTest(width=width):
                seen = self.measured([{**section, "notes": [long]} for section in sections], width)
                self.assertGreater(seen["cells"], 50)
                self.assertLessEqual(max(seen["wide"]), width)

    def test_no_column_of_a_compaction_result_is_cut_off_at_desk_width(self):
        seen = self.measured([compaction_section("r", read_json(RESULTS[0]), ALL)], 1280)
        self.assertEqual((seen["cut"], max(seen["wide"]) <= 1280), (0, True))
