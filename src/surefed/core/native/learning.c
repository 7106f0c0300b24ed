/* Rows of networks learn.
 *
 * Every row learns alone, start to end, on one thread, so that its weights, gradients and moments stay in the cache. The
 * arithmetic is that of learn/variational.py and learn/point.py, number by number up to rounding; the random numbers are
 * those of core/streams.py.
 */
#include "numbers.h"

/* ---- noise: Philox4x32-10 and Box-Muller, as in core/streams.py; 256 numbers at a time ---- */

static void normal256(float *restrict out, uint32_t group, uint32_t draw, uint32_t round, uint32_t key0, uint32_t key1) {
  uint32_t a[64], b[64], c[64], d[64];
  for (int i = 0; i < 64; i++) a[i] = 64 * group + i, b[i] = draw, c[i] = round, d[i] = 0;
  for (int turn = 0; turn < 10; turn++) {
    for (int i = 0; i < 64; i++) {
      uint64_t p0 = (uint64_t)a[i] * 0xD2511F53u, p1 = (uint64_t)c[i] * 0xCD9E8D57u;
      uint32_t na = (uint32_t)(p1 >> 32) ^ b[i] ^ key0, nc = (uint32_t)(p0 >> 32) ^ d[i] ^ key1;
      b[i] = (uint32_t)p1, d[i] = (uint32_t)p0, a[i] = na, c[i] = nc;
    }
    key0 += 0x9E3779B9u, key1 += 0xBB67AE85u;
  }
  for (int pair = 0; pair < 2; pair++) {
    const uint32_t *one = pair ? c : a, *other = pair ? d : b;
    for (int i = 0; i < 64; i++) {
      float u = ((float)one[i] + 0.5f) * 0x1p-32f;
      float radius = sqrtf(-2.0f * log_(u));
      float sine, cosine;
      sincos_((float)other[i] * (float)(0x1p-32 * 6.283185307179586), &sine, &cosine);
      out[128 * pair + i] = radius * cosine;
      out[128 * pair + 64 + i] = radius * sine;
    }
  }
}

void normal(float *out, int64_t count, uint32_t draw, uint32_t round, uint32_t key0, uint32_t key1) {
  int64_t whole = count / 256;
  for (int64_t group = 0; group < whole; group++) normal256(out + 256 * group, group, draw, round, key0, key1);
  if (count % 256) {
    float rest[256];
    normal256(rest, whole, draw, round, key0, key1);
    memcpy(out + 256 * whole, rest, (count % 256) * sizeof(float));
  }
}

/* ---- matrix products; n is a multiple of WIDE, rows of b and c are n apart ----
 *
 * A tile of the result stays in registers; its sizes are constants where it is called, so that loops over it are unrolled.
 */

/* c[rows, `wide` vectors] = bias[rows] + a[rows, k] b[k, the same] */
static always_inline void tile(int rows, int wide, const float *restrict a, const float *restrict b, const float *bias,
                               float *restrict c, int64_t n, int64_t k) {
  vec sum[6][2];
  for (int r = 0; r < rows; r++)
    for (int q = 0; q < wide; q++) sum[r][q] = all(bias ? bias[r] : 0);
  for (int64_t p = 0; p < k; p++)
    for (int r = 0; r < rows; r++)
      for (int q = 0; q < wide; q++) sum[r][q] += all(a[r * k + p]) * load(b + p * n + q * WIDE);
  for (int r = 0; r < rows; r++)
    for (int q = 0; q < wide; q++) store(c + r * n + q * WIDE, sum[r][q]);
}

static always_inline void strip(int rows, const float *restrict a, const float *restrict b, const float *bias,
                                float *restrict c, int64_t n, int64_t k) {
  int64_t j = 0;
  for (; j + 2 * WIDE <= n; j += 2 * WIDE) tile(rows, 2, a, b + j, bias, c + j, n, k);
  if (j < n) tile(rows, 1, a, b + j, bias, c + j, n, k);
}

/* c[m, n] = bias[m] + a[m, k] b[k, n] */
static void product(const float *restrict a, const float *restrict b, const float *bias, float *restrict c, int64_t m,
                    int64_t n, int64_t k) {
  int64_t i = 0;
  for (; i + 6 <= m; i += 6) strip(6, a + i * k, b, bias ? bias + i : NULL, c + i * n, n, k);
  for (; i + 4 <= m; i += 4) strip(4, a + i * k, b, bias ? bias + i : NULL, c + i * n, n, k);
  for (; i < m; i++) strip(1, a + i * k, b, bias ? bias + i : NULL, c + i * n, n, k);
}

