# SPDX-License-Identifier: Apache-2.0
"""Artifacts that a test changes: the emitted program built again, the manifest sealed again."""
import ctypes
import json
import pathlib
import subprocess

CXX = ["c++", "-std=c++20", "-O1", "-fPIC", "-shared"]


def include_dir():
    return subprocess.run(["accum-run", "--include-dir"], capture_output=True, text=True, check=True).stdout.strip()


def build_program(artifact, command=CXX):
    """program.cpp -> program.so, by a compiler and its flags."""
    artifact = pathlib.Path(artifact)
    subprocess.run([*command, f"-I{include_dir()}", artifact / "program.cpp", "-o", artifact / "program.so"], check=True)
    seal(artifact)


def seal(artifact):
    """The manifest takes the files as they are now."""
    digest = ctypes.CDLL("libxxhash.so.0").XXH3_64bits
    digest.restype, digest.argtypes = ctypes.c_uint64, [ctypes.c_char_p, ctypes.c_size_t]
    path = pathlib.Path(artifact) / "manifest.json"
    manifest = json.loads(path.read_text())
    for entry in manifest["files"]:
        data = (path.parent / entry["name"]).read_bytes()
        entry["bytes"], entry["xxh3"] = len(data), f"{digest(data, len(data)):016x}"
    del manifest["checksum"]
    sealed = json.dumps(manifest, separators=(",", ":"), ensure_ascii=False).encode()
    manifest["checksum"] = f"{digest(sealed, len(sealed)):016x}"
    path.write_text(json.dumps(manifest, indent=1))
