"""Stability of steady motions, with published eigenvalues."""

import numpy as np

from timefem import critical_values, linearize

from ..cases.bicycle import bicycle
from .entry import entry

# speed [m/s]: castering, capsize, weave
BICYCLE = {1: (-7.11008014637442, -3.13423125066578, 3.52696170990070 + 0.8077402751993j),
           2: (-8.67387984831735, -3.07158645641514, 2.68234517512745 + 1.68066296590675j),
           3: (-10.35101467245920, -2.63366137253667, 1.70675605663975 + 2.31582447384325j),
           4: (-12.15861426576450, -1.42944427361326, 0.41325331521125 + 3.07910818603206j),
           5: (-14.07838969279820, -0.32286642900409, -0.77534188219585 + 4.46486771378823j),
           6: (-16.08537123098030, -0.00406690076970, -1.52644486584142 + 5.87673060598709j),
           7: (-18.15788466125262, 0.10268170574766, -2.13875644258362 + 7.19525913329805j),
           8: (-20.27940894394569, 0.14327879765713, -2.69348683581097 + 8.46037971396931j),
           9: (-22.43788559040858, 0.15790184030917, -3.21675402252485 + 9.69377351531791j),
           10: (-24.62459635017404, 0.16105338653172, -3.72016840437287 + 10.90681139476287j)}
WEAVE, CAPSIZE = 4.29238253634111, 6.02426201538837


@entry("bicycle-eigenvalues", "Whipple's bicycle, upright at 1 to 10 m/s: eigenvalues, weave and capsize speed",
       "Meijaard, Papadopoulos, Ruina & Schwab, Proc. R. Soc. A 463 (2007), Table 2; IFToMM library", 1e-11)
def bicycle_eigenvalues():
    system, riding = bicycle()
    critical = critical_values(lambda speed: linearize(system, riding(speed)), (0.5, 8))
    out = {"weave and capsize speed": (np.array([WEAVE, CAPSIZE]), np.array([c.value for c in critical]))}
    for speed, published in BICYCLE.items():
        found = linearize(system, riding(float(speed))).eigenvalues
        theirs, ours = np.array(published), np.array([found[np.argmin(np.abs(found - x))] for x in published])
        out[f"eigenvalues at {speed} m/s"] = tuple(np.append(x.real, x.imag) for x in (theirs, ours))
    return out