/* What product_t multiplies: `batch` pairs of a[m, n] and b[k, n], each a_step and b_step numbers after the one before. */
typedef struct {
  int64_t n, k, batch, a_step, b_step;
} Pairs;

/* c[rows, wide] = the sum over all pairs of a[rows, n] b[wide, n]^T */
static always_inline void tile_t(int rows, int wide, const float *restrict a, const float *restrict b, float *restrict c,
                                 Pairs of) {
  vec sum[TALL][4];
  for (int r = 0; r < rows; r++)
    for (int q = 0; q < wide; q++) sum[r][q] = all(0);
  for (int64_t s = 0; s < of.batch; s++, a += of.a_step, b += of.b_step)
    for (int64_t j = 0; j < of.n; j += WIDE)
      for (int r = 0; r < rows; r++)
        for (int q = 0; q < wide; q++) sum[r][q] += load(a + r * of.n + j) * load(b + q * of.n + j);
  for (int r = 0; r < rows; r++)
    for (int q = 0; q < wide; q++) c[r * of.k + q] = total(sum[r][q]);
}

static always_inline void strip_t(int wide, const float *restrict a, const float *restrict b, float *restrict c, int64_t m,
                                  Pairs of) {
  int64_t i = 0;
  for (; i + TALL <= m; i += TALL) tile_t(TALL, wide, a + i * of.n, b, c + i * of.k, of);
  for (; i + 2 <= m; i += 2) tile_t(2, wide, a + i * of.n, b, c + i * of.k, of);
  for (; i < m; i++) tile_t(1, wide, a + i * of.n, b, c + i * of.k, of);
}

/* c[m, k] = the sum over all pairs of a[m, n] b[k, n]^T */
static void product_t(const float *restrict a, const float *restrict b, float *restrict c, int64_t m, Pairs of) {
  int64_t p = 0;
  for (; p + 4 <= of.k; p += 4) strip_t(4, a, b + p * of.n, c + p, m, of);
  for (; p < of.k; p++) strip_t(1, a, b + p * of.n, c + p, m, of);
}

/* ---- layers ---- */

enum { LINEAR, CONVOLUTION, RELU, MAXPOOL, TANH };

/* A layer, its shapes and where its weights are; images are [channel][height * width, padded to WIDE]. */
typedef struct {
  int64_t kind, vector; /* vector: whether the input is a plain vector of `channels` numbers, padded once at its end */
  int64_t channels, height, width;             /* of the input */
  int64_t out_channels, out_height, out_width; /* of the output */
  int64_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
  int64_t weight, bias; /* offsets into the flat weights; bias is -1 where there is none */
} Layer;

typedef struct {
  int64_t layers, weights, batch, classes;
  const Layer *layer;
} Plan;

static int64_t in_span(const Layer *l) {
  return l->vector ? padded(l->channels) : l->channels * padded(l->height * l->width);
}
static int64_t out_span(const Layer *l) {
  return l->vector ? padded(l->out_channels) : l->out_channels * padded(l->out_height * l->out_width);
}
static int64_t patch_span(const Layer *l) {
  return l->kind == CONVOLUTION ? l->channels * l->kernel_h * l->kernel_w * padded(l->out_height * l->out_width) : 0;
}
static int64_t framed_span(const Layer *l) { return (l->height + 2 * l->pad_h) * (l->width + 2 * l->pad_w); }

/* patches[c, ky, kx][y * out_width + x] = image[c][y * stride - pad + ky][x * stride - pad + kx] or 0. Rows are copied by
 * whole vectors from the channel in a frame of zeros, the ends of all rows first: they write over what comes next. */
static void unfold(const Layer *l, const float *restrict image, float *restrict framed, float *restrict patches) {
  int64_t plane = padded(l->height * l->width), pitch = l->width + 2 * l->pad_w, down = l->stride_h * pitch;
  int64_t out_width = l->out_width, out_plane = l->out_height * out_width, n = padded(out_plane);
  memset(framed, 0, framed_span(l) * sizeof(float));
  for (int64_t c = 0; c < l->channels; c++) {
    for (int64_t y = 0; y < l->height; y++)
      memcpy(framed + (l->pad_h + y) * pitch + l->pad_w, image + c * plane + y * l->width, l->width * sizeof(float));
    for (int64_t ky = 0; ky < l->kernel_h; ky++)
      for (int64_t kx = 0; kx < l->kernel_w; kx++, patches += n) {
        const float *from = framed + ky * pitch + kx;
        if (l->stride_w == 1)
          for (int64_t x = (out_width - 1) / WIDE * WIDE; x >= 0; x -= WIDE)
            for (int64_t y = 0; y < l->out_height; y++) store(patches + y * out_width + x, load(from + y * down + x));
        else
          for (int64_t y = 0; y < l->out_height; y++)
            for (int64_t x = 0; x < out_width; x++) patches[y * out_width + x] = from[y * down + x * l->stride_w];
        store(patches + out_plane, all(0));
      }
  }
}

