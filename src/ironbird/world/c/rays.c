/* Rays and distances in a world: trees of boxes over triangles and primitives, and a tree over a grid of heights.
 *
 * Everything is double precision without contraction (the flags of native.py), so the same rays give the same bytes on
 * every processor. Nodes have single-precision boxes, rounded outwards, of four children that are tested at
 * once; they only decide what is looked at. Of hits at equal range the one with the lower object number counts, so the order of traversal
 * does not matter.
 *
 * Sources: slab test Kay & Kajiya 1986; triangle Moeller & Trumbore 1997; binned surface area heuristic Wald 2007;
 * nearest point of a triangle Ericson, Real-Time Collision Detection, 5.1.5.
 */
#include "ib_noise.h"

#define API __attribute__((visibility("default")))
#define BIG 1e300
#define STACK 256
#define WAYS 4 /* children of a node */
#define LEAF 4
#define BINS 16
#define ROW 16 /* numbers of one primitive */

enum { TRIANGLE, BOX, CYLINDER, SPHERE };

typedef struct {
  float lo[3][WAYS], hi[3][WAYS];
  int32_t child[WAYS]; /* inner: index of a node; leaf: first primitive, or first cell of a block */
  int32_t count[WAYS]; /* 0: inner, or nothing (box the wrong way round); leaf: primitives, or rows << 8 | columns */
} node_t;

typedef float four_f __attribute__((vector_size(16), aligned(4), may_alias));
typedef double four __attribute__((vector_size(32)));
typedef int64_t four_i __attribute__((vector_size(32)));

/* A thing that moves: its shape in own axes and where it is. */
typedef struct {
  double R[9], p[3]; /* R maps own axes to N */
  double radius;     /* of the ball around p that holds it */
  int32_t object, first, root, kind; /* primitive `first`, or the mesh at node `root` (first < 0) */
} body_t;

typedef struct {
  const node_t *nodes;
  const double *prims; /* ROW numbers each, in the order of the leaves */
  const int32_t *kinds, *objects;
  int64_t root; /* of what stands still; -1: nothing does */
  const node_t *cells;
  const double *norths, *easts, *heights; /* grid with a far rim around it */
  int64_t rows, columns;                  /* 0: the ground is a plane */
  double plane[3];                        /* height at the origin, slopes north and east */
  int64_t has_water;
  double water;
  const body_t *bodies;
  int64_t body_count;
} scene_t;

typedef struct {
  double o[3], d[3], inverse[3];
  int sign[3];
} ray_t;

typedef struct {
  double t, n[3];
  int32_t object;
} hit_t;

static inline double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
static inline double lesser(double a, double b) { return a < b ? a : b; }
static inline double larger(double a, double b) { return a > b ? a : b; }

/* v in own axes of a rotation R: transpose(R) v */
static inline void into(const double *R, const double *v, double *out) {
  for (int i = 0; i < 3; i++) out[i] = R[i] * v[0] + R[3 + i] * v[1] + R[6 + i] * v[2];
}
static inline void out_of(const double *R, const double *v, double *out) {
  for (int i = 0; i < 3; i++) out[i] = dot(R + 3 * i, v);
}

static inline float below(double x) {
  float f = (float)x;
  if ((double)f > x) {
    union { float f; int32_t i; } u = {f};
    u.i += f > 0 ? -1 : 1;
    if (f == 0) u.i = (int32_t)0x80000001;
    f = u.f;
  }
  return f;
}
static inline float above(double x) { return -below(-x); }

/* ------------------------------------------------------------------ building */

static double half_area(const double *b) {
  double x = b[3] - b[0], y = b[4] - b[1], z = b[5] - b[2];
  return x < 0 ? 0.0 : x * y + y * z + z * x;
}
static void grow(double *b, const double *c) {
  for (int a = 0; a < 3; a++) {
    b[a] = lesser(b[a], c[a]);
    b[3 + a] = larger(b[3 + a], c[3 + a]);
  }
}
static void empty(double *b) {
  b[0] = b[1] = b[2] = BIG;
  b[3] = b[4] = b[5] = -BIG;
}
static void put_box(node_t *node, int side, const double *b) {
  for (int a = 0; a < 3; a++) {
    node->lo[a][side] = b[a] > 1e38 ? 3e38f : below(b[a]);
    node->hi[a][side] = b[3 + a] < -1e38 ? -3e38f : above(b[3 + a]);
  }
}

