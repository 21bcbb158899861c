# SPDX-License-Identifier: Apache-2.0
"""Traces, run folders and comparisons as Python objects."""
from __future__ import annotations

import html
import io
import json
import os
import tempfile
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Union

from ._program import OK, REGRESSION, STAGE_FAILED, ask, call

Row = Dict[str, Any]
Path = Union[str, "os.PathLike[str]"]


class Rows(List[Row]):
    """Rows of a table: a list of dictionaries with the same keys. Unknown values are None."""

    def frame(self) -> Any:
        """The same as a ``pandas.DataFrame``.

        Raises
        ------
        ImportError
            pandas is not installed; everything else works without it.
        """
        import pandas

        return pandas.DataFrame(list(self))

    def _repr_html_(self) -> str:
        keys = list(self[0]) if self else []
        head = "".join(f"<th>{html.escape(str(k))}</th>" for k in keys)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(_shown(r.get(k)))}</td>" for k in keys) + "</tr>"
                       for r in self[:50])
        more = f"<p>{len(self) - 50} more rows</p>" if len(self) > 50 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _shown(value: Any) -> str:
    if value is None:
        return "n/a"
    if isinstance(value, float):
        return f"{value:.4g}"
    text = str(value)
    return text if len(text) <= 120 else text[:117] + "…"


def _words(paths: Iterable[Path]) -> List[str]:
    return [os.fspath(p) for p in paths]


class Report:
    """What lpo says of a run folder, or of traces that belong together.

    Nothing is read before it is asked for; every answer is kept.

    Parameters
    ----------
    paths : sequence of path
        A run folder, or one or several files.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = _words(paths)
        self._answers: Dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"lpo.open({', '.join(map(repr, self.paths))})"

    def _ask(self, *words: str) -> Any:
        key = "\0".join(words)
        if key not in self._answers:
            self._answers[key] = ask([words[0], *self.paths, "--json", *words[1:]])
        return self._answers[key]

    @property
    def json(self) -> Dict[str, Any]:
        """Everything in report.json (docs/report-json.md)."""
        answer: Dict[str, Any] = self._ask("report")
        return answer

    @property
    def findings(self) -> Rows:
        """What to do first, the largest saving of wall time first."""
        return Rows(self.json.get("findings") or [])

    @property
    def ladder(self) -> Rows:
        """From the measured time down to what the hardware allows, one change at a time."""
        return Rows((self.json.get("ladder") or {}).get("rungs") or [])

    @property
    def wall(self) -> Rows:
        """Where the wall time of each GPU went."""
        return Rows(self.json.get("wall") or [])

    def regions(self, scope: str = "aggregate") -> Rows:
        """The region table of a scope: "aggregate", "process:<pid>", "device:<id>" or "rank:<n>"."""
        scopes: List[Mapping[str, Any]] = self._ask("regions")["scopes"]
        for s in scopes:
            if s["scope"] == scope or len(scopes) == 1:
                return Rows(s["regions"])
        raise KeyError(f"{scope}: this trace has {', '.join(s['scope'] for s in scopes)}")

    def kernels(self) -> Rows:
        """Kernels by GPU time."""
        return Rows(self._ask("top")["kernels"])

    def operators(self) -> Rows:
        """Operators of the framework by name and shape, by GPU time."""
        return Rows(self._ask("operators")["operators"])

    def sql(self, query: str) -> Rows:
        """Rows of a query over all events and results; ``lpo sql FILE --tables`` lists the tables."""
        return Rows(ask(["sql", *self.paths, "--json", query]))

    def save(self, folder: Path, fmt: Optional[str] = None) -> str:
        """Writes every report into a folder and returns the path of the page (or of report.<fmt>)."""
        out = os.fspath(folder)
        call(["report", *self.paths, "-o", out])
        return os.path.join(out, f"report.{fmt or 'html'}")

    def page(self) -> str:
        """The page, report.html, as text."""
        with tempfile.TemporaryDirectory(prefix="lpo-") as folder:
            with io.open(self.save(folder), encoding="utf-8") as f:
                return f.read()

    def _repr_html_(self) -> str:
        page = html.escape(self.page(), quote=True)
        return f'<iframe srcdoc="{page}" sandbox="allow-scripts" style="width:100%;height:640px;border:0"></iframe>'


class Diff:
    """What changed between two runs or traces.

    Attributes
    ----------
    json : dict
        What ``lpo diff --json`` prints (docs/diff.md).
    regressed : bool
        There is a significant regression beyond the limit.
    """

    def __init__(self, answer: Dict[str, Any], regressed: bool) -> None:
        self.json = answer
        self.regressed = regressed

    @property
    def regions(self) -> Rows:
        """Regions, the largest change first."""
        return Rows(self.json.get("regions") or [])

    @property
    def kernels(self) -> Rows:
        """Kernels, the largest change first."""
        return Rows(self.json.get("kernels") or [])

    @property
    def wall(self) -> Dict[str, Any]:
        """Wall time on both sides, and the parts that the change is made of."""
        return dict(self.json.get("wall") or {})


def open(*paths: Path) -> Report:
    """A run folder, or one or several traces of any tool that lpo reads.

    Parameters
    ----------
    *paths : path
        A run folder; or files: traces of PyTorch, Nsight Systems, Nsight Compute, JAX, lpo's own.

    Returns
    -------
    Report

    Raises
    ------
    FileNotFoundError
        One of them is not there.

    Examples
    --------
    >>> import lpo
    >>> lpo.open("trace.json.gz").findings[0]["title"]     # doctest: +SKIP
    """
    if not paths:
        raise TypeError("lpo.open() needs a run folder or a trace")
    for path in paths:
        if not os.path.exists(path):
            raise FileNotFoundError(f"{os.fspath(path)}: no such file or folder")
    return Report(paths)


def diff(before: Union[Path, Sequence[Path]], after: Union[Path, Sequence[Path]],
         fail_over: Optional[str] = None) -> Diff:
    """What changed from one run (or several repeats of it) to another.

    Parameters
    ----------
    before, after : path or sequence of path
    fail_over : str, optional
        "3%": a significant regression beyond it sets ``regressed``.
    """
    def side(x: Union[Path, Sequence[Path]]) -> List[str]:
        return [os.fspath(x)] if isinstance(x, (str, os.PathLike)) else _words(x)

    limit = ["--fail-over", fail_over] if fail_over else []
    text, code = call(["diff", *limit, "--json", *side(before), "--", *side(after)], (OK, REGRESSION))
    return Diff(json.loads(text), code == REGRESSION)


def run(overrides: Sequence[str] = (), program: Sequence[str] = (), cwd: Optional[Path] = None,
        output: Optional[Path] = None) -> Report:
    """Profiles a workload: ``lpo run OVERRIDE… [-- PROGRAM…]``.

    Parameters
    ----------
    overrides : sequence of str
        As on the command line: ``["pipeline.ncu.enable=true"]``.
    program : sequence of str
        The program and its arguments; without them the workload that the config names.
    cwd : path, optional
        Where lpo is called.
    output : path, optional
        The run folder; else a temporary one, which stays.

    Returns
    -------
    Report
        Of the run folder, also where a stage failed (``report.json["stages"]`` says which).
    """
    folder = os.path.abspath(os.fspath(output)) if output is not None else tempfile.mkdtemp(prefix="lpo-run-")
    words = ["run", *overrides, f"hydra.run.dir={folder}", *(["--", *program] if program else [])]
    call(words, (OK, STAGE_FAILED), None if cwd is None else os.fspath(cwd))
    return Report([folder])
