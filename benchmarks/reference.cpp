// Hand-written yardstick for timefem: the free rigid body in unit quaternions, mixed Galerkin method mG(k).
//
// May & Betsch (2025), sections 3.1 and 4.2. Index-2 (GGL) Hamiltonian form, state z = (q, p), 14 unknowns:
//
//     q = (phi (3), quat (4)),  p = (p_phi (3), p_quat (4)),  multipliers lambda = (gamma, mu)
//     H = |p_phi|^2 / (2 m) + 1/8 w . A w,   w = Ql(quat)^T p_quat,   A = diag(tr(J)/2, J)^-1  (polynomial)
//     Theta = (Phi, Psi),   Phi = (quat.quat - 1) / 2,   Psi = quat.p_quat
//     J^T zdot = grad H + grad Theta^T lambda,   J^T zdot = (-pdot, qdot)
//
// Written as one would by hand for this one body, one thread: the Hessian is constant on the translation and
// one dense 8 x 8 block on y = (quat, p_quat); grad Theta is linear in z. Everything else here is plain C++.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

namespace {

constexpr int n_z = 14;       // state
constexpr int n_q = 7;        // configuration
constexpr int n_y = 8;        // rotational part y = (quat, p_quat)
constexpr int n_lambda = 2;   // multipliers at a node
constexpr int max_points = 16;
constexpr double pi = 3.14159265358979323846;
constexpr int rot[n_y] = {3, 4, 5, 6, 10, 11, 12, 13};   // where y sits in z

// Gauss-Legendre points and weights on [0, 1].
void gauss_legendre(int n, double* xi, double* w) {
    for (int i = 0; i < n; ++i) {
        double x = std::cos(pi * (i + 0.75) / (n + 0.5)), slope = 1.0;
        for (int it = 0; it < 10; ++it) {
            double p0 = 1.0, p1 = x;   // Legendre polynomials of degree j - 1 and j
            for (int j = 1; j < n; ++j) {
                const double p2 = ((2 * j + 1) * x * p1 - j * p0) / (j + 1);
                p0 = p1;
                p1 = p2;
            }
            slope = n * (x * p1 - p0) / (x * x - 1.0);
            x -= p1 / slope;
        }
        xi[i] = 0.5 * (1.0 - x);
        w[i] = 1.0 / ((1.0 - x * x) * slope * slope);
    }
}

struct Body {
    double inverse_mass;
    double a[4];   // A / 4

    Body(double mass, const double* J) : inverse_mass(1.0 / mass) {
        a[0] = 0.25 * 2.0 / (J[0] + J[1] + J[2]);
        for (int i = 0; i < 3; ++i) a[i + 1] = 0.25 / J[i];
    }