/* Where to cut order[first .. first + n): the middle index after partition. */
static int64_t split(const double *bounds, int32_t *order, int64_t first, int64_t n, int depth) {
  double lo[3] = {BIG, BIG, BIG}, hi[3] = {-BIG, -BIG, -BIG};
  for (int64_t k = first; k < first + n; k++)
    for (int a = 0; a < 3; a++) {
      const double *b = bounds + 6 * (int64_t)order[k];
      double c = b[a] + b[3 + a];
      lo[a] = lesser(lo[a], c);
      hi[a] = larger(hi[a], c);
    }
  double best = BIG;
  int axis = -1, cut = 0;
  for (int a = 0; a < 3 && depth < 60; a++) {
    double width = hi[a] - lo[a];
    if (!(width > 0)) continue;
    double box[BINS][6], scale = BINS / width;
    int64_t count[BINS];
    for (int i = 0; i < BINS; i++) { empty(box[i]); count[i] = 0; }
    for (int64_t k = first; k < first + n; k++) {
      const double *b = bounds + 6 * (int64_t)order[k];
      int bin = (int)((b[a] + b[3 + a] - lo[a]) * scale);
      bin = bin < BINS ? bin : BINS - 1;
      grow(box[bin], b);
      count[bin]++;
    }
    double right[BINS], sum[6];
    int64_t number = 0;
    empty(sum);
    for (int i = BINS - 1; i > 0; i--) {
      grow(sum, box[i]);
      number += count[i];
      right[i] = half_area(sum) * (double)number;
    }
    empty(sum);
    number = 0;
    for (int i = 1; i < BINS; i++) {
      grow(sum, box[i - 1]);
      number += count[i - 1];
      double cost = half_area(sum) * (double)number + right[i];
      if (number > 0 && number < n && cost < best) { best = cost; axis = a; cut = i; }
    }
  }
  if (axis < 0) return first + n / 2; /* all centres alike, or too deep: by number */
  double scale = BINS / (hi[axis] - lo[axis]);
  int64_t i = first, j = first + n - 1;
  while (i <= j) {
    const double *b = bounds + 6 * (int64_t)order[i];
    int bin = (int)((b[axis] + b[3 + axis] - lo[axis]) * scale);
    bin = bin < BINS ? bin : BINS - 1;
    if (bin < cut) i++;
    else { int32_t swap = order[i]; order[i] = order[j]; order[j--] = swap; }
  }
  return i;
}

static int64_t build(const double *bounds, int32_t *order, int64_t first, int64_t n, node_t *nodes, int64_t *used,
                     int depth) {
  int64_t me = (*used)++, begin[WAYS + 1] = {first, first + n, first + n, first + n, first + n};
  if (n > LEAF) {
    begin[2] = split(bounds, order, first, n, depth);
    begin[1] = begin[2] - first > LEAF ? split(bounds, order, first, begin[2] - first, depth) : begin[2];
    begin[3] = begin[4] - begin[2] > LEAF ? split(bounds, order, begin[2], begin[4] - begin[2], depth) : begin[4];
  }
  for (int side = 0; side < WAYS; side++) {
    int64_t size = begin[side + 1] - begin[side];
    double box[6];
    empty(box);
    for (int64_t k = begin[side]; k < begin[side + 1]; k++) grow(box, bounds + 6 * (int64_t)order[k]);
    put_box(nodes + me, side, box);
    nodes[me].child[side] = (int32_t)begin[side];
    nodes[me].count[side] = (int32_t)size;
    if (size > LEAF) {
      nodes[me].count[side] = 0;
      nodes[me].child[side] = (int32_t)build(bounds, order, begin[side], size, nodes, used, depth + 1);
    }
  }
  return me;
}

/* A tree over n boxes; `order` comes back in the order of the leaves. Gives the number of nodes. */
API int64_t iw_build(const double *bounds, int64_t n, int32_t *order, node_t *nodes) {
  int64_t used = 0;
  for (int64_t k = 0; k < n; k++) order[k] = (int32_t)k;
  build(bounds, order, 0, n, nodes, &used, 0);
  return used;
}

/* Blocks of a grid: cells [i0, i1) x [j0, j1), cut into quarters. */
static void block(const scene_t *s, node_t *nodes, int64_t *used, int64_t i0, int64_t i1, int64_t j0, int64_t j1,
                  double *box) {
  int64_t me = (*used)++, mi = (i0 + i1) / 2, mj = (j0 + j1) / 2;
  if (i1 - i0 <= 2) mi = i1;
  if (j1 - j0 <= 2) mj = j1;
  int64_t part[WAYS][4] = {{i0, mi, j0, mj}, {mi, i1, j0, mj}, {i0, mi, mj, j1}, {mi, i1, mj, j1}};
  empty(box);
  for (int side = 0; side < WAYS; side++) {
    int64_t *q = part[side], ni = q[1] - q[0], nj = q[3] - q[2];
    double inner[6];
    empty(inner);
    if (ni * nj == 0) {
      nodes[me].child[side] = nodes[me].count[side] = 0;
    } else if (ni <= 2 && nj <= 2) {
      for (int64_t i = q[0]; i <= q[1]; i++)
        for (int64_t j = q[2]; j <= q[3]; j++) {
          double h = -s->heights[i * s->columns + j];
          double point[6] = {s->norths[i], s->easts[j], h, s->norths[i], s->easts[j], h};
          grow(inner, point);
        }
      nodes[me].child[side] = (int32_t)(q[0] * s->columns + q[2]);
      nodes[me].count[side] = (int32_t)(ni << 8 | nj);
    } else {
      nodes[me].count[side] = 0;
      nodes[me].child[side] = (int32_t)*used;
      block(s, nodes, used, q[0], q[1], q[2], q[3], inner);
    }
    put_box(nodes + me, side, inner);
    grow(box, inner);
  }
}

/* A tree over the cells of the grid; gives the number of nodes. */
API int64_t iw_build_grid(const scene_t *s, node_t *nodes) {
  int64_t used = 0;
  double box[6];
  block(s, nodes, &used, 0, s->rows - 1, 0, s->columns - 1, box);
  return used;
}

/* ------------------------------------------------------------------ rays and shapes */

static inline void take(hit_t *hit, double t, double nx, double ny, double nz, int32_t object) {
  if (t < hit->t || (t == hit->t && object < hit->object)) {
    hit->t = t;
    hit->n[0] = nx;
    hit->n[1] = ny;
    hit->n[2] = nz;
    hit->object = object;
  }
}

