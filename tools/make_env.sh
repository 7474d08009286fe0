#!/usr/bin/env bash
# Builds the environment in .venv: PETSc, Open MPI and SuiteSparse from Debian (apt is called only when something
# is missing), the Python packages, and timefem itself as an editable install. Where there is no apt, the
# environment has no PETSc. Does nothing when all is in place already.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packages=(python3-petsc4py-real openmpi-bin libopenblas0-pthread libsuitesparse-dev
          python3-venv python3-dev gcc libc6-dev)     # the last three build scikit-sparse
stamp=.venv/timefem-env.stamp

say() { printf 'make env: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }
on_debian() { command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; }
missing_packages() {
    local name installed
    installed=" $(dpkg-query -W -f '${Package}=${db:Status-Status} ' "${packages[@]}" 2>/dev/null || true)"
    for name in "${packages[@]}"; do
        [[ $installed == *" $name=installed "* ]] || printf '%s ' "$name"
    done
}
fingerprint() {     # what the environment depends on; timefem/__init__.py, since the install maps the folder
    pwd
    cksum setup.cfg pyproject.toml tools/make_env.sh
    ls timefem/__init__.py 2>/dev/null || true
}

ready() {
    missing=
    if on_debian; then missing=$(missing_packages); fi
    [[ -z $missing && -f $stamp && $(<"$stamp") == "$(fingerprint)" ]] && .venv/bin/python -c '' 2>/dev/null
}

if ready; then exit 0; fi
mkdir -p .venv
if command -v flock >/dev/null; then      # two builds at once: one waits, then finds all done
    exec 9<.venv
    flock 9
    if ready; then exit 0; fi
fi

# 1. Debian's packages
if [[ -n $missing ]]; then
    as_root=(env DEBIAN_FRONTEND=noninteractive)
    if (( EUID != 0 )); then
        command -v sudo >/dev/null || die "missing Debian packages, and neither root nor sudo here. As root, run:" \
            "apt-get install --no-install-recommends $missing(or use 'pip install .': all but PETSc)"
        as_root=(sudo "${as_root[@]}")
    fi
    say "installing $missing"
    "${as_root[@]}" apt-get -qq update || say "apt-get update failed; trying with the package lists at hand"
    # shellcheck disable=SC2086
    "${as_root[@]}" apt-get -qq -o DPkg::Lock::Timeout=300 install -y --no-install-recommends $missing >/dev/null \
        || die "apt-get could not install: $missing"
fi

# 2. a virtual environment of the Python that Debian's petsc4py is built for
python=python3
if on_debian; then python=/usr/bin/python3; fi
version='import sys; print(*sys.version_info[:2], sep=".")'
if [[ $(.venv/bin/python -c "$version" 2>/dev/null) != "$("$python" -c "$version")" ]] \
        || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    say "creating .venv with Python $("$python" -c "$version")"
    "$python" -m venv --clear .venv
fi

# 3. Python packages and timefem
extras=test
limits=()
if on_debian; then
    multiarch=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("MULTIARCH"))')
    petsc=$(ls -d /usr/lib/petscdir/petsc3.*/"$multiarch"-real/lib/python3/dist-packages | sort -V | tail -n 1)
    echo "$petsc" > "$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/debian-petsc4py.pth"
    extras=parallel,sparse,test
    # Debian 12's petsc4py is compiled against NumPy 1
    if [[ $(dpkg-query -W -f '${Version}' python3-numpy) == *:1.* ]]; then limits=('numpy<2'); fi
    : > .venv/constraints.txt       # no limits yet: pip would put them on what builds scikit-sparse, too
else
    say "no apt here: an environment without PETSc (see README.md)"
fi
say "installing Python packages"
.venv/bin/python -m pip install -q --disable-pip-version-check -e ".[$extras]" ${limits[@]+"${limits[@]}"}
if on_debian; then                  # what is installed by hand later keeps to the same limits
    printf '%s\n' ${limits[@]+"${limits[@]}"} > .venv/constraints.txt
    .venv/bin/python -m pip config --site --quiet set install.constraint "$PWD/.venv/constraints.txt" >/dev/null
fi

# 4. do launcher and library agree? (mpich's mpirun starts separate single processes)
if on_debian; then
    check='from mpi4py import MPI; from petsc4py import PETSc; assert MPI.COMM_WORLD.size == PETSc.COMM_WORLD.size == 2'
    OMP_NUM_THREADS=1 mpirun --allow-run-as-root --oversubscribe --mca plm isolated -n 2 .venv/bin/python -c "$check" \
        || die "'mpirun -n 2' does not give two connected ranks. Is mpirun Open MPI's ($(command -v mpirun))?" \
               "mpich beside Open MPI is the usual cause."
fi
fingerprint > "$stamp"

# 5. the compiled loops; a run compiles what is missing, so that nothing depends on this
say "compiling loops (some ten seconds, once for this user)"
.venv/bin/timefem prepare >/dev/null || say "they could not be kept; they are compiled when they are first used"
say "done"
