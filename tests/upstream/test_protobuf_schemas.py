"""What protoc makes of the .proto files is checked in: it must be what protoc makes of them now."""

from pathlib import Path

import grpc_tools
import pytest
from grpc_tools import protoc

import upstream.protobuf

FOLDER = Path(upstream.protobuf.__file__).parent
SCHEMAS = sorted(FOLDER.glob("*.proto"))


def test_there_are_schemas() -> None:
    engines = {"auth", "bundle", "packet", "searcher"}
    assert {each.stem for each in SCHEMAS} == {"confirmed_block", "geyser", *engines}


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: schema.stem)
def test_what_is_checked_in_is_fresh(schema: Path, tmp_path: Path) -> None:
    root = FOLDER.parent.parent
    published = Path(grpc_tools.__file__).parent / "_proto"
    options = [f"-I{root}", f"-I{published}", f"--python_out={tmp_path}", f"--pyi_out={tmp_path}"]
    assert protoc.main(["protoc", *options, str(schema)]) == 0
    for ending in ("py", "pyi"):
        name = f"{schema.stem}_pb2.{ending}"
        made = (tmp_path / "upstream" / "protobuf" / name).read_text()
        assert made == (FOLDER / name).read_text(), "run `make protobuf`"