static inline void ray_triangle(const ray_t *r, const double *v, const double *e1, const double *e2, int32_t object,
                                hit_t *hit) {
  double h[3] = {r->d[1] * e2[2] - r->d[2] * e2[1], r->d[2] * e2[0] - r->d[0] * e2[2], r->d[0] * e2[1] - r->d[1] * e2[0]};
  double det = dot(e1, h);
  if (det == 0) return;
  double f = 1.0 / det, s[3] = {r->o[0] - v[0], r->o[1] - v[1], r->o[2] - v[2]};
  double u = f * dot(s, h);
  if (!(u >= -1e-12 && u <= 1 + 1e-12)) return; /* no ray slips between two triangles */
  double q[3] = {s[1] * e1[2] - s[2] * e1[1], s[2] * e1[0] - s[0] * e1[2], s[0] * e1[1] - s[1] * e1[0]};
  double w = f * dot(r->d, q);
  if (!(w >= -1e-12 && u + w <= 1 + 1e-12)) return;
  double t = f * dot(e2, q);
  if (t >= 0 && t <= hit->t) {
    double n[3] = {e1[1] * e2[2] - e1[2] * e2[1], e1[2] * e2[0] - e1[0] * e2[2], e1[0] * e2[1] - e1[1] * e2[0]};
    double size = 1.0 / ib_sqrt(dot(n, n));
    take(hit, t, n[0] * size, n[1] * size, n[2] * size, object);
  }
}

/* A box about the origin, axes along the coordinates. */
static void local_box(const double *o, const double *d, const double *half, double *t, double *n) {
  double near = -BIG, far = BIG;
  int in = 0, out = 0;
  *t = BIG;
  for (int a = 0; a < 3; a++) {
    if (d[a] == 0) {
      if (ib_fabs(o[a]) > half[a]) return;
      continue;
    }
    double x = 1.0 / d[a], t0 = (-half[a] - o[a]) * x, t1 = (half[a] - o[a]) * x;
    if (t0 > t1) { double swap = t0; t0 = t1; t1 = swap; }
    if (t0 > near) { near = t0; in = a; }
    if (t1 < far) { far = t1; out = a; }
  }
  if (near > far || far < 0) return;
  int a = near >= 0 ? in : out;
  *t = near >= 0 ? near : far;
  n[0] = n[1] = n[2] = 0;
  n[a] = (near >= 0) == (d[a] < 0) ? 1.0 : -1.0;
}

static void local_cylinder(const double *o, const double *d, double radius, double half, double *t, double *n) {
  double a = d[0] * d[0] + d[1] * d[1], b = o[0] * d[0] + o[1] * d[1], c = o[0] * o[0] + o[1] * o[1] - radius * radius;
  *t = BIG;
  if (a > 0) {
    double root = b * b - a * c;
    if (root >= 0) {
      root = ib_sqrt(root);
      for (int side = -1; side <= 1; side += 2) {
        double x = (-b + side * root) / a, z = o[2] + x * d[2];
        if (x >= 0 && x < *t && ib_fabs(z) <= half) {
          *t = x;
          n[0] = (o[0] + x * d[0]) / radius;
          n[1] = (o[1] + x * d[1]) / radius;
          n[2] = 0;
        }
      }
    }
  }
  if (d[2] != 0)
    for (int side = -1; side <= 1; side += 2) {
      double x = (side * half - o[2]) / d[2], p = o[0] + x * d[0], q = o[1] + x * d[1];
      if (x >= 0 && x < *t && p * p + q * q <= radius * radius) {
        *t = x;
        n[0] = n[1] = 0;
        n[2] = side;
      }
    }
}

static void local_sphere(const double *o, const double *d, double radius, double *t, double *n) {
  double a = dot(d, d), b = dot(o, d), c = dot(o, o) - radius * radius, root = b * b - a * c;
  *t = BIG;
  if (!(root >= 0)) return;
  root = ib_sqrt(root);
  double x = (-b - root) / a;
  if (x < 0) x = (-b + root) / a;
  if (x < 0) return;
  *t = x;
  for (int i = 0; i < 3; i++) n[i] = (o[i] + x * d[i]) / radius;
}

/* Primitive row: triangle v, e1, e2; others R (9), p (3), then half sizes | radius, half height | radius. */
static inline void ray_primitive(const ray_t *r, const double *row, int32_t kind, int32_t object, hit_t *hit) {
  if (kind == TRIANGLE) {
    ray_triangle(r, row, row + 3, row + 6, object, hit);
    return;
  }
  double from[3] = {r->o[0] - row[9], r->o[1] - row[10], r->o[2] - row[11]}, o[3], d[3], t, n[3], out[3];
  into(row, from, o);
  into(row, r->d, d);
  if (kind == BOX) local_box(o, d, row + 12, &t, n);
  else if (kind == CYLINDER) local_cylinder(o, d, row[12], row[13], &t, n);
  else local_sphere(o, d, row[12], &t, n);
  if (t <= hit->t) {
    out_of(row, n, out);
    take(hit, t, out[0], out[1], out[2], object);
  }
}

static inline void ray_cell(const scene_t *s, const ray_t *r, int64_t i, int64_t j, hit_t *hit) {
  const double *h = s->heights + i * s->columns + j;
  double n0 = s->norths[i], e0 = s->easts[j], dn = s->norths[i + 1] - n0, de = s->easts[j + 1] - e0;
  double h00 = -h[0], h10 = -h[s->columns], h01 = -h[1], h11 = -h[s->columns + 1];
  double v[3] = {n0, e0, h00}, far[3] = {dn, de, h11 - h00}, north[3] = {dn, 0, h10 - h00}, east[3] = {0, de, h01 - h00};
  /* (00, 11, 10) and (00, 01, 11): counter-clockwise seen from above, where up is -z */
  ray_triangle(r, v, far, north, 0, hit);
  ray_triangle(r, v, east, far, 0, hit);
}

