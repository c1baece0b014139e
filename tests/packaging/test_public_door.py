"""``constructs_lib`` is the only door: it opens to each public name when asked for, and pulls in no AWS client."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import constructs_lib
from tests.packaging.building import CHECKOUT

PRINT_MODULES = "import json, sys; print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
AWS_CLIENTS = {"boto3", "botocore", "requests", "urllib3"}
HANDLERS = {each.name for each in (CHECKOUT / "lambda_handlers").iterdir() if (each / "__init__.py").is_file()}
CDK = {"aws_cdk", "constructs", "jsii"}


def modules_after(code: str) -> set[str]:
    """The packages that a fresh interpreter has loaded after the code."""
    command = [sys.executable, "-c", f"{code}\n{PRINT_MODULES}"]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def names_for_type_checkers() -> dict[str, tuple[str, ...]]:
    """The imports under ``if TYPE_CHECKING:`` by room."""
    door = ast.parse(Path(constructs_lib.__file__).read_text(encoding="utf-8"))
    (block,) = (node for node in door.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {str(node.module).partition(".")[2]: tuple(each.name for each in node.names) for node in imports}


def test_type_checkers_see_what_is_imported() -> None:
    assert names_for_type_checkers() == constructs_lib._ROOMS


def test_all_is_sorted_and_names_everything_public() -> None:
    public = [name for names in constructs_lib._ROOMS.values() for name in names]
    assert constructs_lib.__all__ == sorted(public)
    assert set(constructs_lib.__all__) <= set(dir(constructs_lib))


@pytest.mark.parametrize("name", constructs_lib.__all__)
def test_each_name_is_there(name: str) -> None:
    assert getattr(constructs_lib, name).__name__ == name


def test_another_name_is_an_attribute_error_that_says_so() -> None:
    with pytest.raises(AttributeError, match="'constructs_lib' has no attribute 'AcceleratedFlet'"):
        constructs_lib.AcceleratedFlet  # noqa: B018


def test_the_package_alone_brings_in_nothing() -> None:
    assert CDK.isdisjoint(modules_after("import constructs_lib, constructs_lib.errors, constructs_lib.catalog"))


def test_everything_brings_in_neither_aws_clients_nor_the_handlers() -> None:
    loaded = modules_after("from constructs_lib import *")
    assert loaded >= CDK
    assert (AWS_CLIENTS | HANDLERS).isdisjoint(loaded)
