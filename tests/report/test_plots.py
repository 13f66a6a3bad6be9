"""Pictures: what is drawn, that it is readable in print, and that pyplot is left alone."""

import subprocess
import sys
from base64 import b64encode
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import secfc
from secfc.prepare import Column, Preparation, Schema, Statistics

pytest.importorskip("matplotlib")

from secfc.report.plots import plot_k, plot_sizes, plot_stability

_RNG = np.random.default_rng(6)
CENTRES = np.array([[0.0, 10.0], [0.0, 30.0], [9.0, 20.0]])
PARTIES = {
    name: _RNG.normal(size=(m, 2)) + CENTRES[_RNG.integers(3, size=m)]
    for name, m in (("north", 60), ("south", 50), ("west", 40))
}
CONSENT = secfc.Limits(reveal_centres=True, reveal_spread=10)


@pytest.fixture(scope="module")
def result():
    reveal = secfc.Reveal(centres=[0], spread=True)
    return secfc.run(PARTIES, 3, 1, 1, seed=1, reveal=reveal, limits=CONSENT).ordered()


def texts(labels):
    return [one.get_text() for one in labels]


def candidate(k, inertia, calinski_harabasz):
    known = {"silhouette": None, "davies_bouldin": None, "calinski_harabasz": calinski_harabasz}
    return SimpleNamespace(k=k, inertia=inertia, labels=None, **known)


def resampled(k, dispersion):
    return SimpleNamespace(k=k, jaccard=np.linspace(0.5, 1, k), dispersion=dispersion)


def assert_within(figure):
    """No text leaves the picture, and names on an axis do not lie on each other."""
    figure.draw_without_rendering()
    width, height = figure.canvas.get_width_height()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            shown = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            boxes = [label.get_window_extent() for tick in shown for label in (tick.label1, tick.label2)]
            boxes = [box for box in boxes if box.width > 1]
            for box in boxes:
                assert box.x0 >= -1
                assert box.y0 >= -1
                assert box.x1 <= width + 1
                assert box.y1 <= height + 1
            pairs = pairwise(boxes)
            assert not any(one.overlaps(other) for one, other in pairs)


def test_a_profile_has_means_and_differences_of_every_cluster(result):
    axes = result.plot_profiles().axes[0]
    drawn = np.array([float(one.get_text().replace(",", "")) for one in axes.texts]).reshape(2, 3)
    order = [int(one) for one in texts(axes.get_yticklabels())]
    np.testing.assert_allclose(drawn, result.cluster_centers.T[order], rtol=6e-3, atol=6e-3)
    pooled = np.concatenate(list(PARTIES.values()))
    away = (result.cluster_centers - pooled.mean(axis=0)) / pooled.std(axis=0)
    np.testing.assert_allclose(axes.images[0].get_array(), away.T[order], rtol=1e-5)
    assert texts(axes.get_xticklabels()) == ["0", "1", "2"]


def test_a_profile_has_names_and_units_where_there_are_any(result):
    column = Column(name="age", unit="years", low=0, high=120, scale="standardise")
    known = {"age": Statistics(holders=3, count=150, mean=50.0, deviation=10.0)}
    other = Column(name="dose", low=-99, high=99)
    preparation = Preparation(schema=Schema(columns=(column, other)), statistics=known)
    figure = result.named(["mild", "severe", "other"]).plot_profiles(preparation)
    axes = figure.axes[0]
    assert sorted(texts(axes.get_yticklabels())) == ["age (years)", "dose"]
    assert texts(axes.get_xticklabels()) == ["mild", "severe", "other"]
    assert axes.get_xlabel() == "cluster"
    assert "standard deviations of all rows" in figure.axes[1].get_xlabel()


def test_without_centres_there_is_no_profile():
    result = secfc.run(PARTIES, 2, 1, 1, seed=1)
    with pytest.raises(secfc.ParameterError, match="centres were not revealed"):
        result.plot_profiles()


@pytest.mark.filterwarnings("ignore::secfc.ConvergenceWarning")
@pytest.mark.parametrize("k", [2, 12])
@pytest.mark.parametrize("d", [3, 40])
def test_names_are_readable_at_nine_centimetres(k, d):
    long = [f"mean concentration of analyte {j} in plasma (mmol/l), on the first day" for j in range(d)]
    rows = [np.random.default_rng(j).normal(size=(60, d)) for j in range(3)]
    result = secfc.run(rows, k, 1, 1, seed=0, reveal=secfc.Reveal(centres=[0]), limits=CONSENT, max_iter=2)
    for one in (result, result.named([f"a phenotype with a long name {h}" for h in range(k)])):
        figure = one.plot_profiles(long)
        assert figure.get_figwidth() == pytest.approx(9 / 2.54)
        assert_within(figure)
        assert min(text.get_fontsize() for text in figure.axes[0].get_yticklabels()) >= 6
        assert_within(one.plot_sizes())


