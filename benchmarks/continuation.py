"""The fold of ten equidistant patterns under softmax, by four tools of numerical continuation.

    python -m benchmarks.continuation [--jaxcont PYTHON]

The curve x = softmax(b x), M = 10, from the retrieval state at b = 8 down through its fold and back up the
unstable arm to b = 8 or beyond. The fold is known in closed form, so that accuracy, points and processor time
can be set side by side. Tools that are not installed are named as such: `pip install contique`,
`apt-get install auto-07p gfortran`, and `pip install jaxcont` in an environment of its own, whose interpreter
`--jaxcont` names. Settings stand below: tolerances of 1e-10 to 1e-12, and about the longest steps that still
pass the fold. AUTO needs its parameter weighted by 0.01 for that, with the default weight it locates the fold
to three digits; JaxCont leaves the curve with a largest step of 1, and has its default of 0.1.

Processor time of one run after a first one that compiles, but for AUTO: there the whole call after compiling.
A busy machine makes it somewhat longer, but by far not as much as the time on the clock.
"""

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

START, M = 8.0, 10

OURS = """
import json, time
import numpy as np
from benchmarks import fold
run, _, values, found = fold.ours(10)
start = time.process_time(); run(); seconds = time.process_time() - start
print(json.dumps({"fold": found, "points": len(values), "seconds": seconds}))
"""

CONTIQUE = """
import json, time
from benchmarks import fold
run, _, values, found = fold.contique(10, fold.LONGEST)
start = time.process_time(); run(); seconds = time.process_time() - start
print(json.dumps({"fold": float(found), "points": len(values), "seconds": seconds}))
"""

JAXCONT = """
import json, time
import jax, jax.numpy as jnp
jax.config.update("jax_enable_x64", True)
import jaxcont as jc
x = jnp.eye(10)[0]
for _ in range(200):
    x = jax.nn.softmax(8.0 * x)
problem = jc.bif_problem(lambda x, b, args: x - jax.nn.softmax(b * x), u0=x, p0=8.0)
settings = jc.ContinuationPar(ds=0.05, ds_max=0.1, max_steps=110, newton_tol=1e-12)
def run():
    return jc.continuation(problem, p_span=(8.0, 1.0), settings=settings, events=[jc.Fold()])
run()
start = time.process_time(); found = run(); seconds = time.process_time() - start
print(json.dumps({"fold": float(found.events[0].p), "points": len(found.branch.params), "seconds": seconds}))
"""

AUTO_EQUATIONS = """
      SUBROUTINE FUNC(NDIM,U,ICP,PAR,IJAC,F,DFDU,DFDP)
      IMPLICIT NONE
      INTEGER, INTENT(IN) :: NDIM, ICP(*), IJAC
      DOUBLE PRECISION, INTENT(IN) :: U(NDIM), PAR(*)
      DOUBLE PRECISION, INTENT(OUT) :: F(NDIM)
      DOUBLE PRECISION, INTENT(INOUT) :: DFDU(NDIM,NDIM), DFDP(NDIM,*)
      DOUBLE PRECISION P(NDIM)
      P = EXP(PAR(1)*(U - MAXVAL(U)))
      F = P/SUM(P) - U
      END SUBROUTINE FUNC
      SUBROUTINE STPNT(NDIM,U,PAR,T)
      IMPLICIT NONE
      INTEGER, INTENT(IN) :: NDIM
      DOUBLE PRECISION, INTENT(INOUT) :: U(NDIM), PAR(*)
      DOUBLE PRECISION, INTENT(IN) :: T
      DOUBLE PRECISION P(NDIM)
      INTEGER I
      PAR(1) = 8
      U = 0
      U(1) = 1
      DO I = 1, 200
        P = EXP(PAR(1)*(U - MAXVAL(U)))
        U = P/SUM(P)
      END DO
      END SUBROUTINE STPNT
""" + "".join(
    f"      SUBROUTINE {name}\n      END SUBROUTINE {name}\n" for name in ("BCND", "ICND", "FOPT", "PVLS")
)

AUTO_CONSTANTS = """
NDIM = 10, IPS = 1, IRS = 0, ILP = 1, ICP = [1], NTST = 1, NCOL = 4, IAD = 3, ISP = 2, ISW = 1, IPLT = 0
NBC = 0, NINT = 0, NMX = 400, NPR = 400, MXBF = 0, IID = 2, ITMX = 40, ITNW = 10, NWTN = 5, JAC = 0
EPSL = 1e-10, EPSU = 1e-10, EPSS = 1e-7, DS = -0.05, DSMIN = 1e-8, DSMAX = 0.3, IADS = 1
NPAR = 4, THL = {1: 0.01}, THU = {}, RL0 = 1.0, RL1 = 8.0
"""


def python(code, interpreter=sys.executable):
    """The last line that a piece of code prints, in a fresh process with one thread."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [interpreter, "-c", code], capture_output=True, text=True, check=False, env=environment
    )
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None


def auto():
    """Fold, points and processor time of AUTO-07p; None where it is not installed."""
    if shutil.which("auto-07p") is None or shutil.which("gfortran") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "potts.f90").write_text(AUTO_EQUATIONS, encoding="utf-8")
        Path(folder, "c.potts").write_text(AUTO_CONSTANTS, encoding="utf-8")
        Path(folder, "run.auto").write_text("save(run(e='potts', c='potts'), 'potts')\n", encoding="utf-8")
        for _ in range(2):  # the first call compiles
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(["auto-07p", "run.auto"], cwd=folder, capture_output=True, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        rows = [line.split() for line in Path(folder, "b.potts").read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row and row[0] == "1"]
    # Exponents are printed with three digits, as in 4.5597785603E+000.
    (found,) = [float(re.sub(r"E\+000$", "", row[4])) for row in rows if row[2] == "2"]
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"fold": found, "points": len(rows), "seconds": seconds}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--jaxcont", default=sys.executable, help="interpreter that has jaxcont")
    given = parser.parse_args()

    from hopfieldphase.core.closed_forms import potts_spinodal

    exact = potts_spinodal(M, 1.0)
    print(
        f"the fold is at b = {exact:.12f}; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n"
    )
    print(f"{'':14}  {'fold':>15}  {'relative error':>14}  {'points':>6}  {'processor ms':>12}")
    for name, result in (
        ("hopfieldphase", python(OURS)),
        ("AUTO-07p", auto()),
        ("JaxCont", python(JAXCONT, given.jaxcont)),
        ("contique", python(CONTIQUE)),
    ):
        if result is None:
            print(f"{name:14}  not installed")
            continue
        error = abs(result["fold"] / exact - 1)
        cost = f"{result['points']:6d}  {1e3 * result['seconds']:12.1f}"
        print(f"{name:14}  {result['fold']:15.11f}  {error:14.1e}  {cost}")


if __name__ == "__main__":
    main()