    // grad += s1 grad H_rot(y) and hess += s2 hess H_rot(y), H_rot = 1/8 w . A w.
    //
    // w = Ql(q)^T p = conj(q) p is bilinear. With M^T = dw/dy, (4 x 8), and v = A w / 4:
    //     grad = M v,   hess = M A/4 M^T + [0, Qr(v)^T; Qr(v), 0]
    void add_rotation(const double* y, double s1, double s2, double* __restrict grad,
                      double (*__restrict hess)[n_y]) const {
        const double q0 = y[0], q1 = y[1], q2 = y[2], q3 = y[3], p0 = y[4], p1 = y[5], p2 = y[6], p3 = y[7];
        alignas(64) const double m[4][n_y] = {{p0, p1, p2, p3, q0, q1, q2, q3},
                                              {p1, -p0, -p3, p2, -q1, q0, q3, -q2},
                                              {p2, p3, -p0, -p1, -q2, -q3, q0, q1},
                                              {p3, -p2, p1, -p0, -q3, q2, -q1, q0}};
        const double v[4] = {a[0] * (q0 * p0 + q1 * p1 + q2 * p2 + q3 * p3),
                             a[1] * (q0 * p1 - q1 * p0 + q3 * p2 - q2 * p3),
                             a[2] * (q0 * p2 - q2 * p0 + q1 * p3 - q3 * p1),
                             a[3] * (q0 * p3 - q3 * p0 + q2 * p1 - q1 * p2)};

        for (int b = 0; b < n_y; ++b)
            grad[b] += s1 * (v[0] * m[0][b] + v[1] * m[1][b] + v[2] * m[2][b] + v[3] * m[3][b]);

        const double s[4] = {s2 * a[0], s2 * a[1], s2 * a[2], s2 * a[3]};
        for (int r = 0; r < n_y; ++r) {
            const double c0 = s[0] * m[0][r], c1 = s[1] * m[1][r], c2 = s[2] * m[2][r], c3 = s[3] * m[3][r];
            for (int b = 0; b < n_y; ++b)
                hess[r][b] += c0 * m[0][b] + c1 * m[1][b] + c2 * m[2][b] + c3 * m[3][b];
        }
        const double u0 = s2 * v[0], u1 = s2 * v[1], u2 = s2 * v[2], u3 = s2 * v[3];
        const double qr[4][4] = {
            {u0, -u1, -u2, -u3}, {u1, u0, u3, -u2}, {u2, -u3, u0, u1}, {u3, u2, -u1, u0}};
        for (int r = 0; r < 4; ++r)
            for (int b = 0; b < 4; ++b) {
                hess[4 + r][b] += qr[r][b];
                hess[r][4 + b] += qr[b][r];
            }
    }
};

// ---- mG(1), marched ----

constexpr int n_x = n_z + n_lambda;   // unknowns of a step: z1, h lambda

// Residual r (16) and tangent k (16 x 16) of one step. Rows: 14 for z, 2 for the constraints, dt-weighted.
// grad Theta is linear and the translation quadratic, so their Gauss sums need the mean state only.
void step_mg1_kernel(const Body& body, const double* z0, const double* x, double h, int n_points,
                     const double* xi, const double* w, double* __restrict r, double (*__restrict k)[n_x]) {
    double y0[n_y], y1[n_y], dy[n_y], mean[n_y];
    double s0 = 0.0, s1 = 0.0;   // integrals of the two shape functions
    for (int g = 0; g < n_points; ++g) {
        s0 += w[g] * (1.0 - xi[g]);
        s1 += w[g] * xi[g];
    }
    for (int a = 0; a < n_y; ++a) {
        y0[a] = z0[rot[a]];
        y1[a] = x[rot[a]];
        dy[a] = y1[a] - y0[a];
        mean[a] = s0 * y0[a] + s1 * y1[a];
    }

    alignas(64) double grad[n_y] = {};
    alignas(64) double hess[n_y][n_y] = {};
    for (int g = 0; g < n_points; ++g) {
        double y[n_y];
        for (int a = 0; a < n_y; ++a) y[a] = y0[a] + xi[g] * dy[a];
        body.add_rotation(y, w[g] * h, w[g] * xi[g] * h, grad, hess);
    }
    const double gamma = x[n_z], mu = x[n_z + 1];   // times h
    for (int a = 0; a < 4; ++a) {
        grad[a] += gamma * mean[a] + mu * mean[4 + a];
        grad[4 + a] += mu * mean[a];
        hess[a][a] += s1 * gamma;
        hess[a][4 + a] += s1 * mu;
        hess[4 + a][a] += s1 * mu;
    }

    for (int i = 0; i < n_x; ++i)
        for (int j = 0; j < n_x; ++j) k[i][j] = 0.0;
    for (int i = 0; i < n_q; ++i) {
        k[i][n_q + i] = -1.0;
        k[n_q + i][i] = 1.0;
        r[i] = z0[n_q + i] - x[n_q + i];
        r[n_q + i] = x[i] - z0[i];
    }
    for (int i = 0; i < 3; ++i) {
        k[n_q + i][n_q + i] = -h * s1 * body.inverse_mass;
        r[n_q + i] -= h * body.inverse_mass * (s0 * z0[n_q + i] + s1 * x[n_q + i]);
    }
    for (int a = 0; a < n_y; ++a) {
        r[rot[a]] -= grad[a];
        for (int b = 0; b < 4; ++b) {
            k[rot[a]][3 + b] -= hess[a][b];
            k[rot[a]][10 + b] -= hess[a][4 + b];
        }
    }
    r[n_z] = r[n_z + 1] = 0.0;
    for (int a = 0; a < 4; ++a) {
        const double q = mean[a], p = mean[4 + a];
        k[3 + a][n_z] = -q;
        k[3 + a][n_z + 1] = -p;
        k[10 + a][n_z + 1] = -q;
        k[n_z][3 + a] = q + s1 * dy[a];
        k[n_z + 1][3 + a] = p + s1 * dy[4 + a];
        k[n_z + 1][10 + a] = q + s1 * dy[a];
        r[n_z] += q * dy[a];
        r[n_z + 1] += p * dy[a] + q * dy[4 + a];
    }
}

// Solves k x = b by LU with partial pivoting; b becomes x, k is destroyed. False when k is singular.
// L is applied to b as it arises and not kept, so columns to the left of the pivot may be overwritten.
bool solve_dense(double (*__restrict k)[n_x], double* __restrict b) {
    double inverse_pivot[n_x];
    for (int c = 0; c < n_x; ++c) {
        int pivot = c;
        for (int i = c + 1; i < n_x; ++i)
            if (std::fabs(k[i][c]) > std::fabs(k[pivot][c])) pivot = i;
        if (!(std::fabs(k[pivot][c]) > 0.0)) return false;
        if (pivot != c) {
            for (int j = 0; j < n_x; ++j) std::swap(k[c][j], k[pivot][j]);
            std::swap(b[c], b[pivot]);
        }
        inverse_pivot[c] = 1.0 / k[c][c];
        for (int i = c + 1; i < n_x; ++i) {
            if (k[i][c] == 0.0) continue;   // the tangent is two thirds zeros
            const double f = k[i][c] * inverse_pivot[c];
            for (int j = (c + 1) & ~3; j < n_x; ++j) k[i][j] -= f * k[c][j];   // whole vectors of four
            b[i] -= f * b[c];
        }
    }
    for (int i = n_x - 1; i >= 0; --i) {
        b[i] *= inverse_pivot[i];
        for (int j = 0; j < i; ++j) b[j] -= k[j][i] * b[i];   // by columns: no chain of sums
    }
    return true;
}

double max_norm(const double* x, int n) {
    double m = 0.0;
    for (int i = 0; i < n; ++i) {
        const double v = std::fabs(x[i]);
        if (v > m || std::isnan(v)) m = v;   // a NaN stays
    }
    return m;
}

// ---- mG(2), element residual and tangent ----

constexpr int n_rows = 2 * n_z + 2 * n_lambda;      // 32: z rows of both tests, multiplier rows of both tests
constexpr int n_columns = 3 * n_z + 2 * n_lambda;   // 46: left, mid, lambda of both nodes, right
constexpr int column[3] = {0, n_z, 2 * n_z + 2 * n_lambda};   // first column of the nodes 0, 1/2, 1
constexpr int lambda_column = 2 * n_z;

struct ShapeMg2 {
    int n_points;
    double w[max_points], n[max_points][3], dn[max_points][3], nt[max_points][2];
    double tn[2][3], tdn[2][3];   // integrals of nt_i n_j and nt_i dn_j

