# SPDX-License-Identifier: Apache-2.0
"""A browser for tests: chromedriver spoken to over HTTP (the W3C WebDriver protocol), nothing else needed."""
from __future__ import annotations

import base64
import json
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ARGUMENTS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--force-color-profile=srgb", "--force-device-scale-factor=1", "--no-first-run", "--disable-extensions"]


def missing() -> str | None:
    """Why there can be no browser; None where there is one."""
    for program in ("chromedriver", "chromium"):
        if not shutil.which(program):
            return f"{program} is not installed"
    return None


class Browser:
    def __init__(self, scripts: bool = True, dark: bool = False) -> None:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.profile = tempfile.TemporaryDirectory(prefix="lpo-browser-")
        self.driver = subprocess.Popen(["chromedriver", f"--port={self.port}"], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
        options = {"args": [*ARGUMENTS, f"--user-data-dir={self.profile.name}"]}
        if dark:
            options["args"].append("--force-dark-mode")
        if not scripts:
            options["prefs"] = {"profile.managed_default_content_settings.javascript": 2}
        wanted = {"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options,
                                                   "goog:loggingPrefs": {"browser": "ALL"}}}}
        for attempt in range(2400):
            try:
                self.session = self.ask("POST", "/session", wanted)["sessionId"]
                break
            except (ConnectionError, urllib.error.URLError) as e:
                if isinstance(e, urllib.error.HTTPError) or attempt == 2399:
                    self.close()
                    raise
                time.sleep(0.05)
        self.do("POST", "/timeouts", {"script": 300000, "pageLoad": 300000})  # a busy machine is no reason to fail

    def ask(self, method: str, path: str, body: dict | None = None):
        data = json.dumps(body if body is not None else {}).encode() if method == "POST" else None
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, {"Content-Type": "application/json"},
                                         method=method)
        with urllib.request.urlopen(request, timeout=320) as answer:
            return json.load(answer)["value"]

    def do(self, method: str, path: str, body: dict | None = None):
        return self.ask(method, f"/session/{self.session}{path}", body)

    def open(self, path: str, ready: bool = True) -> None:
        self.do("POST", "/url", {"url": path if "://" in path else "file://" + path})
        for _ in range(1200):
            if not ready:
                return
            if self.run("return !!(window.lpo && window.lpo.ready)"):
                self.settle()
                return
            time.sleep(0.05)
        raise AssertionError(f"{path} did not become ready: {self.errors()}")

    def settle(self) -> None:
        """Until what a page draws for the next frame is drawn."""
        self.run_async("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done(true)))")

    def run(self, script: str, *args):
        """The value of a script that says `return …`."""
        return self.do("POST", "/execute/sync", {"script": script, "args": list(args)})

    def wait(self, condition: str) -> None:
        """Until the condition holds, for what a page does after an event."""
        for _ in range(2400):
            if self.run(f"return !!({condition})"):
                return
            time.sleep(0.05)
        raise AssertionError(f"this did not come true: {condition}")

    def errors(self) -> list[str]:
        """What the console has said since the last time that is no mere information."""
        return [e["message"] for e in self.do("POST", "/se/log", {"type": "browser"}) if e["level"] in ("SEVERE", "WARNING")]

    def size(self, width: int, height: int) -> None:
        self.do("POST", "/window/rect", {"width": width, "height": height})

    def devtools(self, command: str, **parameters):
        return self.do("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def narrow(self, width: int, height: int = 900) -> None:
        """As a screen of that width, also one that no window can be; 0 is the window's own again."""
        if width:
            self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        else:
            self.devtools("Emulation.clearDeviceMetricsOverride")

    def pages(self) -> int:
        """How many sheets of A4 the page takes when it is printed."""
        pdf = base64.b64decode(self.do("POST", "/print", {"page": {"width": 21.0, "height": 29.7}}))
        return len(re.findall(rb"/Type\s*/Page\b", pdf))

    def text(self, selector: str) -> str:
        """What a reader sees of an element; needs no script of the page."""
        found = self.do("POST", "/element", {"using": "css selector", "value": selector})
        return self.do("GET", f"/element/{next(iter(found.values()))}/text")

    def run_async(self, script: str, *args):
        """The value that a script hands to its last argument."""
        return self.do("POST", "/execute/async", {"script": script, "args": list(args)})

    def picture(self) -> bytes:
        return base64.b64decode(self.do("GET", "/screenshot"))

    def keys(self, text: str) -> None:
        """Types into whatever has the focus."""
        down = [{"type": kind, "value": c} for c in text for kind in ("keyDown", "keyUp")]
        self.do("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": down}]})

    def close(self) -> None:
        try:
            self.do("DELETE", "")
        except Exception:  # it may be gone already, or never have come
            pass
        self.driver.terminate()
        self.driver.wait()
        self.profile.cleanup()