/* image = the sum of what `unfold` took from where */
static void fold(const Layer *l, const float *restrict patches, float *restrict framed, float *restrict image) {
  int64_t plane = padded(l->height * l->width), pitch = l->width + 2 * l->pad_w, down = l->stride_h * pitch;
  int64_t out_width = l->out_width, even = out_width / WIDE * WIDE, n = padded(l->out_height * out_width);
  ints whole, rest; /* what is kept of a vector inside a row, and of the one at its end */
  for (int i = 0; i < WIDE; i++) whole[i] = -1, rest[i] = -(i < out_width - even);
  for (int64_t c = 0; c < l->channels; c++) {
    memset(framed, 0, framed_span(l) * sizeof(float));
    for (int64_t ky = 0; ky < l->kernel_h; ky++)
      for (int64_t kx = 0; kx < l->kernel_w; kx++, patches += n) {
        float *to = framed + ky * pitch + kx;
        if (l->stride_w == 1)
          for (int64_t x = 0; x < out_width; x += WIDE) {
            ints kept = x < even ? whole : rest;
            for (int64_t y = 0; y < l->out_height; y++) {
              ints more = (ints)load(patches + y * out_width + x) & kept;
              store(to + y * down + x, load(to + y * down + x) + (vec)more);
            }
          }
        else
          for (int64_t y = 0; y < l->out_height; y++)
            for (int64_t x = 0; x < out_width; x++) to[y * down + x * l->stride_w] += patches[y * out_width + x];
      }
    for (int64_t y = 0; y < l->height; y++)
      memcpy(image + c * plane + y * l->width, framed + (l->pad_h + y) * pitch + l->pad_w, l->width * sizeof(float));
  }
}

static void linear(const Layer *l, const float *w, const float *in, float *out, int64_t batch) {
  int64_t n = l->channels, in_step = padded(n), out_step = padded(l->out_channels), even = n / WIDE * WIDE;
  const float *weight = w + l->weight;
  for (int64_t first = 0; first < batch; first += 5) {
    int64_t count = batch - first < 5 ? batch - first : 5;
    for (int64_t o = 0; o < l->out_channels; o++) {
      const float *row = weight + o * n;
      float bias = l->bias >= 0 ? w[l->bias + o] : 0;
      if (count == 5) {
        vec s[5] = {{0}};
        for (int64_t j = 0; j < even; j += WIDE) {
          vec x = load(row + j);
          for (int q = 0; q < 5; q++) s[q] += x * load(in + (first + q) * in_step + j);
        }
        for (int q = 0; q < 5; q++) {
          float sum = total(s[q]);
          for (int64_t j = even; j < n; j++) sum += row[j] * in[(first + q) * in_step + j];
          out[(first + q) * out_step + o] = sum + bias;
        }
      } else
        for (int64_t q = 0; q < count; q++) {
          vec s = {0};
          for (int64_t j = 0; j < even; j += WIDE) s += load(row + j) * load(in + (first + q) * in_step + j);
          float sum = total(s);
          for (int64_t j = even; j < n; j++) sum += row[j] * in[(first + q) * in_step + j];
          out[(first + q) * out_step + o] = sum + bias;
        }
    }
  }
}

