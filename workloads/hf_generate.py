#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a Hugging Face model for lpo: explicit prefill, token-by-token decode, ranges, metrics.

    hf_generate.py --settings FILE [--metrics FILE] [--predictions FILE]

Settings are the JSON that `lpo run` writes (docs/workloads.md). Nothing is ever downloaded. Exit: 0
when at least one sample was measured, 1 when none could be, 2 for wrong settings, model or data,
3 without torch, transformers or the device. A sample that fails is one line on stderr.
"""
from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from dataclasses import asdict
from typing import Any, Optional

from lpo_hf import metrics, ocr, ranges, samples, settings
from lpo_hf.decode import Decoder
from lpo_hf.errors import EXIT_FAILED, EXIT_MISSING, UserError, memory_ran_out, one_line
from lpo_hf.inputs import Batch, Encoder
from lpo_hf.model import Loaded, choose, load, pick_device, start_device
from lpo_hf.ocr_inputs import PageEncoder


class Session:
    """One run of the program: its measurements and its failures."""

    def __init__(self, given: settings.Settings) -> None:
        self.given = given
        self.torch = _module("torch")
        own = ocr.own_config(given)
        self.transformers = _module("transformers") if own is None else None
        self.runs: list[metrics.Measurement] = []
        self.failures: list[dict[str, str]] = []
        self.predictions: list[dict[str, Any]] = []
        device = pick_device(self.torch, given.device)
        chosen = choose(self.transformers, given) if own is None else ocr.choose(own)
        start_device(self.torch, device)
        self.ranges = ranges.Ranges(self.torch, given.ranges != "none", given.record_function)
        with self.ranges.span("load"):
            self.loaded = load(self.torch, self.transformers, given, chosen, device)
        self._shape_model()
        pages = ocr.is_ocr(self.loaded.config.to_dict())
        self.encoder = (PageEncoder if pages else Encoder)(self.torch, self.loaded, given)
        self.decoder = Decoder(self.torch, self.transformers, self.loaded, given, self.ranges)
        self.warmed: set[Any] = set()

    def _shape_model(self) -> None:
        """Hooks, or compilation, which would trace into hooks; never both."""
        if not self.given.compile:
            ranges.attach(self.loaded.model, self.ranges, self.given.ranges)
            return
        if not hasattr(self.torch, "compile"):
            raise UserError(f"workload.hf.compile needs torch 2; this is {self.torch.__version__}", EXIT_MISSING)
        if self.given.ranges in ("layers", "modules"):
            self.loaded.notes.append("compile: a compiled model has no ranges inside prefill and step")
        self.loaded.model.forward = self.torch.compile(self.loaded.model.forward)

    def failed(self, name: str, why: str) -> None:
        self.failures.append({"sample": name, "error": why})
        print(f"hf_generate: sample '{name}': {why}", file=sys.stderr, flush=True)

    def run_all(self) -> None:
        for group in samples.batches(samples.choose(self.given.dataset), self.given.batch_size):
            name = group[0].name
            try:
                batch = self.encoder.encode(group, self.failed)
                if batch is not None:
                    name = batch.name
                    self._run(batch)
            except UserError:
                raise
            except Exception as error:  # one bad sample does not end the run
                self.failed(name, self._why(error))
                if self.torch.cuda.is_available():
                    self.torch.cuda.empty_cache()

    def _why(self, error: Exception) -> str:
        if memory_ran_out(error):
            return f"out of memory on {self.given.device}; lower infer.batch_size or infer.prompt_tokens"
        return one_line(error)

    def _run(self, batch: Batch) -> None:
        if batch.shape not in self.warmed:
            self._warm_up(batch)
        for repeat in range(self.given.repeats):
            run, tokens = self.decoder.run(batch, repeat)
            self.runs.append(run)
            if repeat == 0 and tokens is not None:
                self._keep(batch, tokens)
        self._tell(batch)

    def _warm_up(self, batch: Batch) -> None:
        """Once per shape: kernels are chosen, graphs captured, caches filled before the clock runs."""
        with self.ranges.span("warmup"), self.ranges.switched(False):
            self.decoder.prepare(batch)
            for _ in range(self.given.warmup):
                self.decoder.run(batch, 0)
        self.warmed.add(batch.shape)

    def _keep(self, batch: Batch, tokens: Any) -> None:
        prompts = batch.ids.tolist()
        for row, made in enumerate(tokens.tolist()):
            name = batch.names[row] if len(batch.names) == batch.size else batch.names[0]
            text = self.loaded.tokenizer.decode(made) if self.loaded.tokenizer is not None else None
            self.predictions.append({"sample": name, "sequence": row, "prompt_tokens": prompts[row],
                                     "tokens": made, "text": text})

    def _tell(self, batch: Batch) -> None:
        run = self.runs[-1]
        line = f"{batch.name}: prefill {run.prefill_ms:.2f} ms"
        if run.decode_ms is not None and run.tokens_per_s is not None:
            line += (f"; {len(run.inter_token_ms)} more tokens: decode {run.decode_ms:.2f} ms, "
                     f"{run.tokens_per_s:.1f} tokens/s")
        print(line, flush=True)


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except Exception as error:  # a broken installation raises anything
        raise UserError(f"{sys.executable} cannot import {name}: {one_line(error)}; set workload.python to an "
                        f"interpreter that has it", EXIT_MISSING) from error


def _plain(given: settings.Settings) -> dict[str, Any]:
    return json.loads(json.dumps(asdict(given), default=str))


def _write(session: Session, args: argparse.Namespace) -> None:
    loaded: Loaded = session.loaded
    if args.metrics:
        metrics.write_json(args.metrics, metrics.document(
            loaded.facts, _plain(session.given), loaded.load_ms, session.runs, session.failures, loaded.notes))
    if args.predictions:
        lines = [json.dumps(line) + "\n" for line in session.predictions]
        metrics.write_text(args.predictions, "".join(lines))


def run(argv: Optional[list[str]] = None) -> int:
    """The program; returns its exit code."""
    parser = argparse.ArgumentParser(prog="hf_generate.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--settings", required=True, help="JSON file with the composed config")
    parser.add_argument("--metrics", help="where to write the timings")
    parser.add_argument("--predictions", help="where to write the tokens, JSON lines")
    args = parser.parse_args(argv)
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TRANSFORMERS_OFFLINE"] = "1"
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        session = Session(settings.load(args.settings))
        session.run_all()
        _write(session, args)
    except UserError as error:
        print(f"hf_generate: {error}", file=sys.stderr)
        return error.code
    except OSError as error:
        print(f"hf_generate: {one_line(error)}", file=sys.stderr)
        return EXIT_FAILED
    for note in session.loaded.notes:
        print(f"hf_generate: note: {note}", file=sys.stderr)
    if not session.runs:
        print("hf_generate: no sample could be measured", file=sys.stderr)
        return EXIT_FAILED
    return 0


if __name__ == "__main__":
    sys.exit(run())
