"""Elements that several checks under mpirun run over."""

import timefem as tf

ELEMENTS = [tf.MixedGalerkin(1), tf.MixedGalerkin(2), tf.MixedGalerkin(3), tf.BubnovGalerkin(1),
            tf.BubnovGalerkin(1, "continuous"), tf.BubnovGalerkin(2), tf.BubnovGalerkin(2, "continuous"),
            tf.BubnovGalerkin(2, drop="end"), tf.BubnovGalerkin(3), tf.BubnovGalerkin(3, "continuous")]

BY_VELOCITIES = [tf.MixedGalerkin(1, form="lagrange"), tf.MixedGalerkin(2, form="lagrange"),
                 tf.MixedGalerkin(3, form="lagrange"), tf.MixedGalerkin(2, form="energy"),
                 tf.BubnovGalerkin(1, form="impulse"), tf.BubnovGalerkin(2, form="impulse"), tf.EML()]