    explicit ShapeMg2(int n_points_) : n_points(n_points_), tn{}, tdn{} {
        double xi[max_points];
        gauss_legendre(n_points, xi, w);
        for (int g = 0; g < n_points; ++g) {
            const double s = xi[g];
            n[g][0] = (2.0 * s - 1.0) * (s - 1.0);
            n[g][1] = 4.0 * s * (1.0 - s);
            n[g][2] = (2.0 * s - 1.0) * s;
            dn[g][0] = 4.0 * s - 3.0;
            dn[g][1] = 4.0 - 8.0 * s;
            dn[g][2] = 4.0 * s - 1.0;
            nt[g][0] = 1.0 - s;
            nt[g][1] = s;
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 3; ++j) {
                    tn[i][j] += w[g] * nt[g][i] * n[g][j];
                    tdn[i][j] += w[g] * nt[g][i] * dn[g][j];
                }
        }
    }
};

void element_mg2(const Body& body, const ShapeMg2& shape, const double* z, const double* lam, double h,
                 double* __restrict r, double (*__restrict k)[n_columns]) {
    alignas(64) double ynode[3][n_y];
    for (int j = 0; j < 3; ++j)
        for (int a = 0; a < n_y; ++a) ynode[j][a] = z[j * n_z + rot[a]];

    // Sums over the points, rotational part only.
    alignas(64) double rs[2][n_y] = {}, ks[2][3][n_y][n_y] = {};
    alignas(64) double theta[2][2][n_y] = {};   // lambda columns: -h int nt_i nt_j y
    alignas(64) double rows[2][3][n_y] = {};    // constraint rows: int nt_i (n_j h ydot + dn_j y)
    double rl[2][n_lambda] = {};
    for (int g = 0; g < shape.n_points; ++g) {
        const double *n = shape.n[g], *dn = shape.dn[g], *nt = shape.nt[g];
        alignas(64) double y[n_y], dy[n_y], grad[n_y] = {}, hess[n_y][n_y] = {};
        for (int a = 0; a < n_y; ++a) {
            y[a] = n[0] * ynode[0][a] + n[1] * ynode[1][a] + n[2] * ynode[2][a];
            dy[a] = dn[0] * ynode[0][a] + dn[1] * ynode[1][a] + dn[2] * ynode[2][a];   // h ydot
        }
        const double gamma = nt[0] * lam[0] + nt[1] * lam[2], mu = nt[0] * lam[1] + nt[1] * lam[3];
        body.add_rotation(y, 1.0, 1.0, grad, hess);
        double phi = 0.0, psi = 0.0;   // h d/dt of the constraints
        for (int a = 0; a < 4; ++a) {
            grad[a] += gamma * y[a] + mu * y[4 + a];
            grad[4 + a] += mu * y[a];
            hess[a][a] += gamma;
            hess[a][4 + a] += mu;
            hess[4 + a][a] += mu;
            phi += y[a] * dy[a];
            psi += y[4 + a] * dy[a] + y[a] * dy[4 + a];
        }
        for (int i = 0; i < 2; ++i) {
            const double c = shape.w[g] * nt[i];
            for (int a = 0; a < n_y; ++a) rs[i][a] -= h * c * grad[a];
            rl[i][0] += c * phi;
            rl[i][1] += c * psi;
            for (int j = 0; j < 2; ++j)
                for (int a = 0; a < n_y; ++a) theta[i][j][a] -= h * c * nt[j] * y[a];
            for (int j = 0; j < 3; ++j) {
                const double cn = c * n[j], cdn = c * dn[j], ch = -h * cn;
                for (int a = 0; a < n_y; ++a) rows[i][j][a] += cn * dy[a] + cdn * y[a];
                for (int a = 0; a < n_y; ++a)
                    for (int b = 0; b < n_y; ++b) ks[i][j][a][b] += ch * hess[a][b];
            }
        }
    }

    // Into place, with the constant parts.
    std::memset(k, 0, sizeof(double) * n_rows * n_columns);
    for (int i = 0; i < 2; ++i) {
        double* ri = r + i * n_z;
        const double *t = shape.tdn[i], *tn = shape.tn[i];
        for (int a = 0; a < n_q; ++a) {
            ri[a] = -(t[0] * z[n_q + a] + t[1] * z[n_z + n_q + a] + t[2] * z[2 * n_z + n_q + a]);
            ri[n_q + a] = t[0] * z[a] + t[1] * z[n_z + a] + t[2] * z[2 * n_z + a];
        }
        for (int a = 0; a < 3; ++a)
            ri[n_q + a] -= h * body.inverse_mass
                         * (tn[0] * z[n_q + a] + tn[1] * z[n_z + n_q + a] + tn[2] * z[2 * n_z + n_q + a]);
        for (int a = 0; a < n_y; ++a) ri[rot[a]] += rs[i][a];

        double(*ki)[n_columns] = k + i * n_z;
        for (int j = 0; j < 3; ++j) {
            const int c = column[j];
            for (int a = 0; a < n_y; ++a)
                for (int b = 0; b < 4; ++b) {
                    ki[rot[a]][c + 3 + b] = ks[i][j][a][b];
                    ki[rot[a]][c + 10 + b] = ks[i][j][a][4 + b];
                }
            for (int a = 0; a < n_q; ++a) {
                ki[a][c + n_q + a] -= t[j];
                ki[n_q + a][c + a] += t[j];
            }
            for (int a = 0; a < 3; ++a) ki[n_q + a][c + n_q + a] = -h * body.inverse_mass * tn[j];
        }
        for (int j = 0; j < 2; ++j) {
            const int c = lambda_column + j * n_lambda;
            for (int a = 0; a < 4; ++a) {
                ki[3 + a][c] = theta[i][j][a];
                ki[3 + a][c + 1] = theta[i][j][4 + a];
                ki[10 + a][c + 1] = theta[i][j][a];
            }
        }
        const int row = 2 * n_z + i * n_lambda;
        r[row] = rl[i][0];
        r[row + 1] = rl[i][1];
        for (int j = 0; j < 3; ++j)
            for (int a = 0; a < 4; ++a) {
                k[row][column[j] + 3 + a] = rows[i][j][a];
                k[row + 1][column[j] + 3 + a] = rows[i][j][4 + a];
                k[row + 1][column[j] + 10 + a] = rows[i][j][a];
            }
    }
}

}  // namespace

