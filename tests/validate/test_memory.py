"""Memory that can be had: by the machine, the container and the limits of the process."""

import pytest

import timefem as tf
from timefem.validate import memory

pytestmark = pytest.mark.long


@pytest.mark.parametrize("version", [0, 1])
def test_containers(version, tmp_path, monkeypatch):
    machine = memory.free_memory()
    limit, used, facts, name = memory.GROUP_FILES[version]
    (tmp_path / "memory").mkdir()
    monkeypatch.setattr(memory, "GROUP", tmp_path)
    for file, text in ((limit, "300000000"), (used, "200000000"), (facts, f"anon 5\n{name} 50000000\n")):
        (tmp_path / file).write_text(f"{text}\n")
    assert memory.free_memory() == 150_000_000
    with pytest.raises(tf.InputError, match=r"needs 0.149 GiB of memory, and 0.14 GiB are free"):
        memory.check_memory("it", 160_000_000)
    memory.check_memory("it", 140_000_000)
    (tmp_path / limit).write_text("max\n")
    assert memory.free_memory() > min(machine / 2, 160_000_000)