static inline four pick(four_i mask, four a, four b) { return (four)(((four_i)a & mask) | ((four_i)b & ~mask)); }
static inline four corners(const float *f) { return __builtin_convertvector(*(const four_f *)f, four); }
static inline four all(double x) { return (four){x, x, x, x}; }

/* Ranges at which the ray enters the boxes of a node's children, BIG where it does not before `most`. */
static inline void enter(const node_t *node, const ray_t *r, double most, double *near_out) {
  four near = all(0), far = all(most);
  for (int a = 0; a < 3; a++) {
    four o = all(r->o[a]), inverse = all(r->inverse[a]);
    four t0 = (corners(r->sign[a] ? node->hi[a] : node->lo[a]) - o) * inverse;
    four t1 = (corners(r->sign[a] ? node->lo[a] : node->hi[a]) - o) * inverse;
    near = pick(t0 > near, t0, near);
    far = pick(t1 < far, t1, far);
  }
  near = pick(near <= far * (1 + 8 * 0x1p-52), near, all(BIG));
  for (int side = 0; side < WAYS; side++) near_out[side] = near[side];
}

static inline void ray_tree(const scene_t *s, const node_t *nodes, int64_t root, int cells, const ray_t *r,
                            int32_t object, hit_t *hit) {
  struct { int32_t child, count; double near; } stack[STACK];
  int depth = 1;
  stack[0].child = (int32_t)root;
  stack[0].count = 0;
  stack[0].near = 0;
  while (depth) {
    depth--;
    if (stack[depth].near > hit->t) continue;
    int32_t child = stack[depth].child, count = stack[depth].count;
    if (count == 0) {
      const node_t *node = nodes + child;
      double near[WAYS];
      enter(node, r, hit->t, near);
      int bottom = depth;
      for (int side = 0; side < WAYS; side++) {
        if (near[side] == BIG) continue;
        int k = depth++; /* the nearest on top */
        for (; k > bottom && stack[k - 1].near < near[side]; k--) stack[k] = stack[k - 1];
        stack[k].child = node->child[side];
        stack[k].count = node->count[side];
        stack[k].near = near[side];
      }
    } else if (cells) {
      int64_t i = child / s->columns, j = child % s->columns;
      for (int64_t m = 0; m < count >> 8; m++)
        for (int64_t l = 0; l < (count & 255); l++) ray_cell(s, r, i + m, j + l, hit);
    } else {
      for (int32_t p = child; p < child + count; p++)
        ray_primitive(r, s->prims + (int64_t)p * ROW, s->kinds[p], object < 0 ? s->objects[p] : object, hit);
    }
  }
}

static inline void prepare(ray_t *r) {
  for (int a = 0; a < 3; a++) {
    r->inverse[a] = r->d[a] == 0 ? BIG : 1.0 / r->d[a];
    r->sign[a] = r->d[a] < 0;
  }
}

enum { SEE_WATER = 1 };

static void ray_scene(const scene_t *s, const ray_t *r, double most, int32_t skip, int32_t flags, hit_t *hit) {
  hit->t = most;
  hit->object = INT32_MAX;
  hit->n[0] = hit->n[1] = hit->n[2] = 0;
  if (s->rows) {
    ray_tree(s, s->cells, 0, 1, r, 0, hit);
  } else {
    /* height over the plane along the ray: a + b t */
    double a = -r->o[2] - s->plane[0] - s->plane[1] * r->o[0] - s->plane[2] * r->o[1];
    double b = -r->d[2] - s->plane[1] * r->d[0] - s->plane[2] * r->d[1], t = -a / b;
    if (b != 0 && t >= 0) {
      double size = 1.0 / ib_sqrt(1 + s->plane[1] * s->plane[1] + s->plane[2] * s->plane[2]);
      take(hit, t, -s->plane[1] * size, -s->plane[2] * size, -size, 0);
    }
  }
  if (s->has_water && (flags & SEE_WATER) && r->d[2] != 0) {
    double t = (-s->water - r->o[2]) / r->d[2];
    if (t >= 0) take(hit, t, 0, 0, -1, 1);
  }
  if (s->root >= 0) ray_tree(s, s->nodes, s->root, 0, r, -1, hit);
  double squared = dot(r->d, r->d);
  for (int64_t k = 0; k < s->body_count; k++) {
    const body_t *b = s->bodies + k;
    if (b->object == skip) continue;
    double from[3] = {b->p[0] - r->o[0], b->p[1] - r->o[1], b->p[2] - r->o[2]};
    double along = dot(from, r->d), away = dot(from, from) - b->radius * b->radius;
    /* the ray passes the ball around it, or the ball lies behind */
    if (away > 0 && (along < 0 || along * along < squared * away * (1 - 1e-12))) continue;
    ray_t own;
    into(b->R, (double[3]){-from[0], -from[1], -from[2]}, own.o);
    into(b->R, r->d, own.d);
    hit_t inner = {hit->t, {0, 0, 0}, INT32_MAX};
    if (b->first >= 0) {
      ray_primitive(&own, s->prims + (int64_t)b->first * ROW, b->kind, b->object, &inner);
    } else {
      prepare(&own);
      ray_tree(s, s->nodes, b->root, 0, &own, b->object, &inner);
    }
    if (inner.object != INT32_MAX) {
      double n[3];
      out_of(b->R, inner.n, n);
      take(hit, inner.t, n[0], n[1], n[2], b->object);
    }
  }
}

