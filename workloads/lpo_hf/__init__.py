"""The parts of hf_generate.py. Standard library, torch and transformers only."""
