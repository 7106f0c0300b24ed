/* Edges are inspected, pairs compared, beliefs repaired and the trusted pooled: the arithmetic of core/trust.py,
 * core/heading.py, core/pushes.py and core/gaussian.py, number by number up to rounding.
 */
#include "numbers.h"

/* ---- inspection ---- */

/* inside[e]: whether sender[e] lies within receiver[e]'s band on every weight; it stops at the first that does not.
 * Threads take `run` edges at a time, and go through them tile by tile, so that all that was sent is read from memory
 * once. A NaN is never inside. */
int inspect(const float *local, const float *width, const float *sent, const int64_t *receiver, const int64_t *sender,
            uint8_t *inside, int64_t edges, int64_t weights, int64_t run, int64_t *next) {
  const int64_t tile = 2048;
  for (;;) {
    int64_t first = __atomic_fetch_add(next, run, __ATOMIC_RELAXED);
    if (first >= edges) return 0;
    int64_t last = first + run < edges ? first + run : edges;
    for (int64_t e = first; e < last; e++) inside[e] = 1;
    for (int64_t start = 0; start < weights; start += tile) {
      int64_t n = weights - start < tile ? weights - start : tile;
      for (int64_t e = first; e < last; e++) {
        if (!inside[e]) continue;
        const float *restrict a = local + receiver[e] * weights + start, *restrict w = width + receiver[e] * weights + start;
        const float *restrict b = sent + sender[e] * weights + start;
        int32_t good = 1;
        for (int64_t j = 0; j < n; j++) good &= fabsf(a[j] - b[j]) <= w[j];
        inside[e] = (uint8_t)good;
      }
    }
  }
}

/* For every pair: the largest |local - sent| - width, how many weights are outside, and the weight that is the most stds
 * away. Threads take receivers. A NaN makes the excess NaN and is never the farthest. */
int survey(const float *local, const float *width, const float *std, const float *sent, float *excess, int64_t *outside,
           int64_t *worst, float *sigmas, int64_t receivers, int64_t senders, int64_t weights, int64_t *next) {
  const int64_t tile = 1024;
  for (;;) {
    int64_t i = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED);
    if (i >= receivers) return 0;
    for (int64_t p = i * senders; p < (i + 1) * senders; p++)
      excess[p] = -INFINITY, outside[p] = 0, worst[p] = 0, sigmas[p] = 0;
    for (int64_t start = 0; start < weights; start += tile) {
      int64_t n = weights - start < tile ? weights - start : tile;
      const float *restrict a = local + i * weights + start, *restrict w = width + i * weights + start;
      const float *restrict s = std + i * weights + start;
      for (int64_t j = 0; j < senders; j++) {
        const float *restrict b = sent + j * weights + start;
        float over = -INFINITY, far = 0;
        int32_t count = 0, broken = 0;
        for (int64_t k = 0; k < n; k++) {
          float gap = fabsf(a[k] - b[k]), more = gap - w[k], ratio = gap / s[k];
          count += gap > w[k];
          broken |= more != more;
          over = more > over ? more : over;
          far = ratio > far ? ratio : far;
        }
        int64_t p = i * senders + j;
        outside[p] += count;
        excess[p] = broken || excess[p] != excess[p] ? NAN : (over > excess[p] ? over : excess[p]);
        if (far > sigmas[p]) {
          sigmas[p] = far;
          for (int64_t k = 0; k < n; k++)
            if (fabsf(a[k] - b[k]) / s[k] == far) {
              worst[p] = start + k;
              break;
            }
        }
      }
    }
  }
}

/* ---- products of pairs ---- */

/* Half a vector of numbers, and the same in double. */
typedef float half __attribute__((vector_size(2 * WIDE), aligned(4), may_alias));
typedef double twin __attribute__((vector_size(4 * WIDE), aligned(8), may_alias));
#define HALF (WIDE / 2)
#define SPAN 1024 /* weights at a time: two tables of a receiver, and those of all senders, stay in the cache */

static inline double sum_of(twin v) {
  double sum = 0;
  for (int i = 0; i < HALF; i++) sum += v[i];
  return sum;
}

static inline half part(const float *from) { return *(const half *)from; }
static inline twin widen(half v) {
#if defined(__AVX512F__) /* what gcc makes of the last line is several times as long */
  return (twin)_mm512_cvtps_pd((__m256)v);
#elif defined(__AVX__)
  return (twin)_mm256_cvtps_pd((__m128)v);
#else
  return __builtin_convertvector(v, twin);
#endif
}