/* What `rows` outputs from the o-th on add to the slope of the input, and the gradients of their weights. */
static always_inline void linear_back_rows(int rows, const Layer *l, int64_t o, const float *w, const float *in,
                                           const float *slope, float *g, float *back, int64_t batch) {
  int64_t n = l->channels, in_step = padded(n), out_step = padded(l->out_channels), even = n / WIDE * WIDE;
  const float *row = w + l->weight + o * n, *d = slope + o;
  float *to = g + l->weight + o * n;
  for (int q = 0; l->bias >= 0 && q < rows; q++) {
    float sum = 0;
    for (int64_t s = 0; s < batch; s++) sum += d[s * out_step + q];
    g[l->bias + o + q] = sum;
  }
  for (int64_t j = 0; j < even; j += WIDE) {
    vec value[4] = {{0}};
    for (int64_t s = 0; s < batch; s++)
      for (int q = 0; q < rows; q++) value[q] += all(d[s * out_step + q]) * load(in + s * in_step + j);
    for (int q = 0; q < rows; q++) store(to + q * n + j, value[q]);
  }
  for (int q = 0; q < rows; q++)
    for (int64_t j = even; j < n; j++) {
      to[q * n + j] = 0;
      for (int64_t s = 0; s < batch; s++) to[q * n + j] += d[s * out_step + q] * in[s * in_step + j];
    }
  for (int64_t s = 0; back && s < batch; s++, d += out_step, back += in_step) {
    for (int64_t j = 0; j < even; j += WIDE) {
      vec sum = load(back + j);
      for (int q = 0; q < rows; q++) sum += all(d[q]) * load(row + q * n + j);
      store(back + j, sum);
    }
    for (int q = 0; q < rows; q++)
      for (int64_t j = even; j < n; j++) back[j] += d[q] * row[q * n + j];
  }
}

static void linear_back(const Layer *l, const float *w, const float *in, const float *slope, float *g, float *back,
                        int64_t batch) {
  int64_t o = 0;
  if (back) memset(back, 0, batch * padded(l->channels) * sizeof(float));
  for (; o + 4 <= l->out_channels; o += 4) linear_back_rows(4, l, o, w, in, slope, g, back, batch);
  for (; o < l->out_channels; o++) linear_back_rows(1, l, o, w, in, slope, g, back, batch);
}

/* Where b is higher than a, or no number, it and its place take those of a. */
static inline void climb(vec *a, ints *at, vec b, ints there) {
  ints higher = (b > *a) | (b != b);
  *a = (vec)(((ints)b & higher) | ((ints)*a & ~higher));
  *at = (there & higher) | (*at & ~higher);
}

/* The higher of each two of 2 * WIDE neighbours, the first of which is at `first`, and where they are. */
static inline void climb_pairs(const float *from, int32_t first, vec *top, ints *at) {
  float even[WIDE], odd[WIDE];
  int32_t place[WIDE];
  for (int32_t i = 0; i < WIDE; i++) even[i] = from[2 * i], odd[i] = from[2 * i + 1], place[i] = first + 2 * i;
  memcpy(at, place, sizeof(place));
  *top = load(even);
  climb(top, at, load(odd), *at + 1);
}

/* maxpool of windows of 2 x 2 side by side, in whole vectors; what they write too much is overwritten by the next row. */
static void maxpool_2x2(const Layer *l, const float *restrict in, float *restrict out, int32_t *restrict from) {
  int64_t plane = padded(l->height * l->width), n = padded(l->out_height * l->out_width);
  for (int64_t c = 0; c < l->channels; c++)
    for (int64_t y = 0; y < l->out_height; y++)
      for (int64_t x = 0; x < l->out_width; x += WIDE) {
        int64_t first = c * plane + 2 * y * l->width + 2 * x, to = c * n + y * l->out_width + x;
        vec top, low;
        ints at, below;
        climb_pairs(in + first, (int32_t)first, &top, &at);
        climb_pairs(in + first + l->width, (int32_t)(first + l->width), &low, &below);
        climb(&top, &at, low, below);
        store(out + to, top);
        memcpy(from + to, &at, sizeof(at));
      }
}

static void maxpool(const Layer *l, const float *restrict in, float *restrict out, int32_t *restrict from) {
  if (l->kernel_h == 2 && l->kernel_w == 2 && l->stride_h == 2 && l->stride_w == 2) {
    maxpool_2x2(l, in, out, from);
    return;
  }
  int64_t plane = padded(l->height * l->width), n = padded(l->out_height * l->out_width);
  for (int64_t c = 0; c < l->channels; c++)
    for (int64_t y = 0; y < l->out_height; y++)
      for (int64_t x = 0; x < l->out_width; x++) {
        int32_t best = (int32_t)(c * plane + y * l->stride_h * l->width + x * l->stride_w);
        float top = in[best];
        for (int64_t ky = 0; ky < l->kernel_h; ky++)
          for (int64_t kx = 0; kx < l->kernel_w; kx++) {
            int32_t at = (int32_t)(c * plane + (y * l->stride_h + ky) * l->width + x * l->stride_w + kx);
            int higher = in[at] > top || in[at] != in[at];
            best = higher ? at : best;
            top = higher ? in[at] : top;
          }
        out[c * n + y * l->out_width + x] = top;
        from[c * n + y * l->out_width + x] = best;
      }
}

