"""Twenty discs in a box, for `bench_contacts.py`: they fall, and hit each other and the walls without losses.

The reference goes from impact to impact by closed forms, in extended precision, and uses nothing of timefem: between
impacts places are parabolas, of two discs beside each other straight lines; an impact exchanges the speeds along the
line of centres. The others take contacts as hard as their steps allow, without damping.
"""

import time

import numpy as np

import timefem as tf

G, RADIUS, WIDTH, END = 9.81, 0.1, 1.0, 0.2  # m, s


def start():
    """Places and velocities, (20, 2) each, in extended precision."""
    rng = np.random.default_rng(1)
    places = [(0.15 + 0.23 * (i % 4) + rng.uniform(-0.01, 0.01), 0.15 + 0.25 * (i // 4) + rng.uniform(-0.01, 0.01))
              for i in range(20)]
    velocities = [(rng.uniform(-0.5, 0.5), 0.0) for _ in places]
    return np.array(places, np.longdouble), np.array(velocities, np.longdouble)


def _first_root(a, b, c):
    """The first positive time at which a t^2 + b t + c, which is positive at first, falls through zero."""
    with np.errstate(all="ignore"):
        root = np.sqrt(np.where(b * b - 4 * a * c >= 0, b * b - 4 * a * c, np.nan))
        times = np.where(a > 0, 2 * c / (-b + root), np.where(a < 0, (-b - root) / (2 * a), -c / b))
        return np.where((times > 0) & ((a < 0) | (b < 0)), times, np.inf)


def by_events(end=END):
    """Places and velocities at the end, and the number of impacts."""
    x, v = start()
    left, fall, n = np.longdouble(end), np.array([0, -G], np.longdouble), 0
    first, second = np.triu_indices(len(x), 1)
    while True:
        d, w = x[first] - x[second], v[first] - v[second]
        pairs = _first_root((w * w).sum(axis=1), 2 * (d * w).sum(axis=1), (d * d).sum(axis=1) - (2 * RADIUS)**2)
        floor = _first_root(np.full(len(x), fall[1] / 2), v[:, 1], x[:, 1] - RADIUS)
        sides = [_first_root(np.zeros(len(x)), v[:, 0], x[:, 0] - RADIUS),
                 _first_root(np.zeros(len(x)), -v[:, 0], WIDTH - RADIUS - x[:, 0])]
        times = np.concatenate([pairs, floor, *sides])
        k = int(np.argmin(times))
        h = min(times[k], left)
        x, v, left = x + h * v + h * h / 2 * fall, v + h * fall, left - h
        if left <= 0:
            return np.concatenate([x, v]).astype(float), n
        n += 1
        if k < len(pairs):
            i, j = first[k], second[k]
            along = (x[i] - x[j]) / np.sqrt(((x[i] - x[j])**2).sum())
            push = ((v[j] - v[i]) @ along) * along
            v[i], v[j] = v[i] + push, v[j] - push
        else:
            k -= len(pairs)
            v[k % len(x), 1 if k < len(x) else 0] *= -1


def by_timefem(n, element=None):
    """Places and velocities at the end, and seconds, of n elements."""
    x, v = (value.astype(float) for value in start())
    discs = [tf.PointMass(1.0, 2, name=f"disc {i}") for i in range(len(x))]
    laws, walls = {"restitution": 1.0, "friction": 0.0}, (((0, 1, 0), 0.0), ((1, 0, 0), 0.0), ((-1, 0, 0), WIDTH))
    contacts = [tf.PlaneContact(disc, normal=normal, plane_point=(at, 0, 0), radius=RADIUS, name=f"{disc.name} {k}",
                                **laws) for disc in discs for k, (normal, at) in enumerate(walls)]
    contacts += [tf.SphereContact(a, b, radius_a=RADIUS, radius_b=RADIUS, name=f"{a.name} {b.name}", **laws)
                 for i, a in enumerate(discs) for b in discs[:i]]
    state = {disc: tf.Pose((*place, 0), velocity=(*speed, 0)) for disc, place, speed in zip(discs, x, v, strict=True)}
    problem = tf.InitialValueProblem(tf.System([*discs, *contacts], gravity=(0, -G, 0)), state, (0, END))
    begin = time.process_time()
    sol = tf.solve(problem, element or tf.MixedGalerkin(2), n, progress=False)
    seconds = time.process_time() - begin
    return np.concatenate([sol.position(disc, END)[None, :2] for disc in discs]
                          + [sol.velocity(disc, END)[None, :2] for disc in discs]), seconds


def by_mujoco(mujoco, n, integrator):
    """The same of n steps."""
    h, (x, v) = END / n, start()
    law = f'solref="{-(0.2 / h)**2} 0" solimp="0.9999 0.9999 0.001" condim="1"'
    walls = "".join(f'<geom type="plane" size="9 9 1" pos="{at} 0 0" zaxis="{normal}" {law}/>' for normal, at in (
        ("0 1 0", 0.0), ("1 0 0", 0.0), ("-1 0 0", WIDTH)))
    discs = "".join(f'<body pos="{a} {b} 0"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>'
                    f'<geom type="sphere" size="{RADIUS}" mass="1" {law}/></body>' for a, b in x.astype(float))
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{h}" gravity="0 {-G} 0" integrator="{integrator}" tolerance="1e-12" '
        f'iterations="200"/><worldbody>{walls}{discs}</worldbody></mujoco>')
    data = mujoco.MjData(model)
    data.qvel[:] = v.ravel()
    begin = time.process_time()
    for _ in range(n):
        mujoco.mj_step(model, data)
    seconds = time.process_time() - begin
    return np.concatenate([x.astype(float) + data.qpos.reshape(-1, 2), data.qvel.reshape(-1, 2)]), seconds


def by_exudyn(exudyn, n, solver):
    """The same of n steps."""
    from exudyn import itemInterface as items

    x, v = (value.astype(float) for value in start())
    stiffness = (0.2 * n / END)**2  # of a disc at a wall
    model = exudyn.SystemContainer().AddSystem()
    ground = model.AddMarker(items.MarkerNodeCoordinate(nodeNumber=model.AddNode(items.NodePointGround()),
                                                        coordinate=0))
    contact = model.AddGeneralContact()
    contact.SetFrictionPairings(np.zeros((1, 1)))
    contact.SetSearchTreeCellSize(numberOfCells=[4, 8, 1])
    nodes = []
    for place, speed in zip(x, v, strict=True):
        node = model.AddNode(items.NodePoint(referenceCoordinates=[*place, 0], initialVelocities=[*speed, 0]))
        mass = model.AddObject(items.ObjectMassPoint(mass=1.0, nodeNumber=node))
        model.AddLoad(items.Force(markerNumber=model.AddMarker(items.MarkerBodyPosition(bodyNumber=mass)),
                                  loadVector=[0, -G, 0]))
        contact.AddSphereWithMarker(model.AddMarker(items.MarkerNodePosition(nodeNumber=node)), radius=RADIUS,
                                    contactStiffness=stiffness, contactDamping=0.0, frictionMaterialIndex=0)
        for coordinate, (lower, upper) in enumerate(((RADIUS, WIDTH - RADIUS), (RADIUS, 99.0))):
            states = model.AddNode(items.NodeGenericData(initialCoordinates=[0, 0, 0], numberOfDataCoordinates=3))
            model.AddObject(items.ObjectConnectorCoordinateSpringDamperExt(
                markerNumbers=[ground, model.AddMarker(items.MarkerNodeCoordinate(nodeNumber=node,
                                                                                  coordinate=coordinate))],
                nodeNumber=states, useLimitStops=True, limitStopsLower=lower - place[coordinate],
                limitStopsUpper=upper - place[coordinate], limitStopsStiffness=stiffness))
        nodes.append(node)
    model.Assemble()
    settings = exudyn.SimulationSettings()
    settings.timeIntegration.numberOfSteps, settings.timeIntegration.endTime = n, END
    settings.timeIntegration.generalizedAlpha.spectralRadius = 1
    settings.solutionSettings.writeSolutionToFile = False
    begin = time.process_time()
    model.SolveDynamic(settings, solverType=solver)
    seconds = time.process_time() - begin
    kinds = exudyn.OutputVariableType.Position, exudyn.OutputVariableType.Velocity
    return np.concatenate([[model.GetNodeOutput(node, kind)[:2] for node in nodes] for kind in kinds]), seconds


def by_newton(newton, n):
    """The same of n steps on the processor; its numbers are single."""
    import warp

    warp.config.quiet = True
    h, (x, v) = END / n, start()
    with warp.ScopedDevice("cpu"):
        builder = newton.ModelBuilder(gravity=(0.0, -G, 0.0), up_axis=newton.Axis.Y)
        law = newton.ModelBuilder.ShapeConfig(density=0.0, ke=float((0.2 / h)**2), kd=0.0, kf=0.0, mu=0.0, gap=0.0)
        for (a, b), speed in zip(x.astype(float), v.astype(float), strict=True):
            inertia = warp.mat33(np.eye(3) * 0.4 * RADIUS**2)
            body = builder.add_body(xform=warp.transform((a, b, 0.0), warp.quat_identity()), mass=1.0, inertia=inertia)
            builder.add_shape_sphere(body, radius=RADIUS, cfg=law)
            builder.joint_qd[-6:] = [*speed, 0.0, 0.0, 0.0, 0.0]
        for plane in ((0.0, 1.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), (-1.0, 0.0, 0.0, WIDTH)):
            builder.add_shape_plane(plane=plane, width=0.0, length=0.0, cfg=law)
        model = builder.finalize()
        solver = newton.solvers.SolverSemiImplicit(model, angular_damping=0.0)
        before, after, control = model.state(), model.state(), model.control()
        newton.eval_fk(model, model.joint_q, model.joint_qd, before)
        contacts = model.contacts()

        def step():
            nonlocal before, after
            before.clear_forces()
            model.collide(before, contacts)
            solver.step(before, after, control, contacts, h)
            before, after = after, before

        step()  # kernels
        newton.eval_fk(model, model.joint_q, model.joint_qd, before)
        begin = time.process_time()
        for _ in range(n):
            step()
        seconds = time.process_time() - begin
        places, speeds = before.body_q.numpy()[:, :2], before.body_qd.numpy()[:, :2]
    return np.concatenate([places, speeds]), seconds
