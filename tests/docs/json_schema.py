# SPDX-License-Identifier: Apache-2.0
"""A small validator for the part of JSON Schema (2020-12) that docs/schemas/ uses. A keyword that it does not know is an
error: a schema must not look stricter than it is checked."""
from __future__ import annotations

import re

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "number": (int, float), "integer": int}
SILENT = {"$schema", "title", "description", "$defs"}


def is_type(value, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, TYPES[name])


def of_type(value, schema: dict, at: str) -> list[str]:
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return [] if any(is_type(value, n) for n in names) else [f"{at}: {value!r:.60} is no {' or '.join(names)}"]


def errors(value, schema: dict, root: dict, at: str = "$") -> list[str]:
    found: list[str] = []
    for key, want in schema.items():
        if key in SILENT:
            continue
        if key == "$ref":
            found += errors(value, root["$defs"][want.removeprefix("#/$defs/")], root, at)
        elif key == "type":
            found += of_type(value, schema, at)
        elif key == "const":
            found += [] if value == want else [f"{at}: {value!r:.60} is not {want!r}"]
        elif key == "enum":
            found += [] if value in want else [f"{at}: {value!r:.60} is none of {want}"]
        elif key == "minimum":
            found += [f"{at}: {value} is less than {want}"] if is_type(value, "number") and value < want else []
        elif key == "pattern":
            found += [f"{at}: {value!r:.60} does not fit {want}"] if isinstance(value, str) and not re.search(want, value) else []
        elif key == "required":
            found += [f"{at}: no member '{k}'" for k in want if isinstance(value, dict) and k not in value]
        elif key == "dependentRequired":
            found += [f"{at}: '{k}' without '{n}'" for k, names in want.items() if isinstance(value, dict) and k in value
                      for n in names if n not in value]
        elif key == "properties":
            for k, s in want.items():
                if isinstance(value, dict) and k in value:
                    found += errors(value[k], s, root, f"{at}.{k}")
        elif key == "additionalProperties":
            for k in (value if isinstance(value, dict) else {}):
                if k not in schema.get("properties", {}):
                    found += errors(value[k], want, root, f"{at}.{k}")
        elif key == "items":
            for i, v in enumerate(value if isinstance(value, list) else []):
                found += errors(v, want, root, f"{at}[{i}]")
        elif key == "allOf":
            for s in want:
                found += errors(value, s, root, at)
        elif key == "oneOf":
            tried = [errors(value, s, root, at) for s in want]
            if sum(not t for t in tried) != 1:
                found += [f"{at}: fits {sum(not t for t in tried)} of {len(want)}, not one: {min(tried, key=len)[:2]}"]
        else:
            raise ValueError(f"the keyword '{key}' is not known here")
    return found
