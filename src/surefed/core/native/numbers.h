/* Vectors of numbers, and elementary functions of them: what learning.c and judging.c share.
 *
 * Plain C with the vector types of gcc and clang.
 */
#pragma once

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __AVX__
#include <immintrin.h>
#endif

#ifdef __AVX512F__ /* 32 registers of 16 numbers */
#define WIDE 16
#define TALL 6
#else /* 16 registers of 8, or of 4 that compilers use in pairs */
#define WIDE 8
#define TALL 2
#endif
typedef float vec __attribute__((vector_size(4 * WIDE), aligned(4), may_alias));
typedef int32_t ints __attribute__((vector_size(4 * WIDE)));
typedef float four __attribute__((vector_size(16)));

#define always_inline inline __attribute__((always_inline))

static inline vec load(const float *from) { return *(const vec *)from; }
static inline void store(float *to, vec value) { *(vec *)to = value; }
static inline vec all(float value) { return (vec){0} + value; }
static inline float total(vec v) {
  four part[WIDE / 4];
  memcpy(part, &v, sizeof(v));
  for (int apart = WIDE / 8; apart; apart /= 2)
    for (int i = 0; i < apart; i++) part[i] += part[i + apart];
  return (part[0][0] + part[0][2]) + (part[0][1] + part[0][3]);
}
static inline int64_t padded(int64_t n) { return (n + WIDE - 1) / WIDE * WIDE; }

/* ---- elementary functions, without branches so that loops over them become vector code; about one ulp ---- */

static inline float as_float(int32_t bits) { float f; memcpy(&f, &bits, 4); return f; }
static inline int32_t as_int(float f) { int32_t bits; memcpy(&bits, &f, 4); return bits; }

/* exp(x) = 2^n exp(r), |r| <= ln(2)/2; a polynomial of degree 7. Below -87 it is 0, above 88 it is inf. */
static inline float exp_(float x) {
  float t = x * 1.44269504f;
  float n = rintf(t);
  float r = fmaf(n, -0.693359375f, x);
  r = fmaf(n, 2.12194440e-4f, r);
  float p = 1.9841270e-4f;
  p = fmaf(p, r, 1.3888889e-3f);
  p = fmaf(p, r, 8.3333333e-3f);
  p = fmaf(p, r, 4.1666667e-2f);
  p = fmaf(p, r, 1.6666667e-1f);
  p = fmaf(p, r, 0.5f);
  p = fmaf(p, r, 1.0f);
  p = fmaf(p, r, 1.0f);
  n = n < -126.0f ? -127.0f : (n > 127.0f ? 128.0f : n);
  return p * as_float(((int32_t)n + 127) << 23);
}

/* log(x) for positive, normal x: 2 atanh((m - 1) / (m + 1)) + e ln 2, m in [sqrt(1/2), sqrt(2)). */
static inline float log_(float x) {
  int32_t bits = as_int(x);
  int32_t e = (bits - 0x3f3504f3) >> 23;
  float m = as_float(bits - (e << 23));
  float s = (m - 1.0f) / (m + 1.0f), z = s * s;
  float p = 0.15384615f;
  p = fmaf(p, z, 0.18181818f);
  p = fmaf(p, z, 0.22222222f);
  p = fmaf(p, z, 0.28571429f);
  p = fmaf(p, z, 0.4f);
  p = fmaf(p, z, 0.66666667f);
  float fe = (float)e;
  float low = fmaf(fe, -2.12194440e-4f, s * z * p);
  return fmaf(fe, 0.693359375f, fmaf(2.0f, s, low));
}

/* log(1 + x) for x >= 0, keeping the digits that 1 + x loses. */
static inline float log1p_(float x) {
  float u = 1.0f + x, lost = x - (u - 1.0f);
  return log_(u) + lost / u;
}

/* sine and cosine of an angle in [0, 2 pi]. */
static inline void sincos_(float angle, float *sine, float *cosine) {
  float q = rintf(angle * 0.636619772f);
  int32_t n = (int32_t)q;
  float r = fmaf(q, -1.5703125f, angle);
  r = fmaf(q, -4.83751297e-4f, r);
  r = fmaf(q, -7.54978942e-8f, r);
  float z = r * r;
  float s = -1.9515296e-4f;
  s = fmaf(s, z, 8.3321609e-3f);
  s = fmaf(s, z, -1.6666655e-1f);
  s = fmaf(s * z, r, r);
  float c = 2.4433157e-5f;
  c = fmaf(c, z, -1.3887316e-3f);
  c = fmaf(c, z, 4.1666646e-2f);
  c = fmaf(c * z, z, fmaf(-0.5f, z, 1.0f));
  float a = (n & 1) ? c : s, b = (n & 1) ? s : c;
  *sine = (n & 2) ? -a : a;
  *cosine = ((n + 1) & 2) ? -b : b;
}
