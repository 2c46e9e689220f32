# A player that shows nothing, kiosk-web before it, and a folder of both, for the tests of the page.
import atexit
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def eventually(condition, seconds=15):
    """Waits until a condition holds; returns its last value, false if it raises."""
    end = time.monotonic() + seconds
    while True:
        try:
            value = condition()
        except Exception:  # noqa: BLE001 - an element may be gone, a server not there yet
            value = False
        if value or time.monotonic() > end:
            return value
        time.sleep(0.1)


CONFIGURATION = """[display]
connector = "offscreen"
mode = "960x540"

[audio]
device = "off"

[input]
grab = false
touch = false

[control]
socket = "{folder}/control.sock"

[record]
folder = "{folder}/films"

[web]
folder = "{folder}/media"
password-file = "{folder}/password"

[[overlay]]
name = "news"
text = "Open until six"
anchor = "bottom"

[[overlay]]
name = "clock"
kind = "clock"
anchor = "top-right"

[[playlist]]
source = "media/harbour.mkv"
title = "Harbour tour"

[[playlist]]
source = "media/garden.mp4"
title = "The garden in spring"

[[playlist]]
source = "media/still.png"
title = "Opening hours"

[[program]]
name = "lunch menu"
days = "mon-fri"
hours = "{lunch}"
[[program.playlist]]
source = "media/garden.mp4"

[[program]]
name = "night"
off = true
hours = "{night}"
priority = 2
"""


class Stage:
    """The folder, the player, kiosk-web, and a web server for files to fetch."""

    clips = None

    def __init__(self, kiosk, web, page=None):
        self.kiosk, self.web, self.page = kiosk, web, page
        self.folder = tempfile.mkdtemp(prefix="kiosk-page-")
        os.mkdir(f"{self.folder}/films")
        self.configuration = f"{self.folder}/kiosk.conf"
        self.socket = f"{self.folder}/control.sock"
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}/"
        self.processes = {}
        self.take_clips()
        with open(self.configuration, "w", encoding="utf-8") as file:
            # No program begins while the test runs.
            hour = time.localtime().tm_hour
            lunch, night = (f"{(hour + begin) % 24:02}:00-{(hour + begin + 4) % 24:02}:30" for begin in (4, 12))
            file.write(CONFIGURATION.format(folder=self.folder, lunch=lunch, night=night))
        self.serve_files()

    def take_clips(self):
        """Copies the clips, which are made once: each part of the test changes its own."""
        if not Stage.clips:
            Stage.clips = tempfile.mkdtemp(prefix="kiosk-clips-")
            atexit.register(shutil.rmtree, Stage.clips, ignore_errors=True)
            for name in ("media", "outside"):
                os.mkdir(f"{Stage.clips}/{name}")
            self.make_clips(Stage.clips)
        for name in ("media", "outside"):
            shutil.copytree(f"{Stage.clips}/{name}", f"{self.folder}/{name}")

    def make_clips(self, folder):
        def make(path, seconds, size, tone, *more):
            words = [
                "ffmpeg",
                "-v",
                "error",
                "-y",
                "-f",
                "lavfi",
                "-i",
                f"testsrc2=size={size}:rate=25",
                "-f",
                "lavfi",
                "-i",
                f"sine={tone}",
            ]
            subprocess.run([*words, "-t", str(seconds), "-pix_fmt", "yuv420p", *more, path], check=True)

        media, outside = f"{folder}/media", f"{folder}/outside"
        text = f"{outside}/words.srt"
        with open(text, "w", encoding="utf-8") as file:
            file.write("1\n00:00:01,000 --> 00:00:50,000\nWelcome aboard\n")
        common = ["-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac"]
        make(f"{media}/garden.mp4", 60, "320x180", 440, *common)
        subprocess.run(
            [
                "ffmpeg",
                "-v",
                "error",
                "-y",
                "-f",
                "lavfi",
                "-i",
                "life=size=320x180:mold=10:ratio=0.1:death_color=#104060:life_color=#60c0c0:rate=25",
                "-f",
                "lavfi",
                "-i",
                "sine=330",
                "-f",
                "lavfi",
                "-i",
                "sine=660",
                "-i",
                text,
                "-i",
                text,
                "-t",
                "60",
                "-pix_fmt",
                "yuv420p",
                "-map",
                "0:v",
                "-map",
                "1:a",
                "-map",
                "2:a",
                "-map",
                "3",
                "-map",
                "4",
                "-metadata:s:a:0",
                "language=deu",
                "-metadata:s:a:1",
                "language=eng",
                "-metadata:s:s:0",
                "language=deu",
                "-metadata:s:s:1",
                "language=fra",
                *common,
                "-c:s",
                "srt",
                f"{media}/harbour.mkv",
            ],
            check=True,
        )
        subprocess.run(
            ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "smptebars=size=640x360", "-frames:v", "1", f"{media}/still.png"],
            check=True,
        )
        make(f"{outside}/café & bar.mp4", 2, "320x180", 500, *common)
        make(f"{outside}/second.mp4", 2, "320x180", 550, *common)
        make(f"{outside}/from-afar.mp4", 2, "320x180", 600, *common)
        make(f"{outside}/large.mp4", 8, "1280x720", 700, "-c:v", "libx264", "-preset", "ultrafast", "-qp", "5", "-c:a", "aac")
        with open(f"{outside}/broken.mp4", "wb") as file:
            file.write(os.urandom(200_000))

    def serve_files(self):
        folder = f"{self.folder}/outside"

        class Handler(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *values):
                super().__init__(*values, directory=folder)

            def log_message(self, *_):
                pass

        self.files = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.files_address = f"http://127.0.0.1:{self.files.server_address[1]}"
        threading.Thread(target=self.files.serve_forever, daemon=True).start()

    def start(self, name):
        if name == "player":
            words = [self.kiosk, "--config", self.configuration]
        else:
            words = [self.web, "--config", self.configuration, "--listen", f"127.0.0.1:{self.port}", "--socket", self.socket]
            words += ["--page", self.page] if self.page else []
        log = open(f"{self.folder}/{name}.log", "ab")
        self.processes[name] = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        if name == "web" and not eventually(lambda: self.api("session"), 30):
            raise SystemExit(f"kiosk-web does not answer:\n{self.log('web')}")
        if name == "player" and not eventually(lambda: os.path.exists(self.socket), 30):
            raise SystemExit(f"the player does not start:\n{self.log('player')}")

    def end(self, name):
        process = self.processes.pop(name, None)
        if process:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def log(self, name):
        with open(f"{self.folder}/{name}.log", encoding="utf-8", errors="replace") as file:
            return file.read()[-2000:]

    def close(self):
        for name in list(self.processes):
            self.end(name)
        self.files.shutdown()
        shutil.rmtree(self.folder, ignore_errors=True)

    def api(self, path):
        """What the API says, asked past the page."""
        with urllib.request.urlopen(f"{self.address}api/v1/{path}", timeout=10) as answer:
            return json.load(answer)

    def offers(self, path):
        try:
            urllib.request.urlopen(f"{self.address}api/v1/{path}", timeout=60).close()
        except urllib.error.HTTPError as error:
            return error.code not in (404, 501)
        return True

    def set_password(self, password):
        words = [self.web, "password", "--config", self.configuration]
        subprocess.run(words, input=password + "\n", text=True, check=True, capture_output=True)

    def names(self):
        return sorted(name for name in os.listdir(f"{self.folder}/media") if not name.startswith("."))