/* Between an image and a vector (nn.Flatten), the padding at the end of every channel goes or comes. */
static void squeeze(const float *restrict from, float *restrict to, int64_t channels, int64_t plane) {
  for (int64_t c = 0; c < channels; c++) memmove(to + c * plane, from + c * padded(plane), plane * sizeof(float));
}
static void stretch(const float *restrict from, float *restrict to, int64_t channels, int64_t plane) {
  for (int64_t c = 0; c < channels; c++) memcpy(to + c * padded(plane), from + c * plane, plane * sizeof(float));
}

/* ---- a thread's own room ---- */

typedef struct {
  float *w, *g, *eps, *std, *prior_mean, *prior_std;
  float **in, **patches, **slope; /* of every layer, all samples; slope is that of the layer's input */
  int32_t **from;
  float *weight_t, *patch_slope, *framed, *spare;
  void *all[512];
  int count;
} Room;

/* Zeros, and room behind them for the whole vectors that are read and written at the end of a row. */
static void *take(Room *room, int64_t numbers) {
  void *p = NULL;
  if (room->count == 512 || posix_memalign(&p, 64, (size_t)(numbers + 4 * WIDE) * 4)) return NULL;
  memset(p, 0, (size_t)(numbers + 4 * WIDE) * 4);
  return room->all[room->count++] = p;
}

static void leave(Room *room) {
  for (int i = 0; i < room->count; i++) free(room->all[i]);
  free(room);
}

static Room *enter(const Plan *plan) {
  Room *room = calloc(1, sizeof(Room));
  if (!room) return NULL;
  int64_t n = plan->layers, k = plan->weights, most_t = 0, most_patch = 0, most_framed = 0, most = 0;
  if (n > 64) goto fail;
  float **parts[] = {&room->w, &room->g, &room->eps, &room->std, &room->prior_mean, &room->prior_std};
  for (int i = 0; i < 6; i++)
    if (!(*parts[i] = take(room, k + 256))) goto fail;
  if (!(room->in = take(room, 2 * n + 2)) || !(room->patches = take(room, 2 * n + 2)) ||
      !(room->slope = take(room, 2 * n + 2)) || !(room->from = take(room, 2 * n + 2)))
    goto fail;
  for (int64_t i = 0; i < n; i++) {
    const Layer *l = plan->layer + i;
    if (!(room->in[i] = take(room, plan->batch * in_span(l))) || !(room->slope[i] = take(room, plan->batch * in_span(l))))
      goto fail;
    if (in_span(l) > most) most = in_span(l);
    if (out_span(l) > most) most = out_span(l);
    if (l->kind == CONVOLUTION) {
      if (!(room->patches[i] = take(room, plan->batch * patch_span(l)))) goto fail;
      int64_t size = l->out_channels * l->channels * l->kernel_h * l->kernel_w;
      if (size > most_t) most_t = size;
      if (patch_span(l) > most_patch) most_patch = patch_span(l);
      if (framed_span(l) > most_framed) most_framed = framed_span(l);
    }
    if (l->kind == MAXPOOL && !(room->from[i] = take(room, plan->batch * out_span(l)))) goto fail;
  }
  int64_t last = out_span(plan->layer + n - 1);
  if (!(room->in[n] = take(room, plan->batch * last)) || !(room->slope[n] = take(room, plan->batch * last)) ||
      !(room->weight_t = take(room, most_t)) || !(room->patch_slope = take(room, most_patch)) ||
      !(room->framed = take(room, most_framed)) || !(room->spare = take(room, plan->batch * most)))
    goto fail;
  return room;
fail:
  leave(room);
  return NULL;
}

/* Whether layer i is fed with a vector made of the image that the layer before it gives. */
static int flattens(const Plan *plan, int64_t i) {
  return i > 0 && i < plan->layers && plan->layer[i].vector && !plan->layer[i - 1].vector;
}

static inline float tanh_(float x) {
  float e = exp_(-2.0f * fabsf(x)), t = (1.0f - e) / (1.0f + e), z = x * x;
  float small = fabsf(x) * fmaf(z, fmaf(z, fmaf(z, -0.053968254f, 0.13333333f), -0.33333333f), 1.0f);
  t = z < 4e-3f ? small : t; /* near 0 the quotient loses digits */
  return x < 0 ? -t : t;
}

