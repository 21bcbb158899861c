#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""comment.py FILE.md: one comment on the pull request of this GitHub Actions run, made once and then updated.

Needs GITHUB_TOKEN (permission pull-requests: write), and GITHUB_REPOSITORY, GITHUB_EVENT_PATH and GITHUB_API_URL, which
GitHub sets. The comment is found again by its first line. Runs that belong to no pull request are left alone.
"""
from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request

MARK = os.environ.get("LPO_COMMENT_MARK", "<!-- lpo diff -->")
MOST = 65000  # GitHub takes 65,536 characters


def ask(method, url, body=None):
    request = urllib.request.Request(url, method=method, data=None if body is None else json.dumps(body).encode(), headers={
        "Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}", "Accept": "application/vnd.github+json",
        "Content-Type": "application/json", "User-Agent": "lpo"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read() or b"null")


def find_comment(base):
    for page in range(1, 51):
        comments = ask("GET", f"{base}?per_page=100&page={page}")
        for c in comments:
            if c["body"].startswith(MARK):
                return c["id"]
        if len(comments) < 100:
            return None
    return None


def main():
    if not os.environ.get("GITHUB_TOKEN"):
        sys.exit("comment: GITHUB_TOKEN is not set: give the action `token: ${{ github.token }}`")
    with open(os.environ["GITHUB_EVENT_PATH"], encoding="utf-8") as f:
        event = json.load(f)
    number = (event.get("pull_request") or event.get("issue") or {}).get("number")
    if not number:
        print("comment: no pull request belongs to this run")
        return
    with open(sys.argv[1], encoding="utf-8") as f:
        text = f.read()
    if text.startswith("<!-- lpo diff -->\n"):  # of -f github; MARK may be another one
        text = text.split("\n", 1)[1]
    if len(text) > MOST:
        text = text[:text.rfind("\n", 0, MOST)] + "\n\nThe rest is in the artifacts of this run.\n"
    repository = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}"
    body = {"body": f"{MARK}\n{text}"}
    try:
        there = find_comment(f"{repository}/issues/{number}/comments")
        if there is None:
            ask("POST", f"{repository}/issues/{number}/comments", body)
        else:
            ask("PATCH", f"{repository}/issues/comments/{there}", body)
    except urllib.error.HTTPError as why:
        hint = ": the job needs `permissions: pull-requests: write`" if why.code in (401, 403) else ""
        sys.exit(f"comment: GitHub answered {why.code} {why.reason}{hint}")
    except urllib.error.URLError as why:
        sys.exit(f"comment: GitHub cannot be reached: {why.reason}")
    print("comment: updated" if there else "comment: made")


main()