/* Rays in a sensor's axes to N: `each` rays for one pose after the other. */
API void iw_turn(int64_t n, int64_t each, const double *places, const double *rotations, const double *rays, double *o,
                 double *d) {
  for (int64_t k = 0; k < n; k++) {
    const double *p = places + 3 * (k / each), *R = rotations + 9 * (k / each);
    for (int a = 0; a < 3; a++) o[3 * k + a] = p[a];
    out_of(R, rays + 3 * k, d + 3 * k);
  }
}

/* Rays from o along d, which may have any length; ranges are in the unit of o. Nothing within `most` gives most and
 * object -1. Gives the first ray that is not finite or has no direction, -1 if all are good. */
API int64_t iw_cast(const scene_t *s, int64_t n, const double *o, const double *d, double most, int32_t skip,
                 int32_t flags, double *range, int32_t *object, double *normal) {
  for (int64_t k = 0; k < n; k++) {
    ray_t r;
    double squared = dot(d + 3 * k, d + 3 * k), far = dot(o + 3 * k, o + 3 * k);
    if (!(squared > 0 && squared < BIG && far < BIG)) return k; /* NaN too */
    double length = ib_fabs(squared - 1) > 1e-12 ? ib_sqrt(squared) : 1.0;
    for (int a = 0; a < 3; a++) {
      r.o[a] = o[3 * k + a];
      r.d[a] = d[3 * k + a] / length;
    }
    prepare(&r);
    hit_t hit;
    ray_scene(s, &r, most, skip, flags, &hit);
    range[k] = hit.t;
    object[k] = hit.object == INT32_MAX ? -1 : hit.object;
    if (normal)
      for (int a = 0; a < 3; a++) normal[3 * k + a] = hit.n[a];
  }
  return -1;
}

/* The nearest hit on one mesh alone; gives whether the ray leaves the mesh there (normal along the ray). */
API void iw_leaves(const scene_t *s, int64_t root, int64_t n, const double *o, const double *d, int32_t *leaves) {
  for (int64_t k = 0; k < n; k++) {
    ray_t r;
    for (int a = 0; a < 3; a++) {
      r.o[a] = o[3 * k + a];
      r.d[a] = d[a];
    }
    prepare(&r);
    hit_t hit = {BIG, {0, 0, 0}, INT32_MAX};
    ray_tree(s, s->nodes, root, 0, &r, 0, &hit);
    leaves[k] = hit.object != INT32_MAX && dot(hit.n, r.d) > 0;
  }
}

/* ------------------------------------------------------------------ distances */

typedef struct {
  double d; /* negative inside */
  int32_t object;
} near_t;

static inline void nearer(near_t *best, double d, int32_t object) {
  if (d < best->d || (d == best->d && object < best->object)) {
    best->d = d;
    best->object = object;
  }
}

static double to_triangle(const double *p, const double *v, const double *ab, const double *ac) {
  double ap[3], d1, d2, d3, d4, d5, d6, s = 0, t = 0;
  for (int i = 0; i < 3; i++) ap[i] = p[i] - v[i];
  d1 = dot(ab, ap);
  d2 = dot(ac, ap);
  double bb = dot(ab, ab), bc = dot(ab, ac), cc = dot(ac, ac);
  d3 = d1 - bb; d4 = d2 - bc; d5 = d1 - bc; d6 = d2 - cc;
  double vc = d1 * d4 - d3 * d2, vb = d5 * d2 - d1 * d6, va = d3 * d6 - d5 * d4;
  if (d1 <= 0 && d2 <= 0) { s = t = 0; }
  else if (d3 >= 0 && d4 <= d3) { s = 1; }
  else if (vc <= 0 && d1 >= 0 && d3 <= 0) { s = d1 / (d1 - d3); }
  else if (d6 >= 0 && d5 <= d6) { t = 1; }
  else if (vb <= 0 && d2 >= 0 && d6 <= 0) { t = d2 / (d2 - d6); }
  else if (va <= 0 && d4 - d3 >= 0 && d5 - d6 >= 0) { t = (d4 - d3) / ((d4 - d3) + (d5 - d6)); s = 1 - t; }
  else { double f = 1.0 / (va + vb + vc); s = vb * f; t = vc * f; }
  double r[3];
  for (int i = 0; i < 3; i++) r[i] = ap[i] - s * ab[i] - t * ac[i];
  return ib_sqrt(dot(r, r));
}

static double to_primitive(const double *p, const double *row, int32_t kind) {
  if (kind == TRIANGLE) return to_triangle(p, row, row + 3, row + 6);
  double from[3] = {p[0] - row[9], p[1] - row[10], p[2] - row[11]}, o[3];
  into(row, from, o);
  if (kind == SPHERE) return ib_sqrt(dot(o, o)) - row[12];
  if (kind == CYLINDER) {
    double a = ib_sqrt(o[0] * o[0] + o[1] * o[1]) - row[12], b = ib_fabs(o[2]) - row[13];
    double x = larger(a, 0), y = larger(b, 0);
    return a <= 0 && b <= 0 ? larger(a, b) : ib_sqrt(x * x + y * y);
  }
  double out = 0, in = -BIG;
  for (int i = 0; i < 3; i++) {
    double q = ib_fabs(o[i]) - row[12 + i];
    if (q > 0) out += q * q;
    in = larger(in, q);
  }
  return in <= 0 ? in : ib_sqrt(out);
}

static inline double to_box(const node_t *node, int side, const double *p) {
  double sum = 0;
  for (int a = 0; a < 3; a++) {
    double q = larger(larger((double)node->lo[a][side] - p[a], p[a] - (double)node->hi[a][side]), 0);
    sum += q * q;
  }
  return ib_sqrt(sum) * (1 - 8 * 0x1p-52);
}