static void forward(const Plan *plan, Room *room, const float *w) {
  for (int64_t i = 0; i < plan->layers; i++) {
    const Layer *l = plan->layer + i;
    int64_t step = in_span(l), to_step = out_span(l), batch = plan->batch;
    int squeezes = flattens(plan, i + 1);
    float *in = room->in[i], *out = squeezes ? room->spare : room->in[i + 1];
    if (l->kind == LINEAR)
      linear(l, w, in, out, batch);
    else if (l->kind == CONVOLUTION) {
      int64_t n = padded(l->out_height * l->out_width), k = l->channels * l->kernel_h * l->kernel_w;
      for (int64_t s = 0; s < batch; s++) {
        float *patches = room->patches[i] + s * patch_span(l);
        unfold(l, in + s * step, room->framed, patches);
        product(w + l->weight, patches, l->bias >= 0 ? w + l->bias : NULL, out + s * to_step, l->out_channels, n, k);
      }
    } else if (l->kind == RELU)
      for (int64_t j = 0; j < batch * step; j++) out[j] = in[j] < 0 ? 0 : in[j];
    else if (l->kind == TANH)
      for (int64_t j = 0; j < batch * step; j++) out[j] = tanh_(in[j]);
    else
      for (int64_t s = 0; s < batch; s++) maxpool(l, in + s * step, out + s * to_step, room->from[i] + s * to_step);
    if (squeezes) {
      int64_t plane = l->out_height * l->out_width, next = in_span(plan->layer + i + 1);
      for (int64_t s = 0; s < batch; s++) squeeze(out + s * to_step, room->in[i + 1] + s * next, l->out_channels, plane);
    }
  }
}

/* The gradient of the mean cross-entropy into room->g; slope[layers] holds that of the scores. */
static void backward(const Plan *plan, Room *room, const float *w) {
  for (int64_t i = plan->layers - 1; i >= 0; i--) {
    const Layer *l = plan->layer + i;
    int64_t step = in_span(l), to_step = out_span(l), batch = plan->batch;
    float *in = room->in[i], *slope = room->slope[i + 1], *back = i ? room->slope[i] : NULL;
    if (flattens(plan, i + 1)) {
      int64_t plane = l->out_height * l->out_width, next = in_span(plan->layer + i + 1);
      memset(room->spare, 0, batch * to_step * sizeof(float));
      for (int64_t s = 0; s < batch; s++) stretch(slope + s * next, room->spare + s * to_step, l->out_channels, plane);
      slope = room->spare;
    }
    if (l->kind == LINEAR)
      linear_back(l, w, in, slope, room->g, back, batch);
    else if (l->kind == CONVOLUTION) {
      int64_t plane = l->out_height * l->out_width, n = padded(plane), k = l->channels * l->kernel_h * l->kernel_w;
      if (l->bias >= 0) memset(room->g + l->bias, 0, l->out_channels * sizeof(float));
      for (int64_t o = 0; back && o < l->out_channels; o++)
        for (int64_t p = 0; p < k; p++) room->weight_t[p * l->out_channels + o] = w[l->weight + o * k + p];
      for (int64_t s = 0; s < batch; s++) {
        float *d = slope + s * to_step;
        for (int64_t o = 0; o < l->out_channels; o++) {
          for (int64_t j = plane; j < n; j++) d[o * n + j] = 0; /* padding has no slope */
          if (l->bias < 0) continue;
          vec sum = {0};
          for (int64_t j = 0; j < n; j += WIDE) sum += load(d + o * n + j);
          room->g[l->bias + o] += total(sum);
        }
        if (back) {
          product(room->weight_t, d, NULL, room->patch_slope, k, n, l->out_channels);
          fold(l, room->patch_slope, room->framed, back + s * step);
        }
      }
      Pairs of = {n, k, batch, to_step, patch_span(l)};
      product_t(slope, room->patches[i], room->g + l->weight, l->out_channels, of);
    } else if (!back)
      continue;
    else if (l->kind == RELU)
      for (int64_t j = 0; j < batch * step; j++) back[j] = in[j] > 0 ? slope[j] : 0;
    else if (l->kind == TANH)
      for (int64_t j = 0; j < batch * step; j++) {
        float t = tanh_(in[j]);
        back[j] = slope[j] * (1.0f - t * t);
      }
    else {
      memset(back, 0, batch * step * sizeof(float));
      int64_t plane = l->out_height * l->out_width, n = padded(plane);
      for (int64_t s = 0; s < batch; s++)
        for (int64_t c = 0; c < l->channels; c++)
          for (int64_t j = 0; j < plane; j++)
            back[s * step + room->from[i][s * to_step + c * n + j]] += slope[s * to_step + c * n + j];
    }
  }
}

