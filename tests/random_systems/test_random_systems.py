"""Random systems over the public interface, by relations that hold for all of them (metamorphic tests).

A handful here; 200 of them are slow, and `TIMEFEM_RANDOM_SYSTEMS=2000 pytest -m slow tests/random_systems` runs more.
What fails prints a script with the smallest system that still does.
"""

import os

import numpy as np
import pytest

import timefem as tf

from . import kinds, relations
from .draft import World, built, drawn, random_turn
from .extras import with_finer_beams
from .machine import check, failures_of, smallest, wide

MANY = int(os.environ.get("TIMEFEM_RANDOM_SYSTEMS", "200"))
assert kinds.solved  # its relations are in the same table
NAMES = sorted(relations.RELATIONS)
LASTING = "halves", "order_and_names", "pickled", "saved"
QUICK = "order_and_names"


@pytest.mark.parametrize("relation, seed", [pytest.param(name, seed, marks=[pytest.mark.long] * (name != QUICK))
                                            for seed, name in enumerate(NAMES) if name in LASTING])
def test_relation(relation, seed, tmp_path):
    """Without the parts whose loops take long to compile."""
    assert not failures_of(relation, seed, drawn(seed) | {"extras": []}, tmp_path)


@pytest.mark.long
def test_beams_in_directors_and_in_quaternions_meet_by_order_four():
    """At rest and in their frequencies: they differ by what is interpolated between nodes, of order 2 p."""
    draft, off = kinds.resting(drawn(391)), []
    for n in (2, 4, 8):
        found = []
        for rotation in ("quaternion", "directors"):
            made = built(with_finer_beams(draft, n), rotation=rotation)
            rest = tf.equilibrium(made.problem.system, made.problem.z0)
            slowest = np.sort(np.abs(np.linalg.eigvals(tf.linearize(made.problem.system, rest).A)))[:10]
            found.append((kinds.places(made, rest), slowest))
        off.append([np.abs(a - b).max() for a, b in zip(*found, strict=True)])
    slopes = np.log2(np.array(off[:-1]) / off[1:])
    assert (np.abs(slopes - 4) < 0.3).all() and max(off[-1]) < 1e-4


