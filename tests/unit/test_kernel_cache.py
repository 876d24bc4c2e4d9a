"""Compiled kernels of older sources are not used again."""

import os

from accord.kernels import forget_old_kernels


def test_kernels_are_forgotten_when_any_source_changes(tmp_path):
    first, second = tmp_path / "first.py", tmp_path / "second.py"
    for path in (first, second):
        path.write_text("")
    assert forget_old_kernels(tmp_path)
    kernels = [tmp_path / "__pycache__" / name for name in ("first.f-1.py311.nbi", "first.f-1.py311.1.nbc")]
    other = tmp_path / "__pycache__" / "first.cpython-311.pyc"
    for path in (*kernels, other):
        path.write_bytes(b"")
    assert not forget_old_kernels(tmp_path)
    assert all(path.exists() for path in kernels)
    os.utime(second, ns=(0, 0))
    assert forget_old_kernels(tmp_path)
    assert not any(path.exists() for path in kernels)
    assert other.exists()
    assert not forget_old_kernels(tmp_path)
