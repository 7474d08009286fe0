"""Fig. 8: condition number of the tangent over the length of the elements, free spinning box in quaternions.

Claim: condition numbers of the global Bubnov-Galerkin method grow like 1/h, those of a step of mG(k) like 1/h^2.
"""

import timefem as tf
from timefem.cases import find_case
from timefem.reproduction import Finding, script
from timefem.studies import conditioning, plot_conditioning


def main(quick=False):
    n_elements = (200, 400, 800) if quick else (200, 400, 800, 1600)
    problem, finding = find_case("spinning-box").make(), Finding()
    finding.data["studies"] = studies = []
    for k in (1, 2, 3):
        bg, mg = tf.BubnovGalerkin(k, "continuous"), tf.MixedGalerkin(k)
        studies += [conditioning(problem, bg, n_elements, scaling="weights"),
                    conditioning(problem, mg, n_elements, scaling="reference", tangent="step")]
        for study, name, power in zip(studies[-2:], (f"BG({k})", f"step of mG({k})"), (1, 2), strict=True):
            finding.check(f"power of 1/h, {name}, scaled", study.slope, str(power), None,
                          "each method has a scaling of its own here, which the paper does not state")
        for element, name, power, tangent in ((bg, f"BG({k})", 1, "assembled"), (mg, f"step of mG({k})", 2, "step")):
            slope = conditioning(problem, element, n_elements, scaling="none", tangent=tangent).slope
            finding.check(f"power of 1/h, {name}, as written, in SI units", slope, str(power),
                          abs(slope - power) < 0.15,
                          "it depends on the units of the rows and unknowns, which the paper does not state")
    finding.remark = ("The powers depend on the scaling. Scaled: BG with unknowns h lambda and constraint rows / h, mG "
                      "with the weights of the reference element; the figure shows these. As written: (14) and (24); "
                      "see docs/how-to/conditioning.md.")
    return finding


def plot(finding, figure):
    ax = plot_conditioning(finding.data["studies"], figure.subplots())
    ax.set_title("Free spinning box, quaternions")


if __name__ == "__main__":
    script(__file__)
