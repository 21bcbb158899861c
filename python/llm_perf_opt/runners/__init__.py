# SPDX-License-Identifier: Apache-2.0
"""The name of the Python version, for those who come back; `import lpo` is today's."""
