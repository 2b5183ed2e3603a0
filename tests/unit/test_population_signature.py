"""Signatures: of structure alone, computed and not claimed."""

import re
from itertools import pairwise

import pytest
from population_samples import parsed, rows_text, split_text

from formwright.lang import load, shipped
from formwright.population.retrieval import niche_of, problem_of
from formwright.population.signature import PARTS, likeness, signature_of

RENAMED = {"T": "Wide", "acc": "held", "i": "block", "r": "lane", "k": "q", "rows": "columns"}


def test_names_menus_and_words_of_a_template_do_not_count() -> None:
    text = rows_text()
    renamed = re.sub(
        r"\b(T|acc|i|r|k|rows)\b", lambda m: RENAMED[m[1]], text.replace("{4, 8}", "{2, 4, 8}")
    )
    renamed = renamed.replace("    for q in", "    hint unroll 4\n    for q in")
    renamed = renamed.replace(
        "An agent has a row.", "Split over a hundred cores with a ring of slots."
    )
    assert renamed != text
    assert signature_of(parsed(renamed)) == signature_of(parsed(text))
    assert problem_of(parsed(renamed).scope.lines) == problem_of(parsed(text).scope.lines)


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"alloc acc[T] register": "alloc acc[T] scratch"}, "placement"),
        ({"register": "register ring 2", "acc[r]": "acc<0>[r]"}, "placement"),
        ({"    for k in": "    hint prefetch x[0]\n    for k in"}, "resources"),
        ({"C1: T <= 8": "C1 wall cores: T <= chip.cores"}, "resources"),
        ({"acc[r] = 0": "acc[r] = 0\n    alloc x2[K] scratch\n    x2[k] = x[k]"}, "reuse"),
    ],
)
def test_what_is_another_design_has_another_signature(changes: dict[str, str], part: str) -> None:
    text = rows_text()
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    before, after = signature_of(parsed(rows_text())), signature_of(parsed(text))
    assert getattr(before, part) != getattr(after, part)
    assert 0 < likeness(before, after) < 1


def test_a_split_reduction_is_another_niche_of_the_same_problem() -> None:
    rows, split = parsed(rows_text()), parsed(split_text())
    problem = problem_of(rows.scope.lines)
    assert problem == problem_of(split.scope.lines)
    assert niche_of(problem, signature_of(rows)) != niche_of(problem, signature_of(split))
    assert "passes: 2" in signature_of(split).algorithm
    assert "grid over free, reduced by tile" in signature_of(split).algorithm


def test_shipped_templates_have_whole_signatures_and_likeness_is_a_likeness() -> None:
    found = {name: signature_of(load(name)[1]) for name in shipped()}
    for name, signature in found.items():
        for part, words in signature.parts():
            assert words, (name, part)
            assert list(words) == sorted(set(words))
    names = sorted(found)
    for name in names:
        assert likeness(found[name], found[name]) == 1
    for a, b in pairwise(names):
        share = likeness(found[a], found[b])
        assert share == likeness(found[b], found[a])
        assert 0 <= share <= 1
    assert PARTS == ("algorithm", "reuse", "placement", "resources")