/* ---- a round of one row ---- */

typedef struct {
  Plan plan;
  const float *inputs;                /* [sample, ...] */
  const int64_t *labels, *batches;    /* [sample], [row, turn, batch] */
  float *mean, *rho, *moment[4];      /* [row, weight] */
  int64_t *steps;                     /* [row] */
  const int64_t *key0, *key1, *which; /* [row], [row], [count] */
  const float *cost;                  /* what the KL costs in each turn. [row, turn] */
  int64_t count, turns, round;
  int64_t point, fixed, keep; /* point: SGD; fixed: the prior is N(0, .); keep: moments last beyond the round */
  double rate, decay, decay_squares, epsilon;
  float momentum, prior_std, rho_min, rho_max, steepest;
} Job;

static void gather(const Job *job, Room *room, const int64_t *seen) {
  const Layer *l = job->plan.layer;
  int64_t plane = l->vector ? 1 : l->height * l->width, numbers = l->channels * plane;
  for (int64_t s = 0; s < job->plan.batch; s++) {
    const float *from = job->inputs + seen[s] * numbers;
    float *to = room->in[0] + s * in_span(l);
    if (l->vector)
      memcpy(to, from, numbers * sizeof(float));
    else
      stretch(from, to, l->channels, plane);
  }
}

/* d(mean cross-entropy) / d(scores) */
static void softmax_slope(const Job *job, Room *room, const int64_t *seen) {
  const Plan *plan = &job->plan;
  int64_t step = out_span(plan->layer + plan->layers - 1);
  for (int64_t s = 0; s < plan->batch; s++) {
    const float *score = room->in[plan->layers] + s * step;
    float *slope = room->slope[plan->layers] + s * step, top = score[0], sum = 0;
    for (int64_t c = 1; c < plan->classes; c++) top = score[c] > top ? score[c] : top;
    for (int64_t c = 0; c < plan->classes; c++) sum += slope[c] = exp_(score[c] - top);
    for (int64_t c = 0; c < plan->classes; c++) slope[c] /= sum * plan->batch;
    slope[job->labels[seen[s]]] -= 1.0f / plan->batch;
  }
}

/* A gradient that is not a number counts as 0, a huge one as `steepest`. */
static void tame(float *g, int64_t k, float steepest) {
  double part[2 * WIDE] = {0}, sum = 0;
  for (int64_t j = 0; j < k; j += 2 * WIDE) /* beyond k are zeros */
    for (int i = 0; i < 2 * WIDE; i++) part[i] += g[j + i];
  for (int i = 0; i < 2 * WIDE; i++) sum += part[i];
  if (!isfinite((float)sum))
    memset(g, 0, k * sizeof(float));
  else
    for (int64_t j = 0; j < k; j++) g[j] = g[j] > steepest ? steepest : (g[j] < -steepest ? -steepest : g[j]);
}

/* std = softplus(rho), w = mean + std * eps for 256 weights or fewer */
static void draw(const Job *job, Room *room, int64_t row, int64_t turn, int64_t first, int64_t n) {
  const float *mean = job->mean + row * job->plan.weights + first, *rho = job->rho + row * job->plan.weights + first;
  float *restrict std = room->std + first, *restrict eps = room->eps + first, *restrict w = room->w + first;
  normal256(eps, first / 256, turn, job->round, job->key0[row], job->key1[row]);
  for (int64_t j = 0; j < n; j++) {
    std[j] = log1p_(exp_(rho[j]));
    w[j] = fmaf(std[j], eps[j], mean[j]);
  }
}

typedef struct {
  float cost, pace, least, a, b, c, low, high;
} Pull;