extern "C" {

// Residual (16) and tangent (16 x 16) of one mG(1) step at x = (z1, h lambda); for checks.
void step_mg1(double mass, const double* J, const double* z0, const double* x, double h, int n_points,
              double* residual, double* tangent) {
    double xi[max_points], w[max_points];
    gauss_legendre(n_points, xi, w);
    step_mg1_kernel(Body(mass, J), z0, x, h, n_points, xi, w, residual,
                    reinterpret_cast<double(*)[n_x]>(tangent));
}

// Marches mG(1). z_out is (n_steps + 1) x 14 with z0 first, n_iter holds the linear solves of every step.
// Returns 0, or the number (from 1) of the step that did not converge or has a singular tangent.
int march_mg1(double mass, const double* J, const double* z0, double h, int n_steps, int n_points,
              double* z_out, int* n_iter, double tol_residual, double tol_increment) {
    constexpr int max_iterations = 20;
    const Body body(mass, J);
    double xi[max_points], w[max_points];
    gauss_legendre(n_points, xi, w);
    std::memcpy(z_out, z0, sizeof(double) * n_z);

    alignas(64) double x[n_x] = {}, r[n_x], k[n_x][n_x];
    for (int step = 0; step < n_steps; ++step) {
        const double* left = z_out + static_cast<std::ptrdiff_t>(step) * n_z;
        for (int a = 0; a < n_z; ++a) x[a] = step == 0 ? left[a] : 2.0 * left[a] - left[a - n_z];

        double increment = 0.0, previous = 0.0;
        for (int it = 0;; ++it) {
            step_mg1_kernel(body, left, x, h, n_points, xi, w, r, k);
            const double norm = max_norm(r, n_x);
            if (it > 0 && increment <= tol_increment && (norm <= tol_residual || norm >= previous)) {
                n_iter[step] = it;
                break;
            }
            if (it == max_iterations || !solve_dense(k, r)) return step + 1;
            for (int a = 0; a < n_x; ++a) x[a] -= r[a];
            increment = max_norm(r, n_x);
            previous = norm;
        }
        std::memcpy(z_out + static_cast<std::ptrdiff_t>(step + 1) * n_z, x, sizeof(double) * n_z);
    }
    return 0;
}

// Residual and tangent of mG(2) elements; lam is lambda itself (not h lambda), nodes 0 and 1 of each element.
// residual: n_elements x 32, rows (test 0: z 14, test 1: z 14, test 0: 2, test 1: 2).
// tangent: n_elements x 32 x 46, columns (left z 14, mid z 14, lambda 2 x 2, right z 14).
void elements_mg2(double mass, const double* J, int n_elements, const double* z_nodes, const double* lam,
                  double h, int n_points, double* residual, double* tangent) {
    const Body body(mass, J);
    const ShapeMg2 shape(n_points);
    for (std::ptrdiff_t e = 0; e < n_elements; ++e)
        element_mg2(body, shape, z_nodes + e * 2 * n_z, lam + e * 4, h, residual + e * n_rows,
                    reinterpret_cast<double(*)[n_columns]>(tangent + e * n_rows * n_columns));
}

}  // extern "C"
