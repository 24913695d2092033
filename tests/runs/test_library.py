"""The results that come with the package are those of the study files beside them."""

import pytest

import hopfieldphase as hp
from hopfieldphase.data import store
from hopfieldphase.runs.library import shipped_results, study_files
from hopfieldphase.runs.studies import read_spec

RESULTS = shipped_results()


@pytest.mark.parametrize("name", RESULTS)
def test_shipped_results_have_the_options_of_their_study_file(name):
    spec = read_spec(study_files()[name])
    attrs = store.open(RESULTS[name]).attrs
    options = {option: attrs[option] for option in type(spec).model_fields if option in attrs}
    assert type(spec)(**options | {"study": spec.study}).fingerprint == spec.fingerprint


def test_a_study_whose_result_comes_with_the_package_is_not_computed():
    data = hp.study("figure-12")
    assert data.identical(store.open(RESULTS["figure-12"]))
    assert data.hp.summary()["loads"][-1] == 4096