/* The gradients of mean and rho in closed form, and a step of Adam on both. */
__attribute__((noinline)) static void update(int64_t n, const float *restrict g, const float *restrict eps,
                                             const float *restrict std, const float *restrict centre,
                                             const float *restrict width, float *restrict m, float *restrict r,
                                             float *restrict m1, float *restrict m2, float *restrict r1,
                                             float *restrict r2, const Pull *pull) {
  const float cost = pull->cost, pace = pull->pace, least = pull->least, a = pull->a, b = pull->b, c = pull->c;
  const float low = pull->low, high = pull->high;
  for (int64_t j = 0; j < n; j++) {
    float stiff = cost / (width[j] * width[j]), e = exp_(r[j]);
    float by_mean = fmaf(m[j] - centre[j], stiff, g[j]);
    float by_std = fmaf(eps[j], g[j], (std[j] - width[j]) * (std[j] + width[j]) * stiff / std[j]);
    float by_rho = by_std * (e / (1.0f + e));
    float f = fmaf(by_mean - m1[j], a, m1[j]), h = fmaf(by_rho - r1[j], a, r1[j]);
    float v = fmaf(by_mean * by_mean, c, m2[j] * b), u = fmaf(by_rho * by_rho, c, r2[j] * b);
    m1[j] = f, m2[j] = v, r1[j] = h, r2[j] = u;
    m[j] -= f / ((sqrtf(v) + least) / pace);
    float next = r[j] - h / ((sqrtf(u) + least) / pace);
    next = next < low ? low : next;
    r[j] = next > high ? high : next;
  }
}

static void learn_belief(const Job *job, Room *room, int64_t row) {
  int64_t k = job->plan.weights, batch = job->plan.batch;
  float *mean = job->mean + row * k, *rho = job->rho + row * k, *moment[4];
  for (int i = 0; i < 4; i++) {
    moment[i] = job->moment[i] + row * k;
    if (!job->keep) memset(moment[i], 0, k * sizeof(float));
  }
  if (!job->keep) job->steps[row] = 0;
  for (int64_t first = 0; first < k; first += 256) draw(job, room, row, 0, first, k - first < 256 ? k - first : 256);
  for (int64_t j = 0; j < k; j++) {
    room->prior_mean[j] = job->fixed ? 0 : mean[j];
    room->prior_std[j] = job->fixed ? job->prior_std : room->std[j];
  }
  for (int64_t turn = 0; turn < job->turns; turn++) {
    const int64_t *seen = job->batches + (row * job->turns + turn) * batch;
    gather(job, room, seen);
    forward(&job->plan, room, room->w);
    softmax_slope(job, room, seen);
    backward(&job->plan, room, room->w);
    tame(room->g, k, job->steepest);
    double taken = (double)++job->steps[row], rest = sqrt(1.0 - pow(job->decay_squares, taken));
    float pace = (float)(job->rate * rest / (1.0 - pow(job->decay, taken))), least = (float)(job->epsilon * rest);
    Pull pull = {.cost = turn > 0 || job->fixed ? job->cost[row * job->turns + turn] : 0,
                 .pace = pace,
                 .least = least,
                 .a = (float)(1.0 - job->decay),
                 .b = (float)job->decay_squares,
                 .c = (float)(1.0 - job->decay_squares),
                 .low = job->rho_min,
                 .high = job->rho_max};
    for (int64_t first = 0; first < k; first += 256) {
      int64_t n = k - first < 256 ? k - first : 256;
      update(n, room->g + first, room->eps + first, room->std + first, room->prior_mean + first,
             room->prior_std + first, mean + first, rho + first, moment[0] + first, moment[1] + first,
             moment[2] + first, moment[3] + first, &pull);
      if (turn + 1 < job->turns) draw(job, room, row, turn + 1, first, n);
    }
  }
}

static void learn_point(const Job *job, Room *room, int64_t row) {
  int64_t k = job->plan.weights, batch = job->plan.batch;
  float *restrict mean = job->mean + row * k, *restrict buffer = job->moment[0] + row * k;
  const float *restrict g = room->g;
  if (!job->keep) {
    memset(buffer, 0, k * sizeof(float));
    job->steps[row] = 0;
  }
  const float momentum = job->momentum, rate = (float)job->rate;
  for (int64_t turn = 0; turn < job->turns; turn++) {
    const int64_t *seen = job->batches + (row * job->turns + turn) * batch;
    gather(job, room, seen);
    forward(&job->plan, room, mean);
    softmax_slope(job, room, seen);
    backward(&job->plan, room, mean);
    tame(room->g, k, job->steepest);
    for (int64_t j = 0; j < k; j++) {
      buffer[j] = buffer[j] * momentum + g[j];
      mean[j] -= buffer[j] * rate;
    }
    job->steps[row]++;
  }
}

/* Take rows from the list until there are none; several threads may do so at once. 0, or 1 where memory is short. */
int learn(const Job *job, int64_t *next) {
  Room *room = enter(&job->plan);
  if (!room) return 1;
  for (;;) {
    int64_t turn = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED);
    if (turn >= job->count) break;
    if (job->point)
      learn_point(job, room, job->which[turn]);
    else
      learn_belief(job, room, job->which[turn]);
  }
  leave(room);
  return 0;
}
