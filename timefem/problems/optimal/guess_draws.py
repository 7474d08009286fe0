"""What further guesses of optimal control draw: controls, and unknown numbers."""

import numpy as np

WAVES = 3  # of a control
WIDE = 10.0  # an upper bound over a positive lower one, above which magnitudes are drawn


def waves(actuators, bounds, t_span, seed):
    """Smooth functions of time between the bounds (2, n_controls) of controls that have two, by actuator; others are
    left out."""
    rng, found, first, (t0, t1) = np.random.default_rng(seed), {}, 0, t_span
    for actuator in actuators:
        lower, upper = bounds[:, first:first + actuator.n_controls]
        first += actuator.n_controls
        weights = rng.uniform(-1, 1, (WAVES, actuator.n_controls))
        phases = rng.uniform(0, 2 * np.pi, weights.shape)
        if not (np.isfinite(lower) & np.isfinite(upper)).all():
            continue

        def wave(t, weights=weights, phases=phases, lower=lower, upper=upper):
            angle = np.pi * (np.asarray(t)[:, None] - t0) / (t1 - t0)
            sines = sum(w * np.sin((i + 1) * angle + p) for i, (w, p) in enumerate(zip(weights, phases, strict=True)))
            return (lower + upper) / 2 + sines / WAVES * (upper - lower) / 2

        found[actuator] = wave
    return found or None


def drawn(names, bounds, seed):
    """Numbers anywhere between their bounds (2, n) where they have two, by name; others, and the duration, are left
    out."""
    rng, found = np.random.default_rng((seed, 1)), {}
    for name, (lower, upper) in zip(names, bounds.T, strict=True):
        share = rng.uniform()
        if name == "duration" or not np.isfinite([lower, upper]).all():
            continue
        apart = lower > 0 and upper > WIDE * lower
        found[name] = float(lower * (upper / lower) ** share if apart else lower + share * (upper - lower))
    return found or None