def test_sizes_are_bars_with_numbers_and_shares():
    axes = plot_sizes(np.array([1500, 500]), ["mild", "severe"]).axes[0]
    assert [bar.get_width() for bar in axes.patches] == [1500, 500]
    assert texts(axes.texts) == ["1,500 (75 %)", "500 (25 %)"]
    assert texts(axes.get_yticklabels()) == ["mild", "severe"]


def test_a_picture_of_k_has_a_panel_for_what_is_known_alone():
    candidates = [candidate(2, 50.0, 8.0), candidate(3, 20.0, 9.0), candidate(4, 18.0, 7.0)]
    figure = plot_k(candidates, [resampled(2, 0.9), resampled(3, 0.8)])
    assert [axes.get_ylabel().partition("\n")[0] for axes in figure.axes] == [
        "inertia",
        "stability",
        "Calinski-Harabasz",
    ]
    assert [list(axes.lines[0].get_ydata()) for axes in figure.axes] == [
        [50.0, 20.0, 18.0],
        [0.9, 0.8],
        [8.0, 9.0, 7.0],
    ]
    assert [axes.lines[1].get_xdata()[0] for axes in figure.axes] == [2, 2, 2]
    assert figure.axes[-1].get_xlabel().endswith("(dashed: recommended, 2)")
    assert_within(figure)


def test_without_a_recommendation_no_line_is_drawn():
    figure = plot_k([candidate(1, 5.0, None), candidate(2, 5.0, None)])
    assert len(figure.axes) == 1
    assert len(figure.axes[0].lines) == 1


def test_stability_is_a_bar_for_each_cluster_of_one_k_and_points_over_several():
    of = [resampled(2, 0.8), resampled(3, 0.7)]
    axes = plot_stability(of[1:], ["a", "b", "c"]).axes[0]
    assert [bar.get_width() for bar in axes.patches] == [0.5, 0.75, 1.0]
    assert texts(axes.get_yticklabels()) == ["a", "b", "c"]
    empty = SimpleNamespace(k=2, jaccard=np.array([0.9, np.nan]), dispersion=0.5)
    assert "no rows" in texts(plot_stability([empty]).axes[0].texts)
    axes = plot_stability(of).axes[0]
    assert [line.get_ydata().tolist() for line in axes.lines[:2]] == [[0.5, 1.0], [0.5, 0.75, 1.0]]
    dispersion = next(line for line in axes.lines if "dispersion" in str(line.get_label()))
    assert (list(dispersion.get_xdata()), list(dispersion.get_ydata())) == ([2, 3], [0.8, 0.7])


def test_a_notebook_shows_a_picture_without_pyplot(result):
    figure = result.plot_sizes()
    assert figure._repr_png_().startswith(b"\x89PNG")
    code = (
        "import sys, numpy as np; from secfc.report.plots import plot_sizes; "
        "plot_sizes(np.array([1, 2]), ['a', 'b'])._repr_png_(); print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_dollars_in_names_are_no_formulas(result):
    figure = result.named(["$x^$", "cost ($)", "b"]).plot_profiles(["$y^$", "a"])
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert texts(figure.axes[0].get_xticklabels()) == [r"\$x^\$", r"cost (\$)", "b"]


def test_a_page_has_the_pictures_of_what_its_reader_learned(result, tmp_path):
    page = result.report(tmp_path / "a.html", party=0).read_text(encoding="utf-8")
    for figure in (result.plot_sizes(), result.plot_profiles()):
        assert f'src="data:image/png;base64,{b64encode(figure._repr_png_()).decode()}"' in page
    page = replace(result, cluster_order=()).report(tmp_path / "b.html", party=1).read_text(encoding="utf-8")
    assert "image/png" not in page
    assert "the extra “plots”" not in page


def test_a_page_draws_the_columns_that_differ_most_of_many(result, tmp_path, monkeypatch):
    monkeypatch.setattr("secfc.report.html._DRAWN", 1)
    page = result.report(tmp_path / "a.html", party=0).read_text(encoding="utf-8")
    assert "Profiles of the 1 columns that differ most" in page
    every = b64encode(result.plot_profiles()._repr_png_()).decode()
    assert every not in page


def test_a_page_without_matplotlib_says_once_what_it_lacks(result, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.delitem(sys.modules, "secfc.report.plots")
    page = result.report(tmp_path / "a.html", party=0).read_text(encoding="utf-8")
    assert page.count("the extra “plots”") == 1
    assert "image/png" not in page


def test_without_matplotlib_the_error_says_what_to_install(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.delitem(sys.modules, "secfc.report.plots")
    with pytest.raises(
        secfc.ParameterError, match=r"matplotlib is needed for a plot, pip install '\.\[plots\]'"
    ):
        result.plot_sizes()
