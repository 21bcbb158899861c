#!/usr/bin/env python3
"""A manual page in scdoc's language from a template and what the program says of itself.

    page.py LPO TEMPLATE COMMAND VERSION > page.scd

In the template @NAME@, @SYNOPSIS@, @ABOUT@ and @OPTIONS@ stand for the parts of `lpo COMMAND -h`, and
@COMMANDS@ for the list of `lpo -h`, so that a page can never name an option that is not there.
"""
import os
import re
import subprocess
import sys


def escape(text):
    text = re.sub(r"([\\_*#\[\]`|<>~+])", r"\\\1", text)
    return re.sub(r"(?m)^([-.])", r"\\\1", text)


def help_of(lpo, *words):
    done = subprocess.run([lpo, *words, "-h"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          env=os.environ | {"COLUMNS": "500"})  # man wraps the lines itself
    return done.stdout if done.returncode == 0 else ""


def entries(lines):
    """Rows "  left   right", with further lines of the right side below."""
    out = []
    for line in lines:
        row = re.match(r"  (\S.*?)(?:\s{2,}(.*)| *)$", line)
        if row and not line.startswith("   "):
            out.append([row[1], row[2] or ""])
        elif out and line.strip():
            out[-1][1] += " " + line.strip()
    return out


def definitions(rows):
    return "\n\n".join(f"*{escape(left)}*\n\t{escape(right) or escape(left)}" for left, right in rows)


def paragraphs(text):
    """Prose, and indented lines as they stand."""
    out, literal = [], False
    for line in text.splitlines():
        indented = line.startswith("  ") and bool(line.strip())
        if indented != literal:
            out.append("```" if not indented else "\n```")
            literal = indented
        out.append(line.strip().replace("\\", "\\\\") if indented else escape(line.strip()))
    return "\n".join(out + ["```"] * literal)


def command_parts(lpo, command):
    text = help_of(lpo, command)
    head, _, rest = text.partition("\n\n")
    usage, _, rest = rest.partition("\n\n")
    lines = rest.splitlines()
    first = next((i for i, l in enumerate(lines) if re.match(r"  (-\w, )?--", l) or l.startswith("  -h,")), len(lines))
    summary = head.partition(" - ")[2] or "see lpo(1)"
    about = "\n".join(lines[:first]).strip("\n")
    if not about or about.startswith(" "):
        about = summary + "\n" + about
    return {"NAME": escape(summary),
            "SYNOPSIS": escape(usage.removeprefix("usage: ") or f"lpo {command}"),
            "ABOUT": paragraphs(about),
            "OPTIONS": definitions(entries(lines[first:])) or "See *lpo -h*."}


def main():
    lpo, template, command, version = sys.argv[1:5]
    parts = {"VERSION": version, "COMMAND": command}
    if command == "lpo":
        rows = entries(l for l in help_of(lpo).splitlines() if l.startswith("  "))
        parts["COMMANDS"] = definitions([[f"lpo-{left}(1)", right] for left, right in rows])
    else:
        parts |= command_parts(lpo, command)
    with open(template) as f:
        sys.stdout.write(re.sub(r"@([A-Z]+)@", lambda m: parts[m[1]], f.read()))


if __name__ == "__main__":
    main()
