#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stakeholder_summary.md and findings of real traces: sentences that were wrong about one of them. Prints TAP."""
from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import sys
import tempfile

SOURCE = os.environ.get("LPO_SOURCE_ROOT", os.getcwd())
sys.path.insert(0, os.path.join(SOURCE, "tests"))
sys.dont_write_bytecode = True
import tap  # noqa: E402
from summary_case import Summary  # noqa: E402


def shared(name: str) -> str:
    return os.path.join(SOURCE, "..", "shared", "data", "traces", name)


class RealTraces(Summary):
    """Sentences that were wrong about traces of public projects."""
    made: dict[str, str] = {}  # a trace: its run folder with the reports

    @classmethod
    def setUpClass(cls) -> None:
        cls.all_made = tempfile.TemporaryDirectory(prefix="lpo-test-")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.all_made.cleanup()

    def of_shared(self, name: str) -> str:
        if not os.path.exists(shared(name)):
            self.skipTest(f"{name} is not here")
        return self.of_file(shared(name))

    def of_file(self, path: str) -> str:
        """Reports of a trace alone in its run folder are made once, for all tests that read them."""
        kept, fresh = self.made.get(path), not os.path.exists(self.run_dir)
        if kept:
            shutil.copytree(kept, self.run_dir, dirs_exist_ok=True)
            self.report_md, text = self.text("report.md"), self.text("stakeholder_summary.md")
        else:
            self.put_trace(path)
            text = self.report()
        if fresh and not kept:
            self.made[path] = os.path.join(self.all_made.name, str(len(self.made)))
            shutil.copytree(self.run_dir, self.made[path])
        self.found = json.loads(self.text("report.json"))
        return text

    def put_trace(self, path: str) -> None:
        if path.endswith(".json.gz"):
            os.makedirs(os.path.join(self.run_dir, "torch_profiler"))
            shutil.copy(path, os.path.join(self.run_dir, "torch_profiler", "trace.json.gz"))
        else:
            os.makedirs(os.path.join(self.run_dir, "nsys"))
            with gzip.open(path) as f, open(os.path.join(self.run_dir, "nsys", "run.sqlite"), "wb") as to:
                shutil.copyfileobj(f, to)

    def test_an_idle_copy_stream_is_not_the_hosts_fault(self) -> None:
        """Gaps of five streams add up to more than the GPU was idle: none of that is in the summary."""
        text = self.of_shared("kineto/a100_train_rank3_of8.json.gz")
        wall, = self.found["wall"]
        streams = sum(g["ns"] for d in self.found["devices"] for g in d["gaps"].values())
        self.assertGreater(streams, wall["idle_ns"])
        host = sum(f["saving_ns"] for f in self.found["findings"] if f["id"] in ("launch-bound", "host-work", "first-calls"))
        self.assertLessEqual(host, wall["idle"]["host_ns"])
        self.assertLess(wall["idle"]["host_ns"] - host, 0.02 * wall["span_ns"])
        self.assertAlmostEqual(self.fact(r"up to 200 us: at most (\S+ \S+) ", text), 39941000, delta=1e4)
        self.assertIn("\"At most\" is time that was measured, or less where a simulation of the trace says so;", text)
        self.assertIn("40 % of the time of all kernels (176.8 ms) lies outside every marked part; 100 % of it was launched by threads "
                      "without marks, as PyTorch's backward pass is, while one other thread was in \"ProfilerStep#\\*\".", text)

    def test_a_call_that_blocks_needs_no_cuda_graphs(self) -> None:
        text = self.of_shared("kineto/mi300_sglang_qwen3-8b_decode_graph.json.gz")
        self.assertNotIn("CUDA graphs", text)
        self.assertNotIn("too late", text)
        self.assertIn("1. The GPU is idle while the host waits in hipMemcpyWithStream: at most 463.3 ms (97.8 %) could be saved.", text)
        self.assertIn("cuda_graph_runner.py(276): populate_from_forward_batch", self.report_md)

    def test_a_call_that_waits_as_the_gpu_does(self) -> None:
        """The kernel that ends the gap was launched 238 us before the call began: to wait later would save nothing."""
        self.of_shared("kineto/mi300_sglang_qwen3-8b_decode_graph.json.gz")
        first = self.found["findings"][0]
        self.assertIn("for nearly all of it the next work had been launched before that call began", [e["text"] for e in first["evidence"]])
        self.assertIn("The call waits for the same thing as the GPU, and that is not in this trace", first["advice"])
        self.assertNotIn("Wait later", first["advice"])

    def test_no_stream_is_busy_while_a_gpu_is_idle(self) -> None:
        """654 gaps of 477 us on average, of work that had been launched: what they wait for was not recorded."""
        text = self.of_shared("kineto/sampled_rank0_of128.json.gz")
        for page in text, self.report_md:
            self.assertIn("it waited for something that is not in this trace, such as work of another GPU or process, or records are missing",
                          " ".join(page.split()))
        self.assertNotIn("waited for another stream", self.report_md)

    def test_a_host_that_is_slow_as_a_whole(self) -> None:
        """603 long gaps, 239 of 341 ms in operators that launch: there is no single thing to move to another thread."""
        self.of_shared("kineto/a100_nccl_rank0_of2.json.gz")
        first = self.found["findings"][0]
        self.assertEqual(first["id"], "host-work")
        self.assertIn("for 239.3 ms of it the host was in operators of the framework", [e["text"] for e in first["evidence"]])
        self.assertIn("The host launches more slowly than the GPU works", first["advice"])

    def test_communication_of_a_program_that_waits_for_its_host(self) -> None:
        """Nothing of 357 ms of exposed communication is on the critical path: the host is, from beginning to end."""
        text = self.of_shared("kineto/v100_ddp_rank1_of2.json.gz")
        self.assertNotIn("exposed-communication", [f["id"] for f in self.found["findings"]])
        self.assertEqual([r.split()[0] for r in self.found["remarks"]], ["Communication", "Faster"])
        for page in text, self.report_md:
            self.assertIn("Communication runs alone for 357.3 ms (20.6 %), but without that the program would not end sooner, by a simulation "
                          "of the trace: it would wait for its host instead.", " ".join(page.split()))
        self.assertEqual(self.found["wall"][0]["exposed_communication_ns"], 357343000)  # by its definition
        self.assertIn("Faster kernels would save nothing of 620.5 ms of computing: the program would wait for its host instead.",
                      " ".join(self.report_md.split()))

    def test_an_all_reduce_for_each_gradient(self) -> None:
        """404 all-reduces in a step, one behind the other, and nothing was said of them."""
        text = self.of_shared("kineto/v100_ddp_rank1_of2.json.gz")
        found = next(f for f in self.found["findings"] if f["id"] == "small-collectives")
        self.assertEqual(found["saving_ns"], 239736000)
        self.assertEqual([e["text"] for e in found["evidence"]][:4],
                         ["small collectives one after another: 2,020", "in a step: 404", "half of them take 11 us or less",
                          "from the first to the last of a row 625.5 ms pass in all"])
        self.assertIn("bucket_cap_mb", found["advice"])
        self.assertIn("A step has 404 small collectives one after another. Merge them", text)
        late = sum(f["saving_ns"] for f in self.found["findings"] if f["id"] in ("launch-bound", "host-work"))
        self.assertEqual(late + found["saving_ns"], self.found["wall"][0]["idle"]["host_ns"])

    def test_a_number_is_said_once(self) -> None:
        """All communication is one kernel, and nothing of it is hidden: 17.17 ms stood there four times."""
        text = self.of_shared("nsys/h100_2gpu_fastvideo_train_before.sqlite.gz")
        found = next(f for f in self.found["findings"] if f["id"] == "exposed-communication")
        self.assertEqual([e["text"] for e in found["evidence"]][:2], ["all of it is ncclDevKernel_SendRecv", "none of it is hidden"])
        self.assertEqual(self.report_md.split("## What ran")[0].count("17.17 ms"), 1)
        fused = next(f for f in self.found["findings"] if f["id"] == "unfused-kernels")
        self.assertIn("these kernels would take 35.04 ms less, but a simulation of the trace with that ends only 19.16 ms sooner: the program "
                      "waits for other things too", [e["text"] for e in fused["evidence"]])
        self.assertIn("\"About\" is an estimate, by a simulation of the trace with shorter kernels.", text)

    def test_compiled_graphs_that_fuse_nothing(self) -> None:
        """CompiledFunction ran every operator by its own kernel: torch.compile with its own backend is not used."""
        self.of_shared("kineto/v100_ddp_rank1_of2.json.gz")
        first = self.found["findings"][0]
        self.assertEqual(first["id"], "launch-bound")
        self.assertIn("compiled graphs of PyTorch ran, but no kernel that a compiler fused", [e["text"] for e in first["evidence"]])
        self.assertIn("inductor", first["advice"])

    def test_a_part_of_the_kernels_saves_its_part(self) -> None:
        """All kernels together could save 14.5 of 281 ms: 48.6 ms of them were said to save 13.5 ms of that."""
        self.of_shared("kineto/a100_train_rank3_of8.json.gz")
        self.assertNotIn("unfused-kernels", [f["id"] for f in self.found["findings"]])
        self.assertLess(sum(f["saving_ns"] for f in self.found["findings"] if f["basis"] == "estimated"), 14509000)
        self.assertIn("Of 281.3 ms of computing, faster kernels could save 14.51 ms at most, by a simulation of the trace: for the rest, "
                      "the program would wait for its host or for other work instead.", self.found["remarks"])

    def test_kernels_that_the_program_waits_for(self) -> None:
        """All kernels together save 358 of 551 ms, but without the softmax alone nothing else becomes the longest chain."""
        self.of_shared("kineto/h100_owlv2_large.json.gz")
        found = next(f for f in self.found["findings"] if f["id"] == "unfused-attention")
        path, = self.found["critical_path"]
        softmax = next(n for n in path["names"] if n["name"] and "cunn_SoftMaxForward" in n["name"])
        self.assertGreaterEqual(found["saving_ns"], softmax["saved_removed_ns"])
        self.assertLess(found["saving_ns"], 1.01 * softmax["saved_removed_ns"])

    def test_communication_saves_what_the_program_would_end_sooner(self) -> None:
        self.of_shared("kineto/a100_train_rank3_of8.json.gz")
        found = next(f for f in self.found["findings"] if f["id"] == "exposed-communication")
        path, = self.found["critical_path"]
        saving = next(s for s in path["savings"] if s["part"] == "communication")
        self.assertIn(found["saving_ns"], saving.values())
        self.assertLess(found["saving_ns"], self.found["wall"][0]["exposed_communication_ns"] / 4)

    def test_stacks_slow_the_host(self) -> None:
        self.of_shared("kineto/h100_bert_small.json.gz")
        self.assertIn("python-stacks", [c["id"] for c in self.found["cautions"]])
        self.assertIn("1,385 Python calls were recorded too, as with_stack does, which slows the host", self.report_md)

    def test_few_stacks_slow_nobody(self) -> None:
        self.of_file(os.path.join(SOURCE, "tests", "data", "kineto", "h200_train_memory.json.gz"))
        self.assertEqual(self.found["cautions"], [])

    def test_one_operator_that_is_slow_on_the_host(self) -> None:
        """128 of 144 ms in one operator, which makes a plan for each length of the cache: no launches to save."""
        self.of_file(os.path.join(SOURCE, "tests", "data", "kineto", "h200_deepseek_v2.json.gz"))
        found = next(f for f in self.found["findings"] if f["id"] == "host-work")
        self.assertIn("See what that operator does on the host", found["advice"])
        self.assertFalse(any("operators of the framework" in e["text"] for e in found["evidence"]))

    def test_memory_of_a_first_call(self) -> None:
        self.of_file(os.path.join(SOURCE, "tests", "data", "kineto", "h200_llava.json.gz"))
        found = next(f for f in self.found["findings"] if f["id"] == "allocator")
        self.assertIn("that region was called once, so what only a first call costs is in it", [e["text"] for e in found["evidence"]])

    def test_advice_is_for_the_framework_that_ran(self) -> None:
        """JAX has no torch.compile, and neither has a program in CUDA C."""
        self.of_file(os.path.join(SOURCE, "tests", "data", "jax", "h200_train.json.gz"))
        self.assertIn("The host takes long to start each jitted function", self.found["findings"][0]["advice"])
        done = self.lpo("report", os.path.join(SOURCE, "tests", "data", "nsys", "h200_ranges.sqlite.gz"), "--findings")
        self.assertIn("Launch less: CUDA graphs, fused kernels or larger batches.", done.stdout)
        self.assertNotIn("torch", done.stdout)

    def test_nsys_is_not_a_version_of_pytorch(self) -> None:
        self.of_shared("nsys/h100_2gpu_fastvideo_train_before.sqlite.gz")
        self.assertIn("The trace does not say how large the messages were; the PyTorch profiler records it.", self.report_md)

    def test_the_longest_part_comes_first(self) -> None:
        """Copies count; and numbers that PyTorch gives to operators are not part of their names."""
        text = self.of_shared("nsys/h100_2gpu_fastvideo_infer.sqlite.gz")
        parts = re.findall(r'The part called "(.*)" takes (\d+) % of it', text)
        self.assertEqual([int(share) for name, share in parts], [39, 16, 1])
        self.assertNotIn("op_id", text)

    def test_stacks_do_not_matter_where_the_gpu_does_not_wait(self) -> None:
        self.of_shared("kineto/mi300_vllm_decode_graph.json.gz")
        self.assertEqual(self.found["cautions"], [])

    def test_two_gpus_are_not_one_clock(self) -> None:
        text = self.of_shared("nsys/h100_2gpu_fastvideo_train_before.sqlite.gz")
        self.assertIn("Of 299.8 ms, GPU 0, of 2 the one with the longest span, computed for 84.6 %", text)
        self.assertIn("2. Communication is exposed: nothing is computed meanwhile: at most 17.17 ms (5.7 %) could be saved.", text)
        self.assertLessEqual(sum(f["saving_ns"] for f in self.found["findings"]), 299800000)

    def test_idle_time_by_region_adds_up(self) -> None:
        """Each gap is in one row, and the rows of steps are folded."""
        self.of_shared("kineto/a100_train_rank3_of8.json.gz")
        tables = [i for s in self.found["sections"] for i in s["items"] if i.get("id") == "region_idle"]
        rows, wall = tables[0]["rows"], self.found["wall"][0]
        self.assertEqual(len(rows), tables[0].get("total_rows", len(rows)))
        for part in ("blocked", "host", "queued", "unknown"):
            self.assertEqual(sum(r[part + "_ns"] for r in rows), wall["idle"][part + "_ns"])
        self.assertEqual(sum(r["idle_ns"] for r in rows), wall["idle_ns"])
        self.assertIn("ProfilerStep#*/## backward ##", [r["region"] for r in rows])

    def test_copies_are_work(self) -> None:
        text = self.of_shared("nsys/h100_2gpu_fastvideo_infer.sqlite.gz")
        self.assertIn("Take care: 48.4 % of the time of all kernels has no launch record", text)  # 1 % of the GPU's
        self.assertIn("All GPU work of 2 GPUs together takes 1.926 s: kernels 44.83 ms, copies and memsets 1.881 s.", text)
        self.assertIn("1. Copies are exposed: nothing is computed meanwhile: at most 940.5 ms (97.0 %) could be saved.", text)
        self.assertNotIn("pinned", text)  # the trace does not say that any memory is pageable
        self.assertIn("| Copies |", self.report_md)

    def test_work_of_the_host_is_not_ping_pong(self) -> None:
        """Small results are fetched, then SciPy computes for 126 ms."""
        self.of_shared("kineto/h100_owlv2_large.json.gz")
        first = self.found["findings"][0]
        self.assertEqual((first["id"], first["where"], first["device"]), ("host-work", "ProfilerStep#6", "device:0"))
        self.assertTrue(any("scipy/ndimage/_interpolation.py(739): zoom" in e["text"] for e in first["evidence"]))
        self.assertNotIn("ping-pong", [f["id"] for f in self.found["findings"]])

    def test_what_a_first_call_costs_is_apart(self) -> None:
        """15.57 s in the first convolution of a shape, in gaps of 13.25 s and less, the last of which ends just after the
        call; later ones take microseconds. And 19 ms before the first launches of four other kernels."""
        self.of_shared("kineto/a100_simple_add.json.gz")
        first = self.found["findings"][0]
        self.assertEqual(first["id"], "first-calls")
        self.assertAlmostEqual(first["saving_ns"], 15.57e9 + 0.019e9, delta=1e7)
        table, = [i for s in self.found["sections"] for i in s["items"] if i.get("id") == "first_calls"]
        row = next(r for r in table["rows"] if r["name"] == "aten::cudnn_convolution")
        self.assertEqual(row["extra_ns"], row["first_ns"] - row["later_ns"])
        self.assertGreaterEqual(row["later"], 3)

    def test_a_cold_program_pays_for_first_launches(self) -> None:
        """Most of what the host is late for comes before kernels that were never launched before: that is no steady work."""
        self.of_file(os.path.join(SOURCE, "tests", "data", "kineto", "h200_deepseek_v2.json.gz"))
        saving = {f["id"]: f["saving_ns"] for f in self.found["findings"]}
        self.assertGreater(saving["first-calls"], 5 * saving["host-work"])
        evidence = next(f["evidence"] for f in self.found["findings"] if f["id"] == "first-calls")
        self.assertIn("gaps in which a kernel was launched for the first time: 30", [e["text"] for e in evidence])

    def test_attention_in_pieces(self) -> None:
        """Eager attention: a softmax over all scores takes half of the computing, and the trace is not silent about it."""
        text = self.of_shared("kineto/h100_owlv2_large.json.gz")
        found = self.found["findings"][1]
        self.assertEqual((found["id"], found["where"], found["basis"]), ("unfused-attention", "ProfilerStep#6", "estimated"))
        self.assertIn("attention ran as separate kernels 180 times", [e["text"] for e in found["evidence"]])
        softmax, = [r for r in self.found["kernels"] if "cunn_SoftMaxForward" in r["name"]]
        self.assertAlmostEqual(found["saving_ns"], softmax["gpu_ns"], delta=1e6)
        self.assertIn("2. Attention is not fused: its scores are written to memory and read again: about 262.8 ms (24.4 %) could be", text)

    def test_norms_and_rotations_in_pieces(self) -> None:
        """RMSNorm as eight kernels, rotary embeddings as five, each as long as what it moves."""
        for name, least in ("kineto/h100_qwen1.5-0.5b.json.gz", 0.15), ("kineto/mi300_qwen1.5-0.5b.json.gz", 0.1):
            with self.subTest(name=name):
                shutil.rmtree(os.path.join(self.run_dir, "torch_profiler"), ignore_errors=True)
                self.of_shared(name)
                first = self.found["findings"][0]
                self.assertEqual((first["id"], first["basis"]), ("unfused-kernels", "estimated"))
                self.assertGreater(first["share"], least)
                self.assertNotIn("unfused-attention", [f["id"] for f in self.found["findings"]])

    def test_times_under_counters_give_no_advice(self) -> None:
        text = self.of_shared("kineto/a100_cupti_counters.json.gz")
        self.assertEqual([c["id"] for c in self.found["cautions"]], ["counters-recorded"])
        self.assertIn("Take care: The profiler read hardware counters of 77 kernels, one after another", text)
        self.assertNotIn("Look at", text)

    def test_a_gpu_that_the_events_number_otherwise(self) -> None:
        """AMD's events say device 9, the description has one GPU with the number 0."""
        text = self.of_shared("kineto/mi300_sglang_qwen3-8b_decode_graph.json.gz")
        self.assertIn("A program on 1 x AMD Instinct MI300X.", text)

    def test_one_kernel_waits_for_nothing_that_is_known(self) -> None:
        text = self.of_file(os.path.join(SOURCE, "tests", "data", "kineto", "a100_triton_kernel.json.gz"))
        self.assertIn("With one GPU operation there is no time between two of them", text)
        self.assertNotIn("waits for nothing", text)

    def test_the_step_of_a_profiler_is_no_answer(self) -> None:
        """All is in ProfilerStep#6: the modules in it say where."""
        text = self.of_shared("kineto/h100_qwen1.5-0.5b.json.gz")
        self.assertIn('Inside it, by module: "Qwen2Attention\\_\\*" 34 % (15.55 ms), "Qwen2MLP\\_\\*" 18 % (8.043 ms), '
                      '"Qwen2RMSNorm\\_\\*" 16 % (7.228 ms).', text)

    def test_tables_of_embeddings_are_not_passed_on(self) -> None:
        """Their look-ups take 16 % of all computing and stand beside kernels that could be fused."""
        self.of_shared("kineto/sampled_rank1_of128.json.gz")
        self.assertNotIn("unfused-kernels", [f["id"] for f in self.found["findings"]])

    def test_reasons_that_add_up_are_not_called_nothing(self) -> None:
        """3.0 % launched too late, in gaps of two kinds, and 3.2 % queued: no finding has 2 %, but the GPU does wait."""
        path = shared("kineto/h100_qwen1.5-0.5b.json.gz")
        if not os.path.exists(path):
            self.skipTest("the trace is not here")
        with gzip.open(path) as f:
            trace = json.load(f)
        for e in trace["traceEvents"]:
            if e.get("cat") == "kernel":
                e["name"] = "gemm"  # so that nothing can be fused
        changed = os.path.join(os.path.dirname(self.run_dir), "all_gemm.json.gz")
        with gzip.open(changed, "wt", 1) as f:
            f.write(json.dumps(trace))
        self.of_file(changed)
        self.assertEqual(self.found["findings"], [])
        texts = " ".join(i.get("text", "") for s in self.found["sections"] for i in s["items"])
        self.assertIn("The GPU was idle for more than 2 % of the wall time, but no single finding would save that much.", texts)
        self.assertNotIn("waits for nothing", texts)

    def test_a_gpu_that_does_not_wait(self) -> None:
        """0.2 % idle."""
        self.of_shared("kineto/mi300_vllm_decode_graph.json.gz")
        texts = " ".join(i.get("text", "") for s in self.found["sections"] for i in s["items"])
        self.assertIn("The GPU waits for nothing that takes 2 % of the wall time.", texts)

    def test_the_first_of_numbered_layers(self) -> None:
        """Two layers, each called once: 298.9 ms in the first attention, 1.9 ms in the second."""
        self.of_file(os.path.join(SOURCE, "tests", "data", "kineto", "h200_deepseek_v2.json.gz"))
        texts = [i["text"] for s in self.found["sections"] for i in s["items"] if "First calls take longer" in i.get("text", "")]
        self.assertEqual(len(texts), 1)
        self.assertIn("prefill/layer*/attn 298.9 ms, then 1.884 ms", texts[0])

    def test_two_ranks_of_128_do_not_show_who_waits(self) -> None:
        paths = [shared(f"kineto/sampled_rank{i}_of128.json.gz") for i in (0, 1)]
        if not all(map(os.path.exists, paths)):
            self.skipTest("the traces are not here")
        done = self.lpo("report", *paths, "--json")
        advice = next(f for f in json.loads(done.stdout)["findings"] if f["id"] == "exposed-communication")
        self.assertIn("ranks that were recorded: 2, so waiting for the others is in it", [e["text"] for e in advice["evidence"]])
        self.assertIn("Look at traces of the other ranks too", advice["advice"])

    def test_a_capture_that_began_late_says_so(self) -> None:
        text = self.of_shared("kineto/h100_qwen1.5-0.5b.json.gz")
        self.assertIn("30 % of the time of all kernels (13.67 ms) has no launch record, because the recording began late", text)
        self.assertEqual([c["id"] for c in self.found["cautions"]], ["no-launch-records"])

    def test_savings_of_all_traces_are_at_most_the_span(self) -> None:
        for name in ("a100_nccl_rank0_of2", "v100_ddp_rank1_of2", "v100_resnet50_workers0_oldschema", "mi250_train", "h100_bert_small"):
            with self.subTest(name=name):
                shutil.rmtree(os.path.join(self.run_dir, "torch_profiler"), ignore_errors=True)
                self.of_shared(f"kineto/{name}.json.gz")
                wall = self.found["wall"][0]
                idle = sum(f["saving_ns"] for f in self.found["findings"]
                           if f["id"] in ("blocked-in-call", "launch-bound", "host-work", "ping-pong", "allocator", "first-calls"))
                self.assertLessEqual(idle, wall["idle"]["blocked_ns"] + wall["idle"]["host_ns"])
                self.assertLessEqual(sum(f["saving_ns"] for f in self.found["findings"]), wall["span_ns"])
                for f in self.found["findings"]:
                    self.assertAlmostEqual(f["share"], f["saving_ns"] / wall["span_ns"], delta=1e-9)
                    self.assertGreaterEqual(f["share"], 0.02)

    def test_kernels_under_replay_have_no_wall_time(self) -> None:
        folder = shared("ncu_csv/dsocr_kernel_0001")
        if not os.path.exists(folder):
            self.skipTest("the trace is not here")
        out = os.path.join(self.run_dir, "out")
        self.lpo("report", folder, "-o", out)
        text = self.text("out/stakeholder_summary.md")
        self.assertIn("Nsight Compute runs each kernel alone and repeats it, so the wall time of the program", text)
        for wrong in ("was not recorded", "recording began late", "could be saved."):
            self.assertNotIn(wrong, text)

    def test_without_a_clock_the_most_expensive_kernel_comes_first(self) -> None:
        """Sums and replayed kernels; the second has no counters that would say what holds a kernel back."""
        sums = os.path.join(self.cwd, "run.csv")
        with open(sums, "w", encoding="utf-8") as f:
            f.write("Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
                    "75.0,300,3,100.0,100.0,100,100,0.0,big\n25.0,100,1,100.0,100.0,100,100,0.0,small\n")
        for path, said, why in (
                ("ncu/ranges.ncu-rep.gz", "Look first at the kernel fma_loop: it takes 40.0 % of the time of all kernels (355.6 us); it is limited "
                 "by computing (the SMs at 96.1 %, the memory at 12.6 % of their peaks).", "a trace of nsys"),
                ("ncu/llm_light_raw.csv.gz", "it takes 9.9 % of the time of all kernels (125.1 us).", "a trace of nsys"),
                (sums, "Look first at the kernel big: it takes 75.0 % of the time of all kernels (300 ns).", "nsys export --type sqlite")):
            with self.subTest(path=path):
                done = self.lpo("report", os.path.join(SOURCE, "tests", "data", path), "--findings")
                text = " ".join(done.stdout.split())
                self.assertIn(said, text)
                self.assertIn(why, text)

    def test_with_a_clock_findings_come_first(self) -> None:
        done = self.lpo("report", os.path.join(SOURCE, "tests", "data", "nsys", "h200_ranges.sqlite.gz"), "--findings")
        self.assertNotIn("Look first at", done.stdout)


if __name__ == "__main__":
    tap.main()