static void near_tree(const scene_t *s, const node_t *nodes, int64_t root, int cells, const double *p, int32_t object,
                      near_t *best) {
  struct { int32_t child, count; double near; } stack[STACK];
  int depth = 1;
  stack[0].child = (int32_t)root;
  stack[0].count = 0;
  stack[0].near = 0;
  while (depth) {
    depth--;
    /* things inside one another: all that a point could be deeper inside of is looked at */
    if (stack[depth].near > larger(best->d, 0)) continue;
    int32_t child = stack[depth].child, count = stack[depth].count;
    if (count == 0) {
      const node_t *node = nodes + child;
      int bottom = depth;
      for (int side = 0; side < WAYS; side++) {
        double near = to_box(node, side, p);
        if (near > larger(best->d, 0) || node->lo[0][side] > node->hi[0][side]) continue;
        int k = depth++;
        for (; k > bottom && stack[k - 1].near < near; k--) stack[k] = stack[k - 1];
        stack[k].child = node->child[side];
        stack[k].count = node->count[side];
        stack[k].near = near;
      }
    } else if (cells) {
      int64_t i = child / s->columns, j = child % s->columns;
      for (int64_t m = i; m < i + (count >> 8); m++)
        for (int64_t l = j; l < j + (count & 255); l++) {
          const double *h = s->heights + m * s->columns + l;
          double n0 = s->norths[m], e0 = s->easts[l], dn = s->norths[m + 1] - n0, de = s->easts[l + 1] - e0;
          double h00 = -h[0], h10 = -h[s->columns], h01 = -h[1], h11 = -h[s->columns + 1], v[3] = {n0, e0, h00};
          double far[3] = {dn, de, h11 - h00}, north[3] = {dn, 0, h10 - h00}, east[3] = {0, de, h01 - h00};
          nearer(best, to_triangle(p, v, far, north), 0);
          nearer(best, to_triangle(p, v, east, far), 0);
        }
    } else {
      for (int32_t q = child; q < child + count; q++)
        nearer(best, to_primitive(p, s->prims + (int64_t)q * ROW, s->kinds[q]), object < 0 ? s->objects[q] : object);
    }
  }
}

/* Height of the ground over a place, the triangles of model.py. */
static double ground(const scene_t *s, double north, double east) {
  if (!s->rows) return s->plane[0] + s->plane[1] * north + s->plane[2] * east;
  int64_t place[2], size[2] = {s->rows, s->columns};
  double part[2], at[2] = {north, east};
  const double *lines[2] = {s->norths, s->easts};
  for (int a = 0; a < 2; a++) {
    const double *x = lines[a];
    double step = (x[size[a] - 2] - x[1]) / (double)(size[a] - 3), inside = (at[a] - x[1]) / step;
    inside = inside < 0 ? 0 : inside > (double)(size[a] - 3) ? (double)(size[a] - 3) : inside;
    int64_t i = (int64_t)inside;
    i = i > size[a] - 4 ? size[a] - 4 : i;
    place[a] = i + 1;
    part[a] = inside - (double)i;
  }
  const double *h = s->heights + place[0] * s->columns + place[1];
  double h00 = h[0], h10 = h[s->columns], h01 = h[1], h11 = h[s->columns + 1], u = part[0], v = part[1];
  return u >= v ? h00 + u * (h10 - h00) + v * (h11 - h10) : h00 + v * (h01 - h00) + u * (h11 - h01);
}

/* Distances of points to the nearest surface; below ground and inside primitives they are negative. */
API void iw_distance(const scene_t *s, int64_t n, const double *points, double most, int32_t skip, int32_t terrain,
                     double *distance, int32_t *object) {
  for (int64_t k = 0; k < n; k++) {
    const double *p = points + 3 * k;
    near_t best = {most, INT32_MAX};
    if (s->root >= 0) near_tree(s, s->nodes, s->root, 0, p, -1, &best);
    for (int64_t i = 0; i < s->body_count; i++) {
      const body_t *b = s->bodies + i;
      double from[3] = {p[0] - b->p[0], p[1] - b->p[1], p[2] - b->p[2]}, own[3];
      if (b->object == skip || ib_sqrt(dot(from, from)) - b->radius > larger(best.d, 0)) continue;
      into(b->R, from, own);
      if (b->first >= 0)
        nearer(&best, to_primitive(own, s->prims + (int64_t)b->first * ROW, b->kind), b->object);
      else
        near_tree(s, s->nodes, b->root, 0, own, b->object, &best);
    }
    if (terrain) {
      double up = -p[2] - ground(s, p[0], p[1]);
      near_t land = {up < 0 ? BIG : larger(best.d, 0), INT32_MAX};
      if (!s->rows)
        land.d = ib_fabs(up) / ib_sqrt(1 + s->plane[1] * s->plane[1] + s->plane[2] * s->plane[2]), land.object = 0;
      else
        near_tree(s, s->cells, 0, 1, p, 0, &land);
      if (land.object == 0) nearer(&best, up < 0 ? -land.d : land.d, 0);
    }
    distance[k] = best.d;
    object[k] = best.object == INT32_MAX ? -1 : best.object;
  }
}

/* ------------------------------------------------------------------ colours */

/* One row a material: colour, second colour, checker size, reflectance. */
typedef struct {
  double colour[3], second[3], checker, reflectance;
} paint_t;

typedef struct {
  double north, east, radius, cos, sin;
  int32_t object, body; /* body: index among the bodies, -1 on the ground */
  uint64_t marker;      /* bits of the marker's cells, row by row */
  int32_t cells, pad;   /* cells along a side; 0: no marker */
  double top;           /* down coordinate of a deck, in the body's axes */
} pad_t;

