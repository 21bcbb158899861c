# SPDX-License-Identifier: Apache-2.0
"""A Slurm of two nodes on this machine, for as long as a test runs: munged, slurmctld and two slurmd, all in one scratch folder.

    with Cluster() as c:
        subprocess.run(["sbatch", …], env=os.environ | c.env)

`missing()` says why it cannot be had here."""
from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol", "sinfo")
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
CONF = """
ClusterName=lpotest
SlurmctldHost={host}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={dir}/munge.socket,cred_expire=15
SlurmctldPort={ports[0]}
StateSaveLocation={dir}/state
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd-%n.pid
SlurmdSpoolDir={dir}/spool-%n
SlurmctldLogFile={dir}/slurmctld.log
SlurmdLogFile={dir}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=1
SlurmdParameters=config_overrides
JobCompType=jobcomp/none
MpiDefault=none
ReturnToService=2
MinJobAge=300
KillWait=10
InactiveLimit=0
NodeName=lpo1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs={cpus}
NodeName=lpo2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs={cpus}
PartitionName=gpu Nodes=lpo1,lpo2 Default=YES MaxTime=INFINITE State=UP
PartitionName=off Nodes=lpo1 Default=NO MaxTime=1 State=DOWN
"""


def missing() -> str | None:
    for program in NEEDED:
        if not shutil.which(program, path=PATH):
            return f"{program} is not installed (Debian: slurm-wlm, munge)"
    if os.geteuid() != 0:
        return "slurmd wants to be root"
    return None


def free_ports(count: int) -> list[int]:
    taken = [socket.socket() for _ in range(count)]
    try:
        for s in taken:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in taken]
    finally:
        for s in taken:
            s.close()


class Cluster:
    def __init__(self) -> None:
        self.dir = tempfile.mkdtemp(prefix="lpo-slurm-")
        os.chmod(self.dir, 0o755)  # munged looks at every folder above its socket
        self.daemons: list[subprocess.Popen] = []
        self.env = {"PATH": PATH, "SLURM_CONF": os.path.join(self.dir, "slurm.conf")}

    def start(self, *argv: str) -> None:
        log = open(os.path.join(self.dir, f"{argv[0]}-{len(self.daemons)}.out"), "wb")
        self.daemons.append(subprocess.Popen(argv, env=os.environ | self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                             start_new_session=True))

    def wait_for(self, what: str, ready, seconds: float = 180) -> None:
        end = time.monotonic() + seconds
        while not ready():
            if time.monotonic() > end:
                raise RuntimeError(f"{what} within {seconds} s: {self.logs()}")
            time.sleep(0.2)

    def logs(self) -> str:
        text = ""
        for name in sorted(os.listdir(self.dir)):
            if name.endswith((".log", ".out")):
                with open(os.path.join(self.dir, name), encoding="utf-8", errors="replace") as f:
                    text += f"\n--- {name}\n" + f.read()[-1500:]
        return text

    def say(self, *argv: str) -> str:
        return subprocess.run(argv, env=os.environ | self.env, text=True, capture_output=True, timeout=120).stdout

    def __enter__(self) -> Cluster:
        try:
            return self.up()
        except BaseException:
            self.__exit__()
            raise

    def up(self) -> Cluster:
        key = os.path.join(self.dir, "munge.key")
        with open(key, "wb") as f:
            f.write(os.urandom(128))
        os.chmod(key, 0o400)
        for folder in ("state", "spool-lpo1", "spool-lpo2"):
            os.mkdir(os.path.join(self.dir, folder))
        host = socket.gethostname().split(".")[0]
        with open(self.env["SLURM_CONF"], "w", encoding="utf-8") as f:
            f.write(CONF.format(dir=self.dir, host=host, user=getpass.getuser(), ports=free_ports(3), cpus=os.cpu_count()))
        path = self.dir
        self.start("munged", "--foreground", f"--key-file={key}", f"--socket={path}/munge.socket", f"--pid-file={path}/munged.pid",
                   f"--log-file={path}/munged.log", f"--seed-file={path}/munged.seed", "--force")
        self.wait_for("munged did not make its socket", lambda: os.path.exists(os.path.join(path, "munge.socket")))
        self.start("slurmctld", "-D", "-f", self.env["SLURM_CONF"])
        for node in ("lpo1", "lpo2"):
            self.start("slurmd", "-D", "-N", node, "-f", self.env["SLURM_CONF"])
        self.wait_for("the nodes did not become idle", lambda: self.say("sinfo", "-h", "-N", "-p", "gpu", "-o", "%T").split() == ["idle", "idle"])
        return self

    def stop_controller(self) -> None:
        self.daemons[1].terminate()
        self.daemons[1].wait(timeout=30)

    def start_controller(self) -> None:
        self.start("slurmctld", "-D", "-f", self.env["SLURM_CONF"])
        self.daemons[1] = self.daemons.pop()
        self.wait_for("the controller does not answer", lambda: "gpu" in self.say("sinfo", "-h", "-o", "%P"))

    def __exit__(self, *_) -> None:
        self.say("scancel", "-u", getpass.getuser())
        for daemon in reversed(self.daemons):
            if daemon.poll() is None:
                daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(timeout=15)
            except subprocess.TimeoutExpired:
                os.killpg(daemon.pid, signal.SIGKILL)
                daemon.wait()
        shutil.rmtree(self.dir, ignore_errors=True)