@pytest.mark.long
def test_springs_on_links_of_trees_are_not_lifted(tmp_path):
    """Places of links are no polynomials of angles: lifted like those of bodies, the tangent was singular."""
    assert not failures_of("coordinates", 253, drawn(253) | {"extras": []}, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("relation, seed", [("coordinates", 9178), ("saved", 9143), ("quantities_in_worlds", 9140)])
def test_what_was_refused_of_wide_drafts(relation, seed, tmp_path):
    """Outputs of joints in joint coordinates, beams along curves in files, momenta beside coordinates of formulas."""
    assert not failures_of(relation, seed, folder=tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("seed", [3000, 3, 5004])
def test_frequencies_are_the_same_in_all_units(seed):
    """In um the accelerations of the first were "not determined", in km and hours its frequencies off by 2e-4."""
    draft, found = kinds.resting(drawn(seed)), []
    for world in (World(), *relations.UNITS.values()):
        made = built(draft, world)
        rest = tf.equilibrium(made.problem.system, made.problem.z0)
        values = np.linalg.eigvals(tf.linearize(made.problem.system, rest).A) * world.second
        found.append(np.append(kinds.places(made, rest), np.sort(np.abs(values))))
    np.testing.assert_allclose(found[1:], [found[0]] * 3, rtol=0, atol=1e-6)
    np.testing.assert_allclose(np.array(found[1:])[:, -4:], [found[0][-4:]] * 3, rtol=1e-9)


@pytest.mark.long
def test_equilibria_are_the_same_in_turned_worlds():
    """Which of two is nearer was decided by single coordinates: in a turned world it was another one."""
    draft, found = kinds.resting(drawn(7016)), []
    for world in (World(), World(turn=random_turn(np.random.default_rng(7017)))):
        made = built(draft, world)
        found.append(kinds.places(made, tf.equilibrium(made.problem.system, made.problem.z0)))
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("length", [1e6, 1e-6, 1e-3])
def test_impacts_beside_joints_are_the_same_in_all_units(length):
    """With 1e6 units in a metre, or 1e-6, a weld beside a distance counted as redundant: its impulse was off by 5 %."""
    draft, found = kinds.leaving(drawn(3004), ()), []
    for world in (World(), World(length=length)):
        made = kinds.touched(draft, world)
        sol = kinds.solved(made, element=tf.MixedGalerkin(2))
        assert [event.kind for event in sol.events] == ["impact"]
        found.append(np.append(sol.events[0].impulses.ravel() / world.length, kinds.seen(made, sol)))
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("relation, seed", [("inverse_in_units", 4002), ("inverse_in_units", 4003),
                                            ("boundary_in_units", 4003)])
def test_problems_of_other_kinds_are_the_same_in_all_units(relation, seed):
    """In mg, mm and ms rows of controls outweighed those of the motion, and the search of controls stood still."""
    assert not failures_of(relation, seed, drawn(seed))


@pytest.mark.long
def test_marches_that_halve_elements_are_compared_on_their_nodes():
    """Where elements miss a contact, other nodes have another solution; what fails there fails the relation, too."""
    assert not failures_of("boundary", 9008)


@pytest.mark.long
def test_first_steps_that_turn_floating_trees_too_far_are_marched():
    """As those of bodies; the straight ones were followed, to where constraints broke."""
    draft = kinds.free_first(drawn(7103) | {"extras": []})
    (_, bodies), (_, trees) = (kinds.steered(draft, World(), 0.25, coordinates=way) for way in (None, "joint"))
    assert trees.statistics["newton_iterations"]["max"] < 40
    np.testing.assert_allclose(trees.objective, bodies.objective, rtol=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 100 + MANY))
def test_many(seed, tmp_path):
    check(NAMES[seed % len(NAMES)], seed, tmp_path)


@pytest.mark.long
def test_a_relation_that_does_not_hold_is_found_and_made_small(monkeypatch):
    """A spring that is stiffer at another time: told, and shrunk to the parts that it takes."""
    seed = next(s for s in range(500) if any(f["kind"] == "spring" for f in drawn(s)["forces"]) and
                len(drawn(s)["bodies"]) > 1 and not wide(s)["extras"])

    def wrong(seed):
        draft = drawn(seed)
        other = {**draft, "forces": [{**f, "size": f["size"] * (2 if f["kind"] == "spring" else 1)}
                                     for f in draft["forces"]]}
        yield "stiffer", relations.motion(built(other)), relations.motion(built(draft)), 1e-9

    monkeypatch.setitem(relations.RELATIONS, "wrong", wrong)
    assert failures_of("wrong", seed)[0][0] == "stiffer"
    draft = smallest("wrong", seed)
    assert [f["kind"] for f in draft["forces"]] == ["spring"] and len(draft["bodies"]) <= len(drawn(seed)["bodies"])
    with pytest.raises(AssertionError, match="draft = "):
        check("wrong", seed)


@pytest.mark.parametrize("relation", ["halves", "pickled"])
def test_relations_take_the_draft_they_are_given(relation, monkeypatch):
    """Those of other modules too, or nothing is made small."""
    def asked(draft, *args, **options):
        raise LookupError(draft)

    monkeypatch.setitem(relations.RELATIONS[relation].__globals__, "built", asked)
    with pytest.raises(LookupError, match="mine"):
        failures_of(relation, 3, "mine")


@pytest.mark.long
def test_drafts_are_consistent():
    """Start states that constraints refuse raise; here they hold in both coordinates."""
    for seed in range(8):
        for rotation in ("quaternion", "directors"):
            assert np.isfinite(built(wide(seed), rotation=rotation).problem.z0).all()
