# SPDX-License-Identifier: Apache-2.0
"""The parts of hf_generate.py. Standard library, torch and transformers only."""
