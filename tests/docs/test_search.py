"""Words that users search for: the site's own search lists the page that answers among the first three."""

import json
import re

import pytest
from support.browser import found

pytest.importorskip("mkdocs", reason="the site is built with the extra docs")

WORDS = {
    "index": ["install", "license", "cite", "GPU", "Windows", "macOS"],
    "tutorial": ["reproducible"],
    "glossary": ["centroid", "dropout", "horizontal", "vertical", "initialization"],
    "examples": ["Jupyter", "gallery"],
    "how-to/prepare": ["standardize", "normalize", "missing values", "outlier", "categorical", "scaling"],
    "how-to/files": ["csv", "Excel", "parquet", "pandas", "DataFrame", "weights", "log"],
    "how-to/databases": ["SQL", "PostgreSQL", "password"],
    "how-to/choose-k": ["number of clusters", "stability", "silhouette", "elbow", "bootstrap"],
    "how-to/parties": ["collude", "restart"],
    "how-to/describe": ["outcome", "p-value"],
    "how-to/centres": ["differential privacy", "epsilon"],
    "how-to/predict": ["predict", "new rows"],
    "how-to/sign-off": ["ethics", "GDPR", "limits"],
    "how-to/errors": ["error", "exit code", "timeout"],
    "how-to/scripts": ["json"],
    "how-to/committee": ["committee"],
    "how-to/names": ["plot"],
    "agreeing-on-a-job": ["audit", "keys", "threads"],
    "deployment": ["FLARE", "TLS"],
    "operations": ["upgrade", "backup", "firewall", "proxy", "port", "docker", "systemd", "certificate"],
    "faults": ["vanish"],
    "costs": ["cost", "memory", "speed", "bandwidth"],
    "threat-model": ["attack", "seed"],
    "api/estimator": ["scikit-learn"],
    "api/run": ["sparse", "progress"],
}
ASKED = [(word, page) for page, words in WORDS.items() for word in words]

SEARCH = """<script>
const words = WORDS, found = [];
function send(type, data) { dispatchEvent(new MessageEvent("message", {data: {type, data}})) }
function postMessage({type, data}) {
  if (type === 3) found.push(data.items.map(([first]) => first.location));
  if (found.length < words.length) send(2, words[found.length]);
  else document.getElementById("found").textContent = JSON.stringify(found);
}
</script><script src="WORKER"></script><script>send(0, Object.assign(INDEX, {options: {}}))</script>"""
"""Asks the site's worker as the site does: 0 sets up, 2 asks, 3 answers. Answers are pages, best first."""


@pytest.fixture(scope="module")
def answers(site, tmp_path_factory):
    (worker,) = site.glob("assets/javascripts/workers/search.*.js")
    index = (site / "search" / "search_index.json").read_text(encoding="utf-8").replace("<", r"\u003c")
    words = [word for word, _ in ASKED]
    page = SEARCH.replace("WORKER", worker.as_uri()).replace("WORDS", json.dumps(words))
    listed = found(page.replace("INDEX", index), tmp_path_factory.mktemp("search"))
    return dict(zip(words, listed, strict=True))


def test_the_list_has_60_words():
    words = [word.lower() for word, _ in ASKED]
    assert len(set(words)) == len(words) >= 60


@pytest.mark.parametrize(("word", "page"), ASKED)
def test_search_lists_the_page_that_answers_among_the_first_three(answers, word, page):
    listed = [re.sub(r"\.html.*", "", one) for one in answers[word]]
    assert page in listed[:3]