/* Which pad a hit lies on, -1 if none, and where on it (forward, right of its centre). */
static int32_t pad_at(const scene_t *s, const pad_t *pads, int64_t count, int32_t object, const double *q, double *f,
                      double *g) {
  for (int64_t k = 0; k < count; k++) {
    const pad_t *p = pads + k;
    double place[3] = {q[0], q[1], q[2]};
    if (p->body < 0) {
      if (object != 0) continue;
    } else {
      const body_t *b = s->bodies + p->body;
      if (object != b->object) continue;
      into(b->R, (double[3]){q[0] - b->p[0], q[1] - b->p[1], q[2] - b->p[2]}, place);
      if (ib_fabs(place[2] - p->top) > 1e-6) continue;
    }
    double x = place[0] - p->north, y = place[1] - p->east;
    *f = p->cos * x + p->sin * y;
    *g = p->cos * y - p->sin * x;
    if (x * x + y * y <= p->radius * p->radius) return (int32_t)k;
  }
  return -1;
}

/* Object numbers with those of pads where a hit lies on one. */
API void iw_pads(const scene_t *s, const pad_t *pads, int64_t count, int64_t n, const double *o, const double *d,
                 const double *range, int32_t *object) {
  for (int64_t k = 0; k < n; k++) {
    if (object[k] < 0) continue;
    double q[3], f, g;
    for (int a = 0; a < 3; a++) q[a] = o[3 * k + a] + range[k] * d[3 * k + a];
    int32_t pad = pad_at(s, pads, count, object[k], q, &f, &g);
    if (pad >= 0) object[k] = pads[pad].object;
  }
}

/* Colours of hits in linear light: Lambert's law with one sun, a share of light from everywhere, fog.
 * sun: unit vector towards it, in N. fog: extinction in 1/m. shadow: whether to ask if the sun is hidden. */
API void iw_shade(const scene_t *s, const paint_t *paints, const pad_t *pads, int64_t pad_count, int64_t n,
                  const double *o, const double *d, const double *range, const int32_t *object, const double *normal,
                  const double *sun, double ambient, const double *sky, double fog, int32_t shadow, double *rgb) {
  for (int64_t k = 0; k < n; k++) {
    double *out = rgb + 3 * k;
    const double *way = d + 3 * k;
    double length = ib_sqrt(dot(way, way));
    if (object[k] < 0) {
      for (int c = 0; c < 3; c++) out[c] = sky[c];
      continue;
    }
    double q[3], own[3], m[3], f, g;
    const double *nk = normal + 3 * k;
    for (int a = 0; a < 3; a++) {
      q[a] = o[3 * k + a] + range[k] * way[a];
      own[a] = q[a];
      m[a] = nk[a];
    }
    /* the pattern of a thing that moves goes with it */
    for (int64_t b = 0; b < s->body_count; b++)
      if (s->bodies[b].object == object[k]) {
        const body_t *body = s->bodies + b;
        into(body->R, (double[3]){q[0] - body->p[0], q[1] - body->p[1], q[2] - body->p[2]}, own);
        into(body->R, nk, m);
        break;
      }
    const paint_t *paint = paints + object[k];
    double colour[3] = {paint->colour[0], paint->colour[1], paint->colour[2]};
    int32_t pad = pad_at(s, pads, pad_count, object[k], q, &f, &g);
    if (pad >= 0) {
      const pad_t *p = pads + pad;
      paint = paints + p->object;
      for (int c = 0; c < 3; c++) colour[c] = paint->colour[c];
      double side = 1.2 * p->radius, x = 0.5 - f / side, y = 0.5 + g / side; /* row 0 is ahead, column 0 left */
      if (p->cells && x >= 0 && x < 1 && y >= 0 && y < 1) {
        int64_t row = (int64_t)(x * p->cells), column = (int64_t)(y * p->cells);
        double bit = (double)(p->marker >> (row * p->cells + column) & 1);
        for (int c = 0; c < 3; c++) colour[c] = 0.03 + 0.87 * bit;
      } else if (!p->cells && x * x + y * y > 0) {
        double r = ib_sqrt(f * f + g * g) / p->radius; /* an H in a ring */
        int ring = r > 0.85 && r < 0.97;
        int bar = (ib_fabs(g) > 0.22 * p->radius && ib_fabs(g) < 0.36 * p->radius && ib_fabs(f) < 0.5 * p->radius) ||
                  (ib_fabs(f) < 0.08 * p->radius && ib_fabs(g) < 0.3 * p->radius);
        if (ring || bar)
          for (int c = 0; c < 3; c++) colour[c] = 0.9;
      }
    } else if (paint->checker > 0) {
      /* squares on the two axes that the surface faces least */
      double ax = ib_fabs(m[0]), ay = ib_fabs(m[1]), az = ib_fabs(m[2]);
      int drop = az >= ax && az >= ay ? 2 : ax >= ay ? 0 : 1;
      double sum = 0;
      for (int a = 0; a < 3; a++)
        if (a != drop) sum += ib_floor(own[a] / paint->checker);
      if (ib_floor(sum * 0.5) * 2 != sum)
        for (int c = 0; c < 3; c++) colour[c] = paint->second[c];
    }
    double facing = dot(nk, way) <= 0 ? 1.0 : -1.0, light = facing * dot(nk, sun);
    if (light > 0 && shadow) {
      ray_t r;
      for (int a = 0; a < 3; a++) {
        r.o[a] = q[a] + facing * nk[a] * 1e-6 * (1 + range[k] * length);
        r.d[a] = sun[a];
      }
      prepare(&r);
      hit_t hit;
      ray_scene(s, &r, 1e4, -2, 0, &hit);
      if (hit.object != INT32_MAX) light = 0;
    }
    double bright = ambient + (1 - ambient) * (light > 0 ? light : 0);
    double clear = fog > 0 ? ib_exp(-fog * range[k] * length) : 1.0; /* Koschmieder's law */
    for (int c = 0; c < 3; c++) out[c] = clear * bright * colour[c] + (1 - clear) * sky[c];
  }
}

