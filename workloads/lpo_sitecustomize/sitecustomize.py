# SPDX-License-Identifier: Apache-2.0
"""Puts torch.profiler into any Python program, without changing it.

`lpo run` puts this folder first on PYTHONPATH and names a settings file in LPO_TORCH_PROFILE; Python
imports `sitecustomize` by itself. A guest: what fails here is written to a status file, never raised.
"""


def _install() -> None:
    import os

    settings = os.environ.get("LPO_TORCH_PROFILE")
    if not settings:
        return
    try:
        import importlib.util

        here = os.path.dirname(os.path.abspath(__file__))
        path = os.path.join(here, "lpo_torch_profile.py")
        spec = importlib.util.spec_from_file_location("lpo_torch_profile", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.install(settings)
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
