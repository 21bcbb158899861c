#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The OCI image: its files fit each other, lpo runs in its root file system and nothing else, and copy-into puts a working
collector into a volume. The Kubernetes examples name what is there. Prints TAP."""
from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import tap  # noqa: E402
from lpo_case import LPO  # noqa: E402

ROOT = HERE.parent.parent
BUILD = pathlib.Path(os.environ.get("LPO_BUILD_ROOT", ROOT / "build"))
ENTER = ["unshare", "--mount", "--pid", "--fork", "--mount-proc"]


def install(tree: pathlib.Path) -> None:
    """What Meson installs of this build, in the folders of the portable tarball."""
    plan = json.loads(subprocess.run(["meson", "introspect", str(BUILD), "--installed"], check=True, text=True, stdout=subprocess.PIPE).stdout)
    for source, target in plan.items():
        parts = [p for p in pathlib.Path(target).parts if not p.endswith("-linux-gnu")]
        parts = parts[next(i for i, p in enumerate(parts) if p in ("bin", "lib", "share", "include", "libexec")):]
        to = tree.joinpath(*parts)
        if os.path.isdir(source):
            shutil.copytree(source, to, dirs_exist_ok=True)
        elif os.path.exists(source) and "man1" not in parts:  # pages are not in every build
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, to)


def cannot_enter() -> str | None:
    if subprocess.run(["which", "unshare", "chroot"], stdout=subprocess.DEVNULL).returncode:
        return "unshare or chroot is not here"
    done = subprocess.run([*ENTER, "chroot", "/", "true"], text=True, capture_output=True)
    return None if done.returncode == 0 else f"no namespaces here: {done.stderr.strip()}"


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.temp = tempfile.TemporaryDirectory(prefix="lpo-image-test-")
        cls.dir = pathlib.Path(cls.temp.name)
        install(cls.dir / "tree")
        cls.layout = cls.make("one")
        cls.rootfs = cls.dir / "rootfs"
        with tarfile.open(fileobj=io.BytesIO(cls.blob(cls.manifest()["layers"][0])), mode="r:gz") as tar:
            tar.extractall(cls.rootfs)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.temp.cleanup()

    @classmethod
    def make(cls, name: str) -> pathlib.Path:
        done = subprocess.run([str(ROOT / "scripts" / "image.py"), "--tree", str(cls.dir / "tree"), "--out", str(cls.dir / name)],
                              text=True, capture_output=True, env=os.environ | {"SOURCE_DATE_EPOCH": "1700000000"})
        if done.returncode:
            raise AssertionError(done.stderr)
        return pathlib.Path(done.stdout.strip())

    @classmethod
    def blob(cls, what: dict) -> bytes:
        data = (cls.layout / "blobs" / what["digest"].replace(":", "/")).read_bytes()
        assert what["size"] == len(data) and what["digest"] == "sha256:" + hashlib.sha256(data).hexdigest(), what
        return data

    @classmethod
    def manifest(cls) -> dict:
        index = json.loads((cls.layout / "index.json").read_text(encoding="utf-8"))
        return json.loads(cls.blob(index["manifests"][0]))

    def enter(self, *words: str, env: dict | None = None, want: int = 0) -> str:
        why = cannot_enter()
        if why:
            self.skipTest(why)
        script = 'mkdir -p "$0/proc" "$0/dev" && mount -t proc proc "$0/proc" && touch "$0/dev/null" && mount --bind /dev/null "$0/dev/null" && exec chroot "$@"'
        done = subprocess.run([*ENTER, "sh", "-c", script, str(self.rootfs), str(self.rootfs), *words], text=True, capture_output=True, timeout=400,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LPO_LIBCUDA": "/no/driver", "ASAN_OPTIONS": "detect_leaks=0"} | (env or {}))
        self.assertEqual(done.returncode, want, f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout

    def test_the_layout(self) -> None:
        self.assertEqual(json.loads((self.layout / "oci-layout").read_text(encoding="utf-8")), {"imageLayoutVersion": "1.0.0"})
        manifest = self.manifest()
        config = json.loads(self.blob(manifest["config"]))
        layer = self.blob(manifest["layers"][0])
        with tarfile.open(fileobj=io.BytesIO(layer), mode="r:gz") as tar:
            members = tar.getmembers()
        self.assertEqual(config["rootfs"]["diff_ids"], ["sha256:" + hashlib.sha256(gzip.decompress(layer)).hexdigest()])
        self.assertEqual((config["os"], config["config"]["Entrypoint"]), ("linux", ["/usr/bin/lpo"]))
        named = {d["digest"].split(":")[1] for d in (manifest["config"], *manifest["layers"])}
        index = json.loads((self.layout / "index.json").read_text(encoding="utf-8"))
        named.add(index["manifests"][0]["digest"].split(":")[1])
        self.assertEqual(set(os.listdir(self.layout / "blobs" / "sha256")), named)  # nothing that nobody names
        for m in members:
            self.assertEqual((m.uid, m.gid, m.mtime), (0, 0, 1700000000), m.name)
            self.assertFalse(m.mode & 0o6000, m.name)
            self.assertFalse(m.name.startswith(("/", "..")), m.name)
        names = [m.name for m in members]
        self.assertEqual(names, sorted(names))
        for name in names:
            if os.path.dirname(name):
                self.assertIn(os.path.dirname(name), names)

    def test_the_same_input_gives_the_same_bytes(self) -> None:
        again = self.make("two")
        self.assertEqual((again / "index.json").read_bytes(), (self.layout / "index.json").read_bytes())

    def test_the_archive_is_the_layout(self) -> None:
        with tarfile.open(str(self.layout) + ".tar") as tar:
            files = {m.name.removeprefix("./"): tar.extractfile(m).read() for m in tar.getmembers() if m.isfile()}
        self.assertEqual(files["index.json"], (self.layout / "index.json").read_bytes())
        self.assertEqual(len(files), 2 + 3)

    def test_lpo_runs_in_it(self) -> None:
        """A whole run of the built-in model, collector and all, with nothing of this machine."""
        self.assertIn("run", self.enter("/usr/bin/lpo", "-h"))
        self.enter("/usr/bin/lpo", "run", "-o", "/tmp/run", "run.repeats=1", "run.warmup=0", "infer.max_new_tokens=2", "model.layers=1")
        with open(self.rootfs / "tmp" / "run" / "run.json", encoding="utf-8") as f:
            states = {s["name"]: s["state"] for s in json.load(f)["stages"]}
        self.assertEqual((states["static_analysis"], states["direct_inference"], states["native"]), ("done",) * 3)
        self.assertIn("prefill", self.enter("/usr/bin/lpo", "report", "/tmp/run", "--json"))

    def test_a_collector_for_any_pod(self) -> None:
        """As the init container does it; then a program of this machine is recorded by the copy."""
        self.enter("/usr/bin/copy-into", "/opt/llm-perf-opt", "/tmp/volume")
        volume = self.rootfs / "tmp" / "volume"
        self.enter("/usr/bin/copy-into", "/opt/llm-perf-opt", "/tmp/volume")  # a pod that starts again
        for path in (self.dir / "tree").rglob("*"):
            copy = volume / path.relative_to(self.dir / "tree")
            self.assertTrue(copy.exists(), copy)
            if path.is_file():
                self.assertEqual((copy.read_bytes(), os.access(copy, os.X_OK)), (path.read_bytes(), os.access(path, os.X_OK)), copy)
        library = volume / "lib" / "llm-perf-opt" / "liblpo-collect.so"
        traces = self.dir / "traces"
        toy = next((self.dir / "tree").rglob("toy_llm"))
        subprocess.run([str(toy), "--repeats", "1"], check=True, stdout=subprocess.DEVNULL,
                       env=os.environ | {"CUDA_INJECTION64_PATH": str(library), "NVTX_INJECTION64_PATH": str(library), "LPO_COLLECT_DIR": str(traces)})
        made = list(traces.glob("*.lpot"))
        self.assertEqual(len(made), 1)
        self.assertIn("prefill", subprocess.run([LPO, "regions", str(made[0])], check=True, text=True, stdout=subprocess.PIPE).stdout)

    def test_copy_into_says_what_is_wrong(self) -> None:
        for words, code in (([], 2), (["/nowhere", "/tmp/x"], 1), (["/opt/llm-perf-opt", "/etc/passwd"], 1)):
            self.enter("/usr/bin/copy-into", *words, want=code)


class Examples(unittest.TestCase):
    def load(self, name: str) -> dict:
        """By lpo's own YAML reader."""
        done = subprocess.run([LPO, "config", "--config-dir", str(ROOT / "packaging" / "kubernetes"), "--config-name", name, "--json"],
                              text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_the_jobs_of_kubernetes(self) -> None:
        for name in ("job", "run", "ranks"):
            with self.subTest(name):
                pod = self.load(name)["spec"]["template"]["spec"]
                volumes = {v["name"] for v in pod["volumes"]}
                first, program = pod["initContainers"][0], pod["containers"][0]
                for c in (first, program):
                    self.assertLessEqual({m["name"] for m in c["volumeMounts"]}, volumes)
                self.assertEqual(first["command"], ["/usr/bin/copy-into", "/opt/llm-perf-opt", "/lpo"])
                paths = [e["value"] for e in program.get("env", []) if "value" in e] + program["command"]
                known = {"/lpo/lib/llm-perf-opt/liblpo-collect.so", "/lpo/bin/lpo"}
                self.assertLessEqual({p for p in paths if p.startswith("/lpo/")}, known)
                self.assertTrue({p for p in paths if p.startswith("/lpo/")})

    def test_the_ranks_of_kubernetes_find_each_other(self) -> None:
        job, service = self.load("ranks"), self.load("ranks-service")
        spec, name = job["spec"]["template"]["spec"], service["metadata"]["name"]
        words = spec["containers"][0]["command"]
        self.assertEqual((spec["subdomain"], service["spec"]["selector"]), (name, job["spec"]["template"]["metadata"]["labels"]))
        self.assertIn(f"--master-addr={job['metadata']['name']}-0.{name}", words)
        self.assertIn(f"--nnodes={job['spec']['completions']}", words)
        self.assertEqual(job["spec"]["completions"], job["spec"]["parallelism"])
        self.assertIn("LPO_JOB_ID", [e["name"] for e in spec["containers"][0]["env"]])

    def test_the_variables_are_those_of_the_collector(self) -> None:
        page = (ROOT / "docs" / "collector.md").read_text(encoding="utf-8")
        for e in self.load("job")["spec"]["template"]["spec"]["containers"][0]["env"]:
            self.assertIn(e["name"], page)

    def test_the_tarball_has_the_name_that_the_dockerfile_adds(self) -> None:
        version = (ROOT / "scripts" / "dist.sh").read_text(encoding="utf-8")
        self.assertIn("name=llm-perf-opt-$version-linux-$(uname -m)", version)


class Dockerfile(unittest.TestCase):
    """Its lines, carried out one by one: no docker here, and no registry to take its base from. The base is a root file system of the
    programs that the lines and copy-into call, and of the libraries that lpo is linked with in this build."""

    TOOLS = ("sh", "mv", "ln", "cp", "mkdir", "chmod", "rm", "cat", "ls", "find", "dirname")

    def setUp(self) -> None:
        why = cannot_enter()
        if why:
            self.skipTest(why)
        self.temp = tempfile.TemporaryDirectory(prefix="lpo-dockerfile-test-")
        self.addCleanup(self.temp.cleanup)
        self.context, self.rootfs = pathlib.Path(self.temp.name) / "context", pathlib.Path(self.temp.name) / "rootfs"
        self.state: dict = {"WORKDIR": "/", "ENTRYPOINT": [], "CMD": []}

    def base(self, lpo: pathlib.Path) -> None:
        for name in ("bin", "lib", "lib64"):
            (self.rootfs / "usr" / name).mkdir(parents=True)
            (self.rootfs / name).symlink_to(f"usr/{name}")
        for name in ("opt", "tmp", "proc", "dev", "etc"):
            (self.rootfs / name).mkdir()
        programs = [os.path.realpath(shutil.which(name) or f"/bin/{name}") for name in self.TOOLS]
        for name, path in zip(self.TOOLS, programs):
            shutil.copy(path, self.rootfs / "usr" / "bin" / name)
        collector = next((lpo.parent.parent / "lib").rglob("liblpo-collect.so"))
        toy = next(lpo.parent.parent.rglob("toy_llm"))
        for path in [*programs, str(lpo), str(collector), str(toy)]:
            for word in subprocess.run(["ldd", path], text=True, stdout=subprocess.PIPE).stdout.split():
                if word.startswith("/") and os.path.exists(word):
                    to = self.rootfs / word.lstrip("/")
                    to.parent.mkdir(parents=True, exist_ok=True)
                    if not to.exists():
                        shutil.copy(os.path.realpath(word), to)

    def enter(self, *words: str) -> str:
        script = 'mount -t proc proc "$0/proc" && touch "$0/dev/null" && mount --bind /dev/null "$0/dev/null" && cd "$0" && exec chroot "$@"'
        inside = ["sh", "-c", 'cd "$0" && exec "$@"', self.state["WORKDIR"], *words]
        done = subprocess.run([*ENTER, "sh", "-c", script, str(self.rootfs), str(self.rootfs), *inside], text=True, capture_output=True, timeout=400,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LPO_LIBCUDA": "/no/driver", "ASAN_OPTIONS": "detect_leaks=0"})
        self.assertEqual(done.returncode, 0, f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout

    def inside(self, path: str) -> pathlib.Path:
        return self.rootfs / os.path.join(self.state["WORKDIR"], path).lstrip("/")

    def step(self, name: str, rest: str) -> None:
        if name == "FROM":
            self.assertRegex(rest, r"^debian:12(-slim)?$")
        elif name == "RUN":
            self.enter("sh", "-c", rest)
        elif name == "WORKDIR":
            self.state["WORKDIR"] = rest
            self.inside(".").mkdir(parents=True, exist_ok=True)
        elif name in ("ENTRYPOINT", "CMD"):
            self.state[name] = json.loads(rest)
        elif name in ("COPY", "ADD"):
            pattern, to = rest.split()
            sources = sorted(self.context.glob(pattern))
            self.assertEqual(len(sources), 1, f"{pattern} is {sources} in the folder that docker is given")
            if name == "ADD":  # a packed file of this machine is unpacked
                with tarfile.open(sources[0]) as tar:
                    tar.extractall(self.inside(to))
            else:
                shutil.copy(sources[0], self.inside(to))  # with its mode
        else:
            self.fail(f"{name} {rest}: the test does not know this instruction")

    def test_its_lines_make_an_image_that_runs(self) -> None:
        tree = self.context / "tree" / "llm-perf-opt-0.2.0-linux-x86_64"
        install(tree)
        (self.context / "dist").mkdir()
        with tarfile.open(self.context / "dist" / f"{tree.name}.tar.gz", "w:gz", compresslevel=1) as tar:
            tar.add(tree, arcname=tree.name)
        shutil.copytree(ROOT / "packaging" / "image", self.context / "packaging" / "image")
        self.base(tree / "bin" / "lpo")
        text = (ROOT / "packaging" / "image" / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
        for line in text.splitlines():
            if line.strip() and not line.startswith("#"):
                name, _, rest = line.strip().partition(" ")
                self.step(name, rest.strip())
        self.assertIn("usage: lpo", self.enter(*self.state["ENTRYPOINT"], *self.state["CMD"]))  # as docker starts it without words
        self.enter(*self.state["ENTRYPOINT"], "run", "-o", "/tmp/run", "run.repeats=1", "run.warmup=0", "infer.max_new_tokens=2", "model.layers=1")
        states = {s["name"]: s["state"] for s in json.loads((self.rootfs / "tmp" / "run" / "run.json").read_text(encoding="utf-8"))["stages"]}
        self.assertEqual((states["direct_inference"], states["native"]), ("done", "done"))
        self.enter("/usr/bin/copy-into", "/opt/llm-perf-opt", "/tmp/volume")
        self.assertTrue((self.rootfs / "tmp" / "volume" / "lib" / "llm-perf-opt" / "liblpo-collect.so").exists())


if __name__ == "__main__":
    if not shutil.which("cc") or not shutil.which("meson"):
        tap.skip_all("a compiler and Meson are needed to make the image")
    tap.main()