/* What the ways d = sent - base of four senders have in common with a table, a.d; then b.dd where b is a `scale`, else
 * d.d and b.d. Each adds to its own sums, in the same order whoever the others are. */
static inline void products4(const float *const sent[4], const float *base, const double *a, const double *b, int scale,
                             int64_t n, double *const sums[4]) {
  twin first[4] = {{0}}, second[4] = {{0}}, third[4] = {{0}};
  int64_t j = 0;
  for (; j + HALF <= n; j += HALF) {
    twin x = *(const twin *)(a + j), y = *(const twin *)(b + j);
    for (int q = 0; q < 4; q++) {
      twin d = widen(part(sent[q] + j) - part(base + j));
      first[q] += x * d;
      second[q] += scale ? y * d * d : d * d;
      if (!scale) third[q] += y * d;
    }
  }
  double rest[4][3] = {{0}};
  for (; j < n; j++)
    for (int q = 0; q < 4; q++) {
      double d = sent[q][j] - base[j];
      rest[q][0] += a[j] * d;
      rest[q][1] += scale ? b[j] * d * d : d * d;
      if (!scale) rest[q][2] += b[j] * d;
    }
  for (int q = 0; q < 4; q++) {
    sums[q][0] += sum_of(first[q]) + rest[q][0];
    sums[q][1] += sum_of(second[q]) + rest[q][1];
    if (!scale) sums[q][2] += sum_of(third[q]) + rest[q][2];
  }
}

/* The way from `base` to `mean` in units of 1 / variance, and these units; a weight of infinite doubt has none. */
static void ways(const float *restrict mean, const float *restrict base, const float *restrict rho, double *restrict way,
                 double *restrict unit, int64_t n) {
  float std[SPAN];
  for (int64_t j = 0; j < n; j++) std[j] = log1p_(exp_(rho[j]));
  for (int64_t j = 0; j < n; j++) {
    unit[j] = rho[j] > 80.0f ? 0.0 : 1.0 / ((double)std[j] * std[j]);
    way[j] = unit[j] * (mean[j] - base[j]);
  }
}

/* way.(mean - base) */
static double own_way(const float *mean, const float *base, const double *way, int64_t n) {
  twin sums = {0};
  double rest = 0;
  int64_t j = 0;
  for (; j + HALF <= n; j += HALF) sums += *(const twin *)(way + j) * widen(part(mean + j) - part(base + j));
  for (; j < n; j++) rest += way[j] * (mean[j] - base[j]);
  return sum_of(sums) + rest;
}

/* Products for a list of pairs, ordered by receiver; three to a pair. With `doubt`, the rho of each receiver, they are
 * those of headings: d is the sender's way from `base`, which all share, and `a` the receiver's mean; way.d, d.d and
 * way.way, in units of the std. Else those of pushes: d is what was sent minus the receiver's row of `base`; with its row
 * of `a`, or of `b` where `taken` is not above 0, then d.d, then with `b`. Threads take `run` pairs at a time, span
 * by span. */
int products(const float *a, const float *b, const double *taken, const float *doubt, const float *base, const float *sent,
             const int64_t *receiver, const int64_t *sender, double *found, int64_t pairs, int64_t weights, int64_t run,
             int64_t *next) {
  double first[SPAN], second[SPAN];
  double spare[3] = {0}; /* where those go that fill up a four */
  for (;;) {
    int64_t from = __atomic_fetch_add(next, run, __ATOMIC_RELAXED);
    if (from >= pairs) return 0;
    int64_t last = from + run < pairs ? from + run : pairs;
    memset(found + 3 * from, 0, (size_t)(last - from) * 3 * sizeof(double));
    for (int64_t start = 0; start < weights; start += SPAN) {
      int64_t n = weights - start < SPAN ? weights - start : SPAN;
      for (int64_t e = from, end; e < last; e = end) {
        int64_t i = receiver[e];
        for (end = e; end < last && receiver[end] == i;) end++;
        const float *at = base + (doubt ? start : i * weights + start);
        const float *x = a + i * weights + start, *y = b + i * weights + start;
        double own = 0;
        if (doubt) {
          ways(x, at, doubt + i * weights + start, first, second, n);
          own = own_way(x, at, first, n);
        } else {
          x = taken[i] > 0 ? x : y;
          for (int64_t j = 0; j < n; j++) first[j] = x[j], second[j] = y[j];
        }
        for (int64_t p = e; p < end; p += 4) {
          const float *of[4];
          double *sums[4];
          for (int64_t q = 0; q < 4; q++) {
            int64_t pair = p + q < end ? p + q : p;
            of[q] = sent + sender[pair] * weights + start;
            sums[q] = p + q < end ? found + 3 * pair : spare;
          }
          if (doubt)
            products4(of, at, first, second, 1, n, sums);
          else
            products4(of, at, first, second, 0, n, sums);
        }
        for (int64_t p = e; doubt && p < end; p++) found[3 * p + 2] += own;
      }
    }
  }
}

