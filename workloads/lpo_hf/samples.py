# SPDX-License-Identifier: Apache-2.0
"""Which samples are run, in which order: the same in every stage."""
from __future__ import annotations

import glob
import json
import os
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from .errors import UserError
from .settings import Dataset

IMAGES = {".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff", ".gif"}


@dataclass(frozen=True)
class Sample:
    """One input. A synthetic one has no path; its index makes its content."""

    name: str
    index: int
    path: Optional[Path] = None

    @property
    def is_image(self) -> bool:
        return self.path is not None and self.path.suffix.lower() in IMAGES


def _found(root: Path, line: str) -> Path:
    """A list may have been written on another machine: the end of such a path is looked for under root."""
    path = root / line
    if not path.is_absolute() or path.exists():
        return path
    parts = Path(line).parts[1:]
    ends = (root.joinpath(*parts[at:]) for at in range(len(parts)))
    return next((end for end in ends if end.exists()), path)


def _listed(dataset: Dataset) -> list[Path]:
    assert dataset.filelist is not None
    try:
        text = dataset.filelist.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read the file list '{dataset.filelist}': {error}") from error
    lines = [line.strip() for line in text.splitlines()]
    root = dataset.root or dataset.filelist.parent
    paths = [_found(root, line) for line in lines if line and not line.startswith("#")]
    if not paths:
        raise UserError(f"the file list '{dataset.filelist}' lists no sample")
    return paths


def _matched(root: Path, patterns: tuple[str, ...]) -> list[Path]:
    if not root.is_dir():
        raise UserError(f"dataset.root '{root}' is not a folder")
    found = {match for p in patterns for match in glob.glob(os.path.join(glob.escape(str(root)), p), recursive=True)}
    paths = sorted(Path(match) for match in found if os.path.isfile(match))
    if not paths:
        raise UserError(f"no file under '{root}' matches {', '.join(patterns) or 'any pattern (there is none)'}")
    return paths


def _annotated(dataset: Dataset) -> list[Path]:
    """The pages that OmniDocBench's list names, in its order; none where the folder has no such list."""
    if dataset.root is None or not dataset.annotations:
        return []
    path = dataset.root / dataset.annotations
    if not path.is_file():
        return []
    try:
        pages = json.loads(path.read_text(encoding="utf-8"))
        names = [str(page["page_info"]["image_path"]) for page in pages]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"'{path}' is not a list of pages with page_info.image_path: {error}") from error
    root = dataset.root
    return [root / name if (root / name).is_file() else root / "images" / name for name in names]


def _named(path: Path, root: Optional[Path], index: int) -> Sample:
    try:
        name = str(path.relative_to(root)) if root else path.name
    except ValueError:
        name = str(path)
    return Sample(name, index, path)


def choose(dataset: Dataset) -> list[Sample]:
    """All epochs in order, each shuffled separately if wanted and cut to its number of samples."""
    if dataset.filelist:
        pool: list[Path] = _listed(dataset)
    elif dataset.root:
        pool = _annotated(dataset) or _matched(dataset.root, dataset.patterns)
    else:
        count = dataset.epochs * (dataset.per_epoch or 1)
        return [Sample(f"synthetic-{i}", i) for i in range(count)]
    chosen: list[Path] = []
    for epoch in range(dataset.epochs):
        order = list(pool)
        if dataset.randomize:
            random.Random(dataset.seed + epoch).shuffle(order)
        chosen += order[: dataset.per_epoch]
    return [_named(path, dataset.root, i) for i, path in enumerate(chosen)]


def batches(samples: list[Sample], size: int) -> list[list[Sample]]:
    """Groups of `size` neighbours of one kind. A synthetic sample is a whole batch by itself."""
    groups: list[list[Sample]] = []
    for sample in samples:
        last = groups[-1] if groups else None
        if sample.path is None or last is None or len(last) == size or last[0].is_image != sample.is_image:
            groups.append([sample])
        else:
            last.append(sample)
    return groups