/* ------------------------------------------------------------------ functions, the same on every machine */

API void iw_sine_cosine(int64_t n, const double *x, double *sine, double *cosine) {
  for (int64_t k = 0; k < n; k++) ib_sincos(x[k], sine + k, cosine + k);
}

API void iw_exponential(int64_t n, const double *x, double *out) {
  for (int64_t k = 0; k < n; k++) out[k] = ib_exp(x[k]);
}

/* ------------------------------------------------------------------ chance */

/* Numbers of one sample of one stream: number k depends on (seed, stream, sample, k) alone. sample < 2^36. */
API void iw_random(uint64_t seed, uint64_t stream, uint64_t sample, int32_t normal, int64_t n, double *out) {
  for (int64_t k = 0; k < n; k += 2) {
    double a, b;
    uint64_t tick = sample << 20 | (uint64_t)(k >> 9);
    uint32_t pair = (uint32_t)(k & 511) >> 1;
    if (normal) ib_normal2(seed, stream, tick, pair, &a, &b);
    else ib_uniform2(seed, stream, tick, pair, &a, &b);
    out[k] = a;
    if (k + 1 < n) out[k + 1] = b;
  }
}

/* ------------------------------------------------------------------ what is near */

enum { NO_SLOT, BALL_SLOT, CYLINDER_SLOT, BOX_SLOT }; /* kinds of symbolic/shapes.py, and where a slot has what */
enum { KIND_ROW = 0, CENTRE_ROW = 1, AXES_ROW = 7, HALF_ROW = 16, SLOT_ROWS = 22 };
#define MOST_SLOTS 8
#define SURE 1e-6 /* by which a ball around a shape may be nearer than rounding says */

static double at_least(double a, double b) { return a > b ? a : b; }

/* Distance of a place from the surface of a slot's shape, negative inside. */
static double slot_distance(const double *slot, const double *p) {
  double away[3], own[3];
  const double *axes = slot + AXES_ROW, *half = slot + HALF_ROW;
  for (int i = 0; i < 3; i++) away[i] = p[i] - slot[CENTRE_ROW + i];
  for (int a = 0; a < 3; a++) own[a] = axes[3 * a] * away[0] + axes[3 * a + 1] * away[1] + axes[3 * a + 2] * away[2];
  const int kind = (int)slot[KIND_ROW];
  const double x = own[0], y = own[1], z = own[2], level = x * x + y * y;
  if (kind == BALL_SLOT) return __builtin_sqrt(level + z * z) - half[0];
  double first, second = -BIG, third = __builtin_fabs(z) - half[2];
  if (kind == BOX_SLOT) {
    first = __builtin_fabs(x) - half[0];
    second = __builtin_fabs(y) - half[1];
  } else {
    first = __builtin_sqrt(level) - half[0];
  }
  const double inside = at_least(at_least(first, second), third);
  if (!(inside > 0)) return inside;
  const double a = at_least(first, 0), b = at_least(second, 0), c = at_least(third, 0);
  return __builtin_sqrt(a * a + b * b + c * c);
}

/* The `count` nearest slots of each place among those of its list and the loose ones, the nearest first; of equally near
 * ones the first in the lists. Slots that are `reach` away or farther are left as they are (nothing). */
API void iw_near(int64_t places, const double *p, const double *fixed, const double *bounds, const int32_t *index,
                 const int64_t *first, const int64_t *last, const double *loose, int64_t loose_count, int64_t count,
                 double reach, double *found) {
  for (int64_t k = 0; k < places; k++) {
    const double *place = p + 3 * k;
    const double *slots[MOST_SLOTS];
    double far[MOST_SLOTS];
    int64_t have = 0;
    const int64_t mine = last[k] - first[k];
    for (int64_t j = 0; j < mine + loose_count; j++) {
      const int32_t number = j < mine ? index[first[k] + j] : 0;
      const double *slot = j < mine ? fixed + (int64_t)number * SLOT_ROWS : loose + (j - mine) * SLOT_ROWS;
      const double limit = have == count ? far[count - 1] : reach;
      if (j < mine) {
        const double a = slot[CENTRE_ROW] - place[0], b = slot[CENTRE_ROW + 1] - place[1],
                     c = slot[CENTRE_ROW + 2] - place[2], ball = bounds[number] + limit + SURE;
        if (a * a + b * b + c * c > ball * ball) continue;
      }
      const double d = (int)slot[KIND_ROW] == NO_SLOT ? BIG : slot_distance(slot, place);
      if (!(d < limit)) continue;
      int64_t at = have < count ? have++ : count - 1;
      while (at > 0 && d < far[at - 1]) {
        far[at] = far[at - 1];
        slots[at] = slots[at - 1];
        at--;
      }
      far[at] = d;
      slots[at] = slot;
    }
    for (int64_t i = 0; i < have; i++)
      for (int row = 0; row < SLOT_ROWS; row++) found[(k * count + i) * SLOT_ROWS + row] = slots[i][row];
  }
}