/* The pull after a round's own push, keeping so much of what it was, and six products of each receiver: course.pull,
 * pull.pull, course.course, then of its push with the course, with itself, and with the pull. Threads take receivers. */
int lead(const float *course, const float *pull, const float *previous, const float *learned, float *pulled, double *found,
         double keep, int64_t receivers, int64_t weights, int64_t *next) {
  const float stay = (float)keep, add = (float)(1.0 - keep);
  for (;;) {
    int64_t i = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED);
    if (i >= receivers) return 0;
    const float *restrict c = course + i * weights, *restrict p = pull + i * weights;
    const float *restrict before = previous + i * weights, *restrict after = learned + i * weights;
    float *restrict to = pulled + i * weights;
    twin sums[6] = {{0}};
    double *sum = found + 6 * i;
    int64_t j = 0;
    for (; j + HALF <= weights; j += HALF) {
      half gap = part(after + j) - part(before + j), now = stay * part(p + j) + add * gap;
      *(half *)(to + j) = now;
      twin x = widen(part(c + j)), y = widen(now), d = widen(gap);
      sums[0] += x * y, sums[1] += y * y, sums[2] += x * x, sums[3] += x * d, sums[4] += d * d, sums[5] += y * d;
    }
    for (int k = 0; k < 6; k++) sum[k] = sum_of(sums[k]);
    for (; j < weights; j++) {
      float gap = after[j] - before[j];
      to[j] = stay * p[j] + add * gap;
      double x = c[j], y = to[j], d = gap;
      sum[0] += x * y, sum[1] += y * y, sum[2] += x * x, sum[3] += x * d, sum[4] += d * d, sum[5] += y * d;
    }
  }
}

/* ---- repair ---- */

/* Means of active receivers, with the local one wherever |local - social| > width, and how many these are; a NaN is not
 * put back. Threads take receivers. */
int repair(const float *social, const float *local, const float *width, const uint8_t *active, float *mean, int64_t *count,
           int64_t receivers, int64_t weights, int64_t *next) {
  for (;;) {
    int64_t i = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED);
    if (i >= receivers) return 0;
    const float *restrict s = social + i * weights, *restrict l = local + i * weights, *restrict w = width + i * weights;
    float *restrict to = mean + i * weights;
    int32_t outside = 0, looks = active[i];
    for (int64_t j = 0; j < weights; j++) {
      int32_t bad = looks & (fabsf(l[j] - s[j]) > w[j]);
      outside += bad;
      to[j] = bad ? l[j] : s[j];
    }
    count[i] = outside;
  }
}

/* ---- pooling ---- */

/* log(exp(std) - 1): the rho of a std above 0 */
static inline float rho_of(float std) {
  float p = 1.3888889e-3f; /* (exp(s) - 1) / s = 1 + s / 2 + s^2 / 6 + ..., for small s */
  p = fmaf(p, std, 8.3333333e-3f);
  p = fmaf(p, std, 4.1666667e-2f);
  p = fmaf(p, std, 1.6666667e-1f);
  p = fmaf(p, std, 0.5f);
  p = fmaf(p, std, 1.0f);
  float small = log_(std * p);
  float large = std + log_(1.0f - exp_(-std));
  return std < 0.3f ? small : large;
}

#define TILE 128

static inline double std_of(float rho, double low, double high) {
  float doubt = rho < -40.0f ? -40.0f : (rho > 40.0f ? 40.0f : rho); /* beyond, std is cut anyway */
  double std = log1p_(exp_(doubt));
  return std < low ? low : (std > high ? high : std);
}

