"""What to cite for a result: this package, the paper whose equations it solves, and the methods it used."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import hopfieldphase

ENTRIES: Mapping[str, str] = {
    "hopfieldphase": f"""@software{{hopfieldphase,
  title = {{hopfieldphase: statistical mechanics of modern Hopfield models and attention}},
  author = {{{{The hopfieldphase developers}}}},
  version = {{{hopfieldphase.__version__}}}
}}""",
    "hu2026statistical": """@misc{hu2026statistical,
  title = {On the Statistical Mechanics of Attention},
  author = {Hu, Jerry Yao-Chieh and Chen, Yu-An and Su, Maojiang and Liu, Han},
  year = {2026},
  eprint = {2610.17347},
  archivePrefix = {arXiv}
}""",
    "ramsauer2021hopfield": """@inproceedings{ramsauer2021hopfield,
  title = {Hopfield Networks is All You Need},
  author = {Ramsauer, Hubert and Sch{\\"a}fl, Bernhard and Lehner, Johannes and Seidl, Philipp and
    Widrich, Michael and others},
  booktitle = {International Conference on Learning Representations},
  year = {2021}
}""",
    "tsallis1988possible": """@article{tsallis1988possible,
  title = {Possible generalization of {Boltzmann-Gibbs} statistics},
  author = {Tsallis, Constantino},
  journal = {Journal of Statistical Physics},
  volume = {52},
  pages = {479--487},
  year = {1988}
}""",
    "martins2016softmax": """@inproceedings{martins2016softmax,
  title = {From Softmax to Sparsemax: A Sparse Model of Attention and Multi-Label Classification},
  author = {Martins, Andr{\\'e} F. T. and Astudillo, Ram{\\'o}n F.},
  booktitle = {International Conference on Machine Learning},
  pages = {1614--1623},
  year = {2016}
}""",
    "peters2019sparse": """@inproceedings{peters2019sparse,
  title = {Sparse Sequence-to-Sequence Models},
  author = {Peters, Ben and Niculae, Vlad and Martins, Andr{\\'e} F. T.},
  booktitle = {Annual Meeting of the Association for Computational Linguistics},
  pages = {1504--1519},
  year = {2019}
}""",
    "blondel2020learning": """@article{blondel2020learning,
  title = {Learning with {Fenchel-Young} Losses},
  author = {Blondel, Mathieu and Martins, Andr{\\'e} F. T. and Niculae, Vlad},
  journal = {Journal of Machine Learning Research},
  volume = {21},
  number = {35},
  pages = {1--69},
  year = {2020}
}""",
    "malaviya2018sparse": """@inproceedings{malaviya2018sparse,
  title = {Sparse and Constrained Attention for Neural Machine Translation},
  author = {Malaviya, Chaitanya and Ferreira, Pedro and Martins, Andr{\\'e} F. T.},
  booktitle = {Annual Meeting of the Association for Computational Linguistics},
  pages = {370--376},
  year = {2018}
}""",
    "keller1977numerical": """@incollection{keller1977numerical,
  title = {Numerical solution of bifurcation and nonlinear eigenvalue problems},
  author = {Keller, Herbert B.},
  booktitle = {Applications of Bifurcation Theory},
  editor = {Rabinowitz, Paul H.},
  publisher = {Academic Press},
  pages = {359--384},
  year = {1977}
}""",
    "moore1980calculation": """@article{moore1980calculation,
  title = {The calculation of turning points of nonlinear equations},
  author = {Moore, Gerald and Spence, Alastair},
  journal = {SIAM Journal on Numerical Analysis},
  volume = {17},
  pages = {567--576},
  year = {1980}
}""",
    "lucibello2024exponential": """@article{lucibello2024exponential,
  title = {Exponential Capacity of Dense Associative Memories},
  author = {Lucibello, Carlo and M{\\'e}zard, Marc},
  journal = {Physical Review Letters},
  volume = {132},
  pages = {077301},
  year = {2024}
}""",
    "kramers1940brownian": """@article{kramers1940brownian,
  title = {Brownian motion in a field of force and the diffusion model of chemical reactions},
  author = {Kramers, Hendrik A.},
  journal = {Physica},
  volume = {7},
  pages = {284--304},
  year = {1940}
}""",
    "langer1969statistical": """@article{langer1969statistical,
  title = {Statistical theory of the decay of metastable states},
  author = {Langer, James S.},
  journal = {Annals of Physics},
  volume = {54},
  pages = {258--275},
  year = {1969}
}""",
    "roberts1996exponential": """@article{roberts1996exponential,
  title = {Exponential convergence of {Langevin} distributions and their discrete approximations},
  author = {Roberts, Gareth O. and Tweedie, Richard L.},
  journal = {Bernoulli},
  volume = {2},
  pages = {341--363},
  year = {1996}
}""",
    "derrida1997random": """@article{derrida1997random,
  title = {From random walks to spin glasses},
  author = {Derrida, Bernard},
  journal = {Physica D},
  volume = {107},
  pages = {186--198},
  year = {1997}
}""",
    "velickovic2025softmax": """@inproceedings{velickovic2025softmax,
  title = {Softmax is not Enough (for Sharp Size Generalisation)},
  author = {Veli{\\v c}kovi{\\'c}, Petar and Perivolaropoulos, Christos and Barbero, Federico and
    Pascanu, Razvan},
  booktitle = {International Conference on Machine Learning},
  year = {2025}
}""",
    "harris2020array": """@article{harris2020array,
  title = {Array programming with {NumPy}},
  author = {Harris, Charles R. and Millman, K. Jarrod and van der Walt, St{\\'e}fan J. and others},
  journal = {Nature},
  volume = {585},
  pages = {357--362},
  year = {2020}
}""",
    "virtanen2020scipy": """@article{virtanen2020scipy,
  title = {{SciPy} 1.0: fundamental algorithms for scientific computing in {Python}},
  author = {Virtanen, Pauli and Gommers, Ralf and Oliphant, Travis E. and others},
  journal = {Nature Methods},
  volume = {17},
  pages = {261--272},
  year = {2020}
}""",
    "lam2015numba": """@inproceedings{lam2015numba,
  title = {Numba: a {LLVM}-based {Python} {JIT} compiler},
  author = {Lam, Siu Kwan and Pitrou, Antoine and Seibert, Stanley},
  booktitle = {Workshop on the LLVM Compiler Infrastructure in HPC},
  year = {2015}
}""",
    "hoyer2017xarray": """@article{hoyer2017xarray,
  title = {xarray: {N-D} labeled arrays and datasets in {Python}},
  author = {Hoyer, Stephan and Hamman, Joe},
  journal = {Journal of Open Research Software},
  volume = {5},
  number = {1},
  pages = {10},
  year = {2017}
}""",
    "rocklin2015dask": """@inproceedings{rocklin2015dask,
  title = {Dask: Parallel Computation with Blocked algorithms and Task Scheduling},
  author = {Rocklin, Matthew},
  booktitle = {Python in Science Conference},
  pages = {126--132},
  year = {2015}
}""",
}
"""BibTeX by key, in the order in which it is printed."""

_ALWAYS = (
    "hopfieldphase", "hu2026statistical", "harris2020array", "virtanen2020scipy", "lam2015numba",
    "hoyer2017xarray",
)  # fmt: skip

_STUDIES: Mapping[str, tuple[str, ...]] = {
    "branches": ("keller1977numerical",),
    "branches-kappa": ("keller1977numerical",),
    "branches-map": ("keller1977numerical",),
    "structure-beta": ("keller1977numerical",),
    "structure-kappa": ("keller1977numerical",),
    "phase-diagram": ("keller1977numerical", "moore1980calculation"),
    "large-d": ("lucibello2024exponential",),
    "barrier": ("kramers1940brownian", "langer1969statistical"),
    "escape": ("kramers1940brownian", "langer1969statistical"),
    "thermal": ("roberts1996exponential",),
    "kernel-collapse": ("derrida1997random",),
    "dispersion": ("velickovic2025softmax",),
}

_MAPS: Mapping[str, tuple[str, ...]] = {
    "entmax": ("peters2019sparse",),
    "capped-entmax": ("peters2019sparse",),
    "sparsemax-k": ("martins2016softmax",),
    "normmax": ("blondel2020learning",),
    "constrained-sparsemax": ("malaviya2018sparse",),
    "constrained-softmax": ("malaviya2018sparse",),
}


def citations(options: Mapping[str, Any], executors: Sequence[str] = ()) -> tuple[str, ...]:
    """Keys of all that a result rests on, in the order of `ENTRIES`.

    Parameters
    ----------
    options : mapping
        The attributes of its data: study, α or attention map; of a grid what is swept, and under `axes` the
        values of its axes.
    executors : sequence of str
        Where it was computed.

    Returns
    -------
    tuple of str
    """
    axes = options.get("axes")
    axes = axes if isinstance(axes, Mapping) else {}
    study = options.get("sweep", options.get("study", ""))
    found = {*_ALWAYS, *_STUDIES.get(str(study), ())}
    for alpha in _all(options.get("alpha"), axes.get("alpha")):
        found |= _family(alpha)
    for name in _all(options.get("attention"), axes.get("attention")):
        found |= set(_MAPS.get(str(name.get("name")) if isinstance(name, Mapping) else str(name), ()))
    if "dask" in executors:
        found.add("rocklin2015dask")
    return tuple(key for key in ENTRIES if key in found)


def bibtex(keys: Sequence[str]) -> str:
    """The BibTeX of some entries."""
    return "\n\n".join(ENTRIES[key] for key in keys)


def _all(*given: Any) -> list[Any]:
    """All values of an option, wherever it stands."""
    found: list[Any] = []
    for value in given:
        found += list(value) if isinstance(value, list | tuple) else [] if value is None else [value]
    return found


def _family(alpha: Any) -> set[str]:
    """What the Tsallis family is known by at some α."""
    if not isinstance(alpha, int | float):
        return set()
    if alpha == 1:
        return {"ramsauer2021hopfield"}
    if alpha == 2:
        return {"tsallis1988possible", "martins2016softmax"}
    return {"tsallis1988possible"} | ({"peters2019sparse"} if 1 < alpha < math.inf else set())
