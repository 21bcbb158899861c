# SPDX-License-Identifier: Apache-2.0
"""Puts torch.profiler, or a range around each nn.Module, into any Python program without changing it.

`lpo run` puts this folder first on PYTHONPATH and names a settings file in LPO_TORCH_PROFILE, a depth in
LPO_TORCH_MODULES, or a tool for one rank in LPO_RANK_TOOL; Python imports `sitecustomize` by itself. A guest: what fails here is written to a status file, never
raised. The folder of lpo.py comes last on the path, so that `import lpo` finds it where the program has none.
"""


def _install() -> None:
    import os
    import sys

    settings, depth = os.environ.get("LPO_TORCH_PROFILE"), os.environ.get("LPO_TORCH_MODULES")
    tool = os.environ.get("LPO_RANK_TOOL")
    if not settings and not depth and not tool:
        return
    try:
        if tool:
            import lpo_rank_tool

            lpo_rank_tool.start(tool)  # in one rank it does not return
        if not settings and not depth:
            return
        import lpo_annotate

        sys.path.append(lpo_annotate.FOLDER)
        if settings:
            import lpo_torch_profile

            lpo_torch_profile.install(settings)
        if depth:
            import lpo_modules

            lpo_modules.install_later(int(depth))
    except Exception:  # the program must not suffer
        pass


def _chain() -> None:
    """Runs the sitecustomize that ours hides, if there is one."""
    import importlib.machinery
    import importlib.util
    import os
    import sys

    here = os.path.dirname(os.path.abspath(__file__))
    others = [p for p in sys.path if os.path.abspath(p or os.curdir) != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_install()
_chain()