/* Precisions, and what they weigh: the means themselves, or, where nobody bounds them, the products. */
__attribute__((noinline)) static void weigh(int64_t n, const float *restrict mean, const float *restrict rho, double low,
                                            double high, int bounded, double *restrict precision,
                                            double *restrict scaled) {
  for (int64_t j = 0; j < n; j++) {
    double std = std_of(rho[j], low, high);
    precision[j] = 1.0 / (std * std);
    scaled[j] = bounded ? mean[j] : precision[j] * mean[j];
  }
}

__attribute__((noinline)) static void add(double *restrict to, const double *restrict from) {
  for (int64_t j = 0; j < 2 * TILE; j++) to[j] += from[j];
}

/* The same of a sender whose precisions are read as at least `least` and at most `most`. */
__attribute__((noinline)) static void add_within(double *restrict to, const double *restrict from,
                                                 const double *restrict least, const double *restrict most) {
  for (int64_t j = 0; j < TILE; j++) {
    double p = from[j] < least[j] ? least[j] : from[j];
    p = p > most[j] ? most[j] : p;
    to[j] += p;
    to[TILE + j] += p * from[TILE + j];
  }
}

/* Pool, for every receiver, the senders from `start[receiver]` to `start[receiver + 1]` in the list; one that has none
 * keeps its row of `own_mean` and `own_rho`. A pooled std lies within [low, high]. Threads take tiles of the weights.
 * With `yard_rho`, each receiver reads every std as at least `floor` and at most `ceiling` times its row of it. */
int pool(const float *mean, const float *rho, const float *own_mean, const float *own_rho, const float *yard_rho,
         float *out_mean, float *out_rho, const int64_t *start, const int64_t *sender, int64_t receivers, int64_t senders,
         int64_t weights, double low, double high, double floor, double ceiling, int64_t *next) {
  double *each = NULL, sum[2 * TILE], least[TILE] = {0}, most[TILE] = {0};
  uint8_t *heard = calloc(senders, 1);
  if (!heard || posix_memalign((void **)&each, 64, (size_t)senders * 2 * TILE * sizeof(double))) {
    free(heard);
    return 1;
  }
  memset(each, 0, (size_t)senders * 2 * TILE * sizeof(double));
  for (int64_t e = 0; e < start[receivers]; e++) heard[sender[e]] = 1;
  for (;;) {
    int64_t first = __atomic_fetch_add(next, TILE, __ATOMIC_RELAXED);
    if (first >= weights) break;
    int64_t n = weights - first < TILE ? weights - first : TILE;
    for (int64_t j = 0; j < senders; j++)
      if (heard[j])
        weigh(n, mean + j * weights + first, rho + j * weights + first, low, high, yard_rho != NULL,
              each + j * 2 * TILE, each + j * 2 * TILE + TILE);
    for (int64_t i = 0; i < receivers; i++) {
      float *to_mean = out_mean + i * weights + first, *to_rho = out_rho + i * weights + first;
      int64_t count = start[i + 1] - start[i];
      if (count == 0) {
        memcpy(to_mean, own_mean + i * weights + first, n * sizeof(float));
        memcpy(to_rho, own_rho + i * weights + first, n * sizeof(float));
        continue;
      }
      if (!yard_rho && i > 0 && count == start[i] - start[i - 1] &&
          !memcmp(sender + start[i], sender + start[i - 1], count * sizeof(int64_t))) {
        memcpy(to_mean, to_mean - weights, n * sizeof(float)); /* it trusts whom the one before trusts */
        memcpy(to_rho, to_rho - weights, n * sizeof(float));
        continue;
      }
      memset(sum, 0, sizeof(sum));
      if (yard_rho) {
        for (int64_t j = 0; j < n; j++) {
          double std = std_of(yard_rho[i * weights + first + j], low, high);
          least[j] = 1.0 / (ceiling * std * ceiling * std);
          most[j] = 1.0 / (floor * std * floor * std);
        }
        for (int64_t e = start[i]; e < start[i + 1]; e++) add_within(sum, each + sender[e] * 2 * TILE, least, most);
      } else {
        for (int64_t e = start[i]; e < start[i + 1]; e++) add(sum, each + sender[e] * 2 * TILE);
      }
      for (int64_t j = 0; j < n; j++) {
        double std = sqrt(count / sum[j]);
        to_mean[j] = (float)(sum[TILE + j] / sum[j]);
        to_rho[j] = rho_of((float)(std < low ? low : (std > high ? high : std)));
      }
    }
  }
  free(heard);
  free(each);
  return 0;
}
